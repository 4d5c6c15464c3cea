// npm run bench:samples: 5,000 host agents, each with a running instance, that report with samples and without. Prints what
// the samples cost the gateway and PostgreSQL; exit code 1 when that is more than a quarter of a core or 50 writes a second.
import { readdirSync, readFileSync } from 'node:fs';
import { Agents, addHosts, machineIdOf } from './support/agents.mjs';
import { rowsOf } from './support/database.mjs';
import { fillAccounts, keyOf, settleTables } from './support/fill.mjs';
import { cpuSecondsOf, startGateway } from './support/programs.mjs';
import { withServer } from './support/session.mjs';

const AGENTS = Number(process.env.BENCH_AGENTS ?? 5_000);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 120);
const SETTLE_MS = 15_000;
const PER_ACCOUNT = 100;
const DEPLOYS_AT_ONCE = 8;
const TICKS_PER_SECOND = 100;
const BOUNDS = { cores: 0.25, transactions: 50 };

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

await withServer(async (server) => {
  await server.create('samples');
  const url = server.urlOf('samples');
  await (await startGateway(url, { SEED: 'demo' })).end();
  await fillAccounts(url, { from: 1, to: Math.ceil(AGENTS / PER_ACCOUNT), past: 0, stopped: 0 });
  await addHosts(url, AGENTS);
  await settleTables(url);
  const gateway = await startGateway(url);
  const agents = new Agents(gateway.port, AGENTS, () => {});
  await agents.start();
  // Until its first heartbeat is written, a machine is not on offer.
  await pause(SETTLE_MS);
  await deployAll(gateway);
  await pause(SETTLE_MS);
  const without = await measure(gateway, url, agents);
  agents.measures = true;
  await pause(SETTLE_MS);
  const withSamples = await measure(gateway, url, agents);
  console.log(`${AGENTS} agents with an instance of one GPU each, ${SECONDS} s each way\n`);
  for (const name of Object.keys(without)) {
    const [before, after] = [without[name], withSamples[name]];
    console.log(`  ${name.padEnd(40)} ${before.toFixed(3)} -> ${after.toFixed(3)}`);
  }
  const cores = coresOf(withSamples) - coresOf(without);
  const transactions = withSamples['transactions a second'] - without['transactions a second'];
  console.log(`\n  the samples cost ${cores.toFixed(3)} cores and ${transactions.toFixed(1)} transactions a second`);
  console.log(`  requests that were refused: ${JSON.stringify(agents.refused)}`);
  if (cores > BOUNDS.cores || transactions > BOUNDS.transactions) process.exitCode = 1;
  agents.end();
  await gateway.end();
});

function coresOf(figures) {
  return figures['cores of the gateway'] + figures['cores of PostgreSQL'];
}

async function deployAll({ port }) {
  let machine = 0;
  const deploy = async () => {
    while (machine < AGENTS) {
      machine += 1;
      const body = JSON.stringify({ machine_id: machineIdOf(machine), disk_gb: 10 });
      const key = keyOf(Math.ceil(machine / PER_ACCOUNT));
      const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
      const answer = await fetch(`http://127.0.0.1:${port}/v1/instances`, { method: 'POST', headers, body });
      if (answer.status !== 201) throw new Error(`a deploy was refused: ${await answer.text()}`);
    }
  };
  await Promise.all(Array.from({ length: DEPLOYS_AT_ONCE }, deploy));
}

async function measure({ pid }, url, agents) {
  const [first] = await rowsOf(url, `select current_setting('data_directory') as folder`);
  const postmaster = Number(readFileSync(`${first.folder}/postmaster.pid`, 'utf8').split('\n')[0]);
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
  return {
    'reports a second': rate('reports'),
    'cores of the gateway': rate('gateway'),
    'cores of PostgreSQL': rate('database'),
    'transactions a second': rate('transactions'),
    'MB of WAL a second': rate('wal') / 1e6,
    'rows of samples a second': rate('rows'),
  };
}

/** Of a process and its children, those too that have ended. */
function cpuSecondsOfTree(root) {
  let ticks = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1].split(' ');
      if (Number(name) !== root && Number(fields[1]) !== root) continue;
      for (const field of Number(name) === root ? [11, 12, 13, 14] : [11, 12]) ticks += Number(fields[field]);
    } catch {
      // It has ended.
    }
  }
  return ticks / TICKS_PER_SECOND;
}
