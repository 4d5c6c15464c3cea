// `npm run bench:failovers` runs two gateways on the cluster of deploy/ha and breaks it in every way that a cluster is
// meant to survive. In the meantime, 16 clients deploy and destroy with idempotency keys, 200 host agents report, an
// operator books credits, payments are called back two or three times, and webhooks deliver events. It prints the
// longest time without a successful deploy for each failure. After each one, and at the end, it checks that no
// acknowledged write is lost, no GPU was rented twice, no payment was credited twice, and the books balance. It exits
// with 1 if any check fails.
// Ctrl-C skips the remaining failures. `node bench/failovers.mjs NAME…` runs only the named failures
// (failovers/failures.mjs). Without root, failures that need network namespaces or a file system are skipped.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts, startCluster } from '../deploy/ha/local.mjs';
import { checkWrites, foundOn, nodesAgree, unknownRentals } from './failovers/checks.mjs';
import { bookRepeatedly, rentRepeatedly, watchRepeatedly } from './failovers/clients.mjs';
import { FAILURES, fullRun } from './failovers/failures.mjs';
import { Gateway } from './failovers/gateway.mjs';
import { canDisconnect, openNetwork } from './failovers/network.mjs';
import { openProcessor, payRepeatedly } from './failovers/payments.mjs';
import { Record } from './failovers/record.mjs';
import { until } from './failovers/tools.mjs';
import { openReceiver } from './failovers/webhooks.mjs';
import { Agents, addHosts } from './support/agents.mjs';
import { rowsOf, withClient } from './support/database.mjs';
import { fillAccounts } from './support/fill.mjs';

const CLIENTS = 16;
/** Each machine is wanted by this many clients, so that renting it twice would be possible. */
const CLIENTS_PER_MACHINE = 2;
const HOSTS = 200;
/** Account and number of machines of the clients that are isolated with a primary. */
const TRAPPED = CLIENTS + 1;
const TRAPPED_MACHINES = 8;
const DATA_MEGABYTES = 3_000;
const BEFORE_MS = 3_000;
/** Longest time without a successful deploy. */
const GAP_LIMIT_MS = 30_000;
const EVENTS_WITHIN_MS = 180_000;
const REPORTS_WITHIN_MS = 60_000;

/** Waits until the failure may be repaired. */
async function wait({ moves = false, after }, { cluster, primary, record }) {
  if (moves) {
    await until('another primary', async () => ![undefined, primary].includes(await cluster.primary()));
    const movedAt = performance.now();
    await until('a deploy on the new primary', () => record.deployedAt.at(-1) > movedAt);
  }
  await sleep(after);
}

/** Breaks something, repairs it and checks everything. Returns the number of faults. */
async function survive(name, run) {
  const { cluster, record, gateways } = run;
  const primary = await cluster.primary();
  record.restart();
  await sleep(BEFORE_MS);
  const atRest = record.longestGapMs();
  record.restart();
  const repair = await FAILURES[name].breaks({ ...run, primary });
  const problem = await wait(FAILURES[name], { ...run, primary }).catch((error) => error.message);
  await repair?.();
  const broken = await cluster.whole().catch((error) => error.message);
  await until('both gateways are ready', async () => (await gateways[0].isReady()) && (await gateways[1].isReady()));
  const gapMs = record.longestGapMs();
  const hasMoved = (await cluster.primary()) !== primary;
  const checked = await checkWrites(run);
  const { said, ...counts } = checked;
  const problems = [problem, broken].filter((each) => each !== undefined);
  const faults = Object.values(counts).reduce((sum, each) => sum + each, 0) + record.streamEnds + problems.length;
  console.log(
    `${name.padEnd(18)} gap ${seconds(gapMs)} s (${seconds(atRest)} s before), primary ${hasMoved ? 'moved' : 'stayed'}, ` +
      `slowest response ${seconds(record.slowestMs)} s, ${record.deployedAt.length - 1} deploys, ` +
      `${JSON.stringify(record.statuses)}, faults ${faults}`,
  );
  for (const [each, count] of kindsOf(record.unexpected)) console.log(`  unexpected so far, ${count} times: ${each}`);
  if (faults > 0)
    console.log(`  ${problems.join('; ')} ${JSON.stringify(checked)}, stream ended ${record.streamEnds} times`);
  return { name, gapMs, hasMoved, faults: faults + (gapMs > GAP_LIMIT_MS ? 1 : 0) };
}

