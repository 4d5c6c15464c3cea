// `npm run bench:samples` runs 5,000 host agents, each with a running instance, that report with and without samples.
// It prints what the samples cost the gateway and PostgreSQL. The exit code is 1 if that exceeds a quarter of a core or
// 50 writes per second.
import { Agents, addHosts } from './support/agents.mjs';
import { postmasterOf, rowsOf } from './support/database.mjs';
import { fillAccounts, fillInstancesOfAgents, settleTables } from './support/fill.mjs';
import { cpuSecondsOf, cpuSecondsOfTree, startGateway } from './support/programs.mjs';
import { withServer } from './support/session.mjs';

const AGENTS = Number(process.env.BENCH_AGENTS ?? 5_000);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 15);
const ROUNDS = 3;
/** Time until every agent has switched to the new way of reporting. */
const CHANGE_MS = 11_000;
const PER_ACCOUNT = 100;
const REPORTS_PER_SECOND = AGENTS / 10;
const PER_REPORT = 'ms of the gateway and PostgreSQL per report';
const BOUNDS = { cores: 0.25, transactions: 50 };

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

await withServer(async (server) => {
  await server.create('samples');
  const url = server.urlOf('samples');
  await (await startGateway(url, { SEED: 'demo' })).end();
  await fillAccounts(url, { from: 1, to: Math.ceil(AGENTS / PER_ACCOUNT), past: 0, stopped: 0 });
  await addHosts(url, AGENTS);
  await fillInstancesOfAgents(url, AGENTS, PER_ACCOUNT);
  await settleTables(url);
  const gateway = await startGateway(url);
  const agents = new Agents([gateway.port], AGENTS, () => {});
  await agents.start();
  await settle(url);
  const figures = { without: [], with: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const way of ['without', 'with']) {
      agents.measures = way === 'with';
      await pause(CHANGE_MS);
      figures[way].push(await measure(gateway, url, agents));
    }
  }
  console.log(`${AGENTS} agents with an instance of one GPU each, ${ROUNDS} times ${SECONDS} s each way, means\n`);
  const mean = (way, name) => figures[way].reduce((sum, each) => sum + each[name], 0) / ROUNDS;
  const more = (name) => mean('with', name) - mean('without', name);
  for (const name of Object.keys(figures.with[0]))
    console.log(`  ${name.padEnd(45)} ${mean('without', name).toFixed(3)} -> ${mean('with', name).toFixed(3)}`);
  // On a machine that is too slow for all agents, reports arrive less often, so the cost per report is what counts.
  const cores = (more(PER_REPORT) * REPORTS_PER_SECOND) / 1_000;
  const transactions = more('transactions per second');
  console.log(`\n  the samples cost ${cores.toFixed(3)} cores at ${REPORTS_PER_SECOND} reports per second`);
  console.log(`  and ${transactions.toFixed(1)} transactions per second`);
  console.log(`  refused requests: ${JSON.stringify(agents.refused)}`);
  if (cores > BOUNDS.cores || transactions > BOUNDS.transactions) process.exitCode = 1;
  agents.end();
  await gateway.end();
});

/**
 * Waits until 5 s cause about as many writes as the previous 5 s, but at most a minute, because initial reports and
 * documents cost more than later ones.
 */
async function settle(url) {
  const count = async () => {
    const [row] = await rowsOf(
      url,
      `select xact_commit::float8 as count from pg_stat_database where datname = 'samples'`,
    );
    return row.count;
  };
  let [last, before] = [Number.POSITIVE_INFINITY, await count()];
  for (let tries = 0; tries < 12; tries += 1) {
    await pause(5_000);
    const now = await count();
    if (now - before > 0.8 * last) return;
    [last, before] = [now - before, now];
  }
}

async function measure({ pid }, url, agents) {
  const postmaster = await postmasterOf(url);
  const look = async () => {
    const [row] = await rowsOf(
      url,
      `select (xact_commit + xact_rollback)::float8 as transactions, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal,
         (select count(*) from instance_sample)::float8 as rows from pg_stat_database where datname = 'samples'`,
    );
    return { ...row, gateway: cpuSecondsOf(pid), database: cpuSecondsOfTree(postmaster), reports: agents.reports };
  };
  const before = await look();
  await pause(SECONDS * 1_000);
  const after = await look();
  const rate = (name) => (after[name] - before[name]) / SECONDS;
  const work = after.gateway - before.gateway + after.database - before.database;
  const perReport = (1_000 * work) / (after.reports - before.reports);
  return {
    'reports per second': rate('reports'),
    [PER_REPORT]: perReport,
    'cores of the gateway': rate('gateway'),
    'cores of PostgreSQL': rate('database'),
    'transactions per second': rate('transactions'),
    'MB of WAL per second': rate('wal') / 1e6,
    'rows of samples per second': rate('rows'),
  };
}
