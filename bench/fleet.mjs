// `npm run bench:fleet` connects 5,000 host agents to one gateway and one PostgreSQL. It prints the cost of an idle
// fleet, how soon a deploy reaches its agent, and whether offers and balance are as fast as without the fleet. The exit
// code is 1 if a bound is missed.
import { Agents, addHosts, machineIdOf } from './support/agents.mjs';
import { rowsOf } from './support/database.mjs';
import { fillAccounts, keyOf, settleTables } from './support/fill.mjs';
import { inTurn, requestBytes, runLoad } from './support/load.mjs';
import { cpuSecondsOf, isPinned, residentMegabytesOf, startGateway } from './support/programs.mjs';
import { median, percentile } from './support/rounds.mjs';
import { withServer } from './support/session.mjs';
import { CONNECTIONS } from './support/settings.mjs';

const AGENTS = Number(process.env.BENCH_AGENTS ?? 5_000);
const ACCOUNTS = 40;
const IDLE_SECONDS = Number(process.env.BENCH_IDLE_SECONDS ?? 30);
const DEPLOYS = Number(process.env.BENCH_DEPLOYS ?? 400);
const RENTING = 4;
const ROUNDS = 5;
const ROUND_SECONDS = 2;
const SETTLE_MS = 15_000;
const REACHES_WITHIN_MS = 10_000;
const BOUNDS = { idleShare: 0.3, statementsPerSecond: 60, p99Ms: 1_000, ratio: 0.9 };

const missed = [];
/** Share of its core that the gateway uses while the fleet is idle. */
let idleShare = 0;
const check = (what, value, holds) => {
  console.log(`${holds ? ' ' : '!'} ${what.padEnd(52)} ${value}`);
  if (!holds) missed.push(what);
};
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

await withServer(async (server) => {
  await server.create('fleet');
  const url = server.urlOf('fleet');
  await (await startGateway(url, { SEED: 'demo' })).end();
  await fillAccounts(url, { from: 1, to: ACCOUNTS, past: 0, stopped: 0 });
  await addHosts(url, AGENTS);
  await settleTables(url);
  const gateway = await startGateway(url);
  const accounts = Array.from({ length: ACCOUNTS }, (_, index) => index + 1);
  const speeds = async () => ({
    offers: await speedOf(gateway, inTurn([requestBytes({ path: '/v1/offers' })])),
    balance: await speedOf(
      gateway,
      inTurn(accounts.map((n) => requestBytes({ path: '/v1/balance', headers: keyHeader(n) }))),
    ),
  });
  console.log(`${AGENTS} agents, one gateway${isPinned ? ' on its own core' : ''}, one PostgreSQL\n`);
  await speeds();
  const without = await speeds();

  const arrivals = new Map();
  const agents = new Agents([gateway.port], AGENTS, (_machineId, ids) => {
    for (const id of ids) if (!arrivals.has(id)) arrivals.set(id, performance.now());
  });
  await agents.start();
  await pause(SETTLE_MS);
  await idle(gateway, url, agents);
  await deploys(gateway, arrivals);
  const withFleet = await speeds();
  for (const name of Object.keys(without)) {
    const [before, after] = [without[name], withFleet[name]];
    const ratio = before.cpuMicros / after.cpuMicros;
    const perSecond = `${Math.round(before.perSecond)} -> ${Math.round(after.perSecond)}/s`;
    const figures = `${before.cpuMicros.toFixed(0)} -> ${after.cpuMicros.toFixed(0)} µs of CPU, ${perSecond}`;
    check(`${name} with the fleet relative to without`, `${ratio.toFixed(2)} (${figures})`, ratio >= BOUNDS.ratio);
  }
  const refused = Object.entries(agents.refused).map(([why, count]) => `${count} ${why}`);
  check('refused requests of agents', refused.join(', ') || '0', refused.length === 0);
  agents.end();
  await gateway.end();
});
if (missed.length > 0) process.exitCode = 1;

async function idle({ pid }, url, agents) {
  const statements = async () => {
    const [row] = await rowsOf(
      url,
      `select (xact_commit + xact_rollback)::int as count from pg_stat_database where datname = 'fleet'`,
    );
    return row.count;
  };
  const before = {
    cpu: cpuSecondsOf(pid),
    statements: await statements(),
    reports: agents.reports,
    polls: agents.polls,
  };
  await pause(IDLE_SECONDS * 1_000);
  const share = (cpuSecondsOf(pid) - before.cpu) / IDLE_SECONDS;
  const perSecond = ((await statements()) - before.statements) / IDLE_SECONDS;
  idleShare = share;
  check('idle fleet: share of a core', share.toFixed(3), share <= BOUNDS.idleShare);
  check('idle fleet: transactions per second', perSecond.toFixed(1), perSecond <= BOUNDS.statementsPerSecond);
  const rate = (figure) => ((agents[figure] - before[figure]) / IDLE_SECONDS).toFixed(0);
  console.log(
    `  (${rate('reports')} reports and ${rate('polls')} answered polls per second; ${residentMegabytesOf(pid).toFixed(0)} MB)`,
  );
}

/** Measures the time from a deploy request to the arrival of its document at the agent. */
async function deploys({ port }, arrivals) {
  const took = [];
  let machine = 0;
  await Promise.all(
    Array.from({ length: RENTING }, async (_, client) => {
      while (machine < DEPLOYS) {
        machine += 1;
        const body = JSON.stringify({ machine_id: machineIdOf(machine), disk_gb: 10 });
        const sentAt = performance.now();
        const headers = { ...keyHeader(client + 1), 'Content-Type': 'application/json' };
        const answer = await fetch(`http://127.0.0.1:${port}/v1/instances`, { method: 'POST', headers, body });
        const instance = await answer.json();
        if (answer.status !== 201) throw new Error(`a deploy was refused: ${JSON.stringify(instance)}`);
        while (!arrivals.has(instance.id) && performance.now() - sentAt < REACHES_WITHIN_MS) await pause(1);
        took.push((arrivals.get(instance.id) ?? Number.POSITIVE_INFINITY) - sentAt);
      }
    }),
  );
  const sorted = took.sort((one, other) => one - other);
  const p99 = percentile(sorted, 0.99);
  check(
    `${took.length} deploys reach their agents: p99`,
    `${p99.toFixed(0)} ms (median ${median(sorted).toFixed(0)} ms)`,
    p99 <= BOUNDS.p99Ms,
  );
}

/**
 * Returns the number of responses per second and the gateway's CPU time per response, which is hardly affected by other
 * programs on the machine.
 */
async function speedOf({ port, pid }, clientOf) {
  const rounds = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const [cpuBefore, startedAt] = [cpuSecondsOf(pid), performance.now()];
    const { perSecond } = await runLoad({ port, connections: CONNECTIONS, seconds: ROUND_SECONDS, clientOf });
    const seconds = (performance.now() - startedAt) / 1_000;
    // Subtracts the CPU time spent on the agents in the meantime, as measured for the idle fleet.
    const busy = cpuSecondsOf(pid) - cpuBefore - idleShare * seconds;
    rounds.push({ perSecond, cpuMicros: (busy / (perSecond * seconds)) * 1_000_000 });
  }
  return {
    perSecond: median(rounds.map((each) => each.perSecond)),
    cpuMicros: median(rounds.map((each) => each.cpuMicros)),
  };
}

function keyHeader(n) {
  return { Authorization: `Bearer ${keyOf(n)}` };
}
