// `npm run bench:move` moves a gateway's built-in database with 1,000,000 instances to the cluster of deploy/ha, as
// docs/operating.md describes, while 16 clients deploy and destroy. It prints how long the clients couldn't deploy, from
// the last success before the switch to the first one after it. It then checks that nothing acknowledged is lost, and
// exits with 1 if something is. BENCH_DATA=FOLDER keeps the source for the next run.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts, startCluster } from '../deploy/ha/local.mjs';
import { checkRentals } from './failovers/checks.mjs';
import { rentRepeatedly } from './failovers/clients.mjs';
import { Gateway } from './failovers/gateway.mjs';
import { Record } from './failovers/record.mjs';
import { openServer } from './support/database.mjs';
import { createDefaultData, rentalsOf } from './support/default-data.mjs';
import { createLargeData } from './support/large-data.mjs';
import { endAll, runAdmin, useAllCores } from './support/programs.mjs';
import { settings } from './support/settings.mjs';

const AROUND_MS = 10_000;

const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-move-'));
const dataDir = settings.dataDir ?? join(folder, 'data');
const [port] = await freePorts(1);
const gateways = [];

/** Creates the source if it doesn't exist, and returns a free machine for each client. */
async function prepareSource() {
  const server = await openServer(dataDir);
  try {
    if (!(await server.exists('gateway'))) {
      if (!(await server.exists('original'))) await createDefaultData(server, 'original');
      await createLargeData(server, 'original', 'gateway');
    }
    return await rentalsOf(server.urlOf('gateway'));
  } finally {
    await endAll();
    await server.close();
  }
}

/** Starts a gateway at the port that all clients use. */
async function startGateway(env) {
  const gateway = new Gateway(port, { folder, env: { LOG_LEVEL: 'warn', SEED: 'none', ...env } });
  gateways.push(gateway);
  await gateway.start();
  return gateway;
}

/** Runs `admin database move` and returns its report. */
async function move(...args) {
  const startedAt = performance.now();
  const { code, said } = await runAdmin(['database', 'move', ...args, '--json'], { DATA_DIR: dataDir });
  if (code !== 0) throw new Error(`the move failed: ${said}`);
  return { ...JSON.parse(said.slice(said.indexOf('{'))), tookMs: performance.now() - startedAt };
}

function say(what, figure) {
  console.log(`${what}: ${figure} (load ${loadavg()[0].toFixed(1)})`);
}

const seconds = (ms) => `${(ms / 1_000).toFixed(1)} s`;

async function main(cluster, rentals) {
  const record = new Record();
  const state = { isOver: false };
  const source = await startGateway({ DATA_DIR: dataDir });
  const clients = rentals.map(({ account, machineId }) =>
    rentRepeatedly(account, machineId, { gateways: [{ port }], record, state }),
  );
  record.restart();
  await sleep(AROUND_MS);
  say('deploys per second before', (record.deployedAt.length / (AROUND_MS / 1_000)).toFixed(0));
  record.restart();
  const copied = await move('--to', cluster.url);
  say(
    `copying and auditing ${copied.rows} rows while in use`,
    `${seconds(copied.tookMs)}, longest gap ${seconds(record.longestGapMs())}, ${record.deployedAt.length - 1} deploys`,
  );
  record.restart();
  await sleep(1_000);
  const stoppingAt = performance.now();
  await source.end();
  const stoppedAt = performance.now();
  const moved = await move('--to', cluster.url);
  const movedAt = performance.now();
  const key = join(dataDir, 'secrets.key');
  const secrets = existsSync(key) ? { SECRETS_KEY: readFileSync(key, 'utf8').trim() } : {};
  const target = await startGateway({ DATABASE_URL: cluster.url, ...secrets });
  const readyAt = performance.now();
  await sleep(AROUND_MS);
  say('without a successful deploy', seconds(record.longestGapMs()));
  say(
    'of which',
    `stopping ${seconds(stoppedAt - stoppingAt)}, moving ${seconds(movedAt - stoppedAt)} (switch ${moved.downtime_seconds} s), starting ${seconds(readyAt - movedAt)}`,
  );
  say(
    'rows written in the switch',
    moved.tables.reduce((sum, { copied: count }) => sum + count, 0),
  );
  state.isOver = true;
  await Promise.all(clients);
  await target.end();
  const { lostDeploys, lostDestroys, rentedTwice } = await checkRentals(cluster.url, record);
  say('acknowledged', `${record.deployed.size} deploys, ${record.destroyed.size} destroys`);
  say(
    'lost',
    `${lostDeploys} deploys, ${lostDestroys} destroys; machines rented twice: ${rentedTwice}; unexpected responses: ${record.unexpected.length}`,
  );
  const audit = await runAdmin(['audit'], { DATABASE_URL: cluster.url });
  say('audit', audit.said.trim());
  for (const each of new Set(record.unexpected)) console.log(each);
  if (lostDeploys + lostDestroys + rentedTwice + record.unexpected.length > 0 || audit.code !== 0) process.exitCode = 1;
}

useAllCores();
const rentals = await prepareSource();
const cluster = await startCluster();

async function close() {
  for (const gateway of gateways) await gateway.end();
  await move('--undo');
  await cluster.close();
  rmSync(folder, { recursive: true, force: true });
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void close().finally(() => process.exit(1)));
try {
  await main(cluster, rentals);
} finally {
  await close();
}
