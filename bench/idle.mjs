// `npm run bench:idle` runs gateways on the demo inventory without clients and prints the cost of one and of two
// gateways. The exit code is 1 if one gateway takes 10 ms of CPU time per second or more, or 2 transactions per second
// or more.
import { postmasterOf, rowsOf } from './support/database.mjs';
import { cpuSecondsOf, cpuSecondsOfTree, startGateway } from './support/programs.mjs';
import { withServer } from './support/session.mjs';

const SECONDS = Number(process.env.BENCH_SECONDS ?? 60);
/** Time for each timer's first run, and for PostgreSQL's maintenance of the rows written at startup. */
const SETTLE_MS = 30_000;
const BOUNDS = { gatewayMs: 10, transactions: 2 };

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

await withServer(async (server) => {
  await server.create('idle');
  // Queries run on another database, because a connection to the measured one would count itself.
  const [url, otherUrl] = [server.urlOf('idle'), server.urlOf('postgres')];
  const gateways = [await startGateway(url, { SEED: 'demo' })];
  const one = await measure(otherUrl, gateways);
  gateways.push(await startGateway(url));
  await measure(otherUrl, gateways);
  if (one.gatewayMs >= BOUNDS.gatewayMs || one.transactions >= BOUNDS.transactions) process.exitCode = 1;
  for (const gateway of gateways) await gateway.end();
});

/**
 * Measures the CPU time of the gateways and of PostgreSQL, and the number of transactions, including those of
 * autovacuum. All figures are per second.
 */
async function measure(url, gateways) {
  const postmaster = await postmasterOf(url);
  const look = async () => {
    const [{ transactions }] = await rowsOf(
      url,
      `select (xact_commit + xact_rollback)::float8 as transactions from pg_stat_database where datname = 'idle'`,
    );
    const gatewayMs = gateways.reduce((sum, { pid }) => sum + cpuSecondsOf(pid) * 1_000, 0);
    return { gatewayMs, postgresMs: cpuSecondsOfTree(postmaster) * 1_000, transactions };
  };
  await pause(SETTLE_MS);
  const before = await look();
  await pause(SECONDS * 1_000);
  const after = await look();
  const rates = Object.fromEntries(Object.keys(after).map((name) => [name, (after[name] - before[name]) / SECONDS]));
  console.log(
    `gateways: ${gateways.length}; per second ${rates.gatewayMs.toFixed(1)} ms of CPU time, ` +
      `PostgreSQL ${rates.postgresMs.toFixed(1)} ms, ${rates.transactions.toFixed(2)} transactions`,
  );
  return rates;
}
