// npm run bench:idle: gateways on the demo inventory that no client uses. Prints what one and two of them cost; exit code 1 when
// one takes 10 ms of CPU time a second or more, or 2 transactions.
import { postmasterOf, rowsOf } from './support/database.mjs';
import { cpuSecondsOf, cpuSecondsOfTree, startGateway } from './support/programs.mjs';
import { withServer } from './support/session.mjs';

const SECONDS = Number(process.env.BENCH_SECONDS ?? 60);
/** For the first look of each timer, and for PostgreSQL's upkeep of what the start wrote. */
const SETTLE_MS = 30_000;
const BOUNDS = { gatewayMs: 10, transactions: 2 };

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

await withServer(async (server) => {
  await server.create('idle');
  // A connection to the database that is measured would count itself.
  const [url, besideUrl] = [server.urlOf('idle'), server.urlOf('postgres')];
  const gateways = [await startGateway(url, { SEED: 'demo' })];
  const one = await measure(besideUrl, gateways);
  gateways.push(await startGateway(url));
  await measure(besideUrl, gateways);
  if (one.gatewayMs >= BOUNDS.gatewayMs || one.transactions >= BOUNDS.transactions) process.exitCode = 1;
  for (const gateway of gateways) await gateway.end();
});

/** Of each second: CPU time of the gateways and of PostgreSQL, and transactions, those of autovacuum included. */
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
    `gateways: ${gateways.length}; each second ${rates.gatewayMs.toFixed(1)} ms of CPU time, ` +
      `PostgreSQL ${rates.postgresMs.toFixed(1)} ms, ${rates.transactions.toFixed(2)} transactions`,
  );
  return rates;
}