/** Checks everything that can only be checked without load. Returns the number of faults. */
async function checkAtRest(run, agents) {
  const { cluster, record, receiver, results } = run;
  const endedAt = performance.now();
  await until('all agents report', () => agents.reportedSince(endedAt) === HOSTS, REPORTS_WITHIN_MS).catch(() => {});
  const reporting = agents.reportedSince(endedAt);
  await until('all events arrive', () => receiver.missing(record).length === 0, EVENTS_WITHIN_MS).catch(() => {});
  agents.end();
  const missing = receiver.missing(record).length;
  const { said = '', ...counts } = await checkWrites(run);
  const unknown = await unknownRentals(run, CLIENTS);
  await until('the nodes agree', () => nodesAgree(run), REPORTS_WITHIN_MS).catch(() => {});
  const agree = await nodesAgree(run);
  const trapped = { attempts: 0, acknowledged: 0, found: 0 };
  for (const { attempts, acknowledged } of results) {
    trapped.attempts += attempts;
    trapped.acknowledged += acknowledged.sql.length + acknowledged.gateway.length;
    trapped.found += await foundOn(cluster.url, acknowledged);
  }
  console.log(
    `\nacknowledged: ${record.deployed.size} deploys, ${record.destroyed.size} destroys, ${record.credits.length} credits, ` +
      `${record.paid.size} payments by ${record.callbacks} callbacks` +
      `\nfaults: ${JSON.stringify(counts)}, rentals that no client knows of: ${unknown} ${said.trim()}` +
      `\nagents: ${reporting} of ${HOSTS} report at the end, ${agents.reports} reports, lost ${JSON.stringify(agents.refused)}` +
      `\nevents: ${missing} missing, ${receiver.received.size} received in ${receiver.deliveries} deliveries, ` +
      `${receiver.badSignatures} bad signatures` +
      `\nisolated primaries: ${trapped.attempts} writes attempted, ${trapped.acknowledged} acknowledged, of which ` +
      `${trapped.found} exist: ${JSON.stringify(results.map(({ refusals }) => refusals))}` +
      `\nall nodes contain the same: ${agree}`,
  );
  for (const [each, count] of kindsOf(record.unexpected)) console.log(`unexpected, ${count} times: ${each}`);
  const idle = [record.deployed.size, record.destroyed.size, record.credits.length, record.paid.size].includes(0);
  if (idle) console.log('a kind of write was never acknowledged');
  const lost =
    (idle ? 1 : 0) + missing + receiver.badSignatures + (HOSTS - reporting) + trapped.acknowledged + (agree ? 0 : 1);
  return Object.values(counts).reduce((sum, each) => sum + each, 0) + unknown + lost + record.unexpected.length;
}

function printTable(outcomes) {
  console.log('\nfailure | times | primary moved | longest time without a deploy | each');
  for (const name of new Set(outcomes.map((outcome) => outcome.name))) {
    const same = outcomes.filter((outcome) => outcome.name === name);
    const gaps = same.map(({ gapMs }) => gapMs);
    const moved = same.filter(({ hasMoved }) => hasMoved).length;
    const each = gaps.map(seconds).join(', ');
    console.log(`${FAILURES[name].about} | ${same.length} | ${moved} | ${seconds(Math.max(...gaps))} s | ${each}`);
  }
  console.log(`the primary moved ${outcomes.filter(({ hasMoved }) => hasMoved).length} times`);
}

function kindsOf(list) {
  const kinds = new Map();
  for (const each of list) kinds.set(each, (kinds.get(each) ?? 0) + 1);
  return kinds;
}

function seconds(ms) {
  return (ms / 1_000).toFixed(1);
}

function printLogs(gateways, lines) {
  for (const { log } of gateways) {
    const written = readFileSync(log, 'utf8').split('\n');
    const chosen = written.filter((line) => !line.includes('"msg":"request"')).slice(-lines);
    console.log(chosen.join('\n'));
  }
}

/** Starts the load, runs the failures and checks the result. Returns the number of faults. */
async function runAll(names, { cluster, network, receiver, processor, gateways }) {
  const env = { ...receiver.env };
  const [port1, port2] = await freePorts(2);
  const start = { folder: cluster.folder, databaseUrl: cluster.url };
  for (const [port, seed] of [
    [port1, 'demo'],
    [port2, 'none'],
  ]) {
    gateways.push(new Gateway(port, { ...start, env: { ...env, ...processor.env, SEED: seed } }));
    await gateways.at(-1).start();
  }
  const url = cluster.urlOf(await cluster.primary());
  await fillAccounts(url, { from: 1, to: TRAPPED, past: 0, stopped: 0 });
  await withClient(url, (client) =>
    client.query(`create schema bench; create table bench.trapped_write (id text primary key);
      grant usage on schema bench to gateway; grant all on bench.trapped_write to gateway`),
  );
  const machines = (await rowsOf(url, `select id from machine where state = 'LISTED' order by id`)).map(({ id }) => id);
  await addHosts(url, HOSTS);
  const agents = new Agents([port1, port2], HOSTS, () => {});
  const state = { isOver: false, streams: [] };
  const record = new Record();
  const trapped = { account: TRAPPED, machineIds: machines.slice(-TRAPPED_MACHINES) };
  const run = { cluster, network, receiver, gateways, record, state, trapped, env, results: [] };
  await receiver.register(CLIENTS, run);
  await agents.start();
  const load = [
    ...Array.from({ length: CLIENTS }, (_, index) =>
      rentRepeatedly(index + 1, machines[Math.floor(index / CLIENTS_PER_MACHINE)], run),
    ),
    bookRepeatedly(cluster.url, run),
    watchRepeatedly(gateways[1], run),
    payRepeatedly(CLIENTS, run),
  ];
  const outcomes = [];
  let isStopping = false;
  process.once('SIGINT', () => {
    isStopping = true;
  });
  for (const name of names) {
    if (!isStopping) outcomes.push(await survive(name, run));
  }
  state.isOver = true;
  for (const sent of state.streams) sent.destroy();
  await Promise.all(load);
  const faults = await checkAtRest(run, agents);
  printTable(outcomes);
  return outcomes.reduce((sum, outcome) => sum + outcome.faults, faults);
}

const hasRoot = canDisconnect();
const isPossible = ({ needs }) => needs === undefined || hasRoot;
const chosen = process.argv.slice(2);
const unknown = chosen.find((name) => FAILURES[name] === undefined);
if (unknown !== undefined) throw new Error(`no failure is called ${unknown}`);
const wanted = chosen.length > 0 ? chosen : fullRun();
const names = wanted.filter((name) => isPossible(FAILURES[name]));
for (const name of new Set(wanted)) if (!names.includes(name)) console.log(`skipped, because it needs root: ${name}`);
const network = hasRoot ? openNetwork() : null;
const cluster = await startCluster(hasRoot ? { place: network.place, dataMegabytes: DATA_MEGABYTES } : {});
const receiver = await openReceiver(network?.host ?? '127.0.0.1');
const processor = await openProcessor();
const gateways = [];
const terminated = new Promise((_resolve, reject) => process.once('SIGTERM', () => reject(new Error('SIGTERM'))));
try {
  const all = runAll(names, { cluster, network, receiver, processor, gateways });
  process.exitCode = (await Promise.race([all, terminated])) === 0 ? 0 : 1;
} finally {
  if (process.env.KEEP_LOGS) printLogs(gateways, Number(process.env.KEEP_LOGS));
  await Promise.all(gateways.map((gateway) => gateway.end()));
  await cluster.close();
  receiver.close();
  processor.close();
  network?.close();
}
// The load may still be waiting if a failure was not survived.
process.exit();
