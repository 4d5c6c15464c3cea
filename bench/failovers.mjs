// `npm run bench:failovers` runs two gateways on the cluster of deploy/ha and breaks it in every way that a cluster is
// meant to survive, while 16 clients deploy and destroy with idempotency keys and an operator books credits. For each
// failure, it prints the longest time without a successful deploy. Afterwards, it checks that no acknowledged write is
// lost, no GPU was rented twice, and the books balance. It exits with 1 if any check fails.
// `node bench/failovers.mjs NAME…` runs only the named failures.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts, startCluster } from '../deploy/ha/local.mjs';
import {
  call,
  lostDeploys,
  RETRY_AFTER_MS,
  Record,
  rentedTwice,
  rentRepeatedly,
  undestroyedOf,
} from './support/acknowledged.mjs';
import { rowsOf } from './support/database.mjs';
import { accountId, fillAccounts, keyOf } from './support/fill.mjs';
import { PROJECT } from './support/settings.mjs';

const CLIENTS = 16;
/** Each machine is wanted by this many clients, so that renting it twice would be possible. */
const CLIENTS_PER_MACHINE = 2;
const BEFORE_MS = 5_000;
const STARTS_WITHIN_MS = 60_000;
const CREDIT_EVERY_MS = 3_000;
/** Longest time without a successful deploy, except where a failure's own limit is longer. */
const GAP_LIMIT_MS = 30_000;

/** Each failure breaks something and returns what repairs it. `forMs` is the time in between. */
const FAILURES = {
  switchover: {
    about: 'the operator hands over the primary',
    forMs: 15_000,
    breaks: async (cluster, primary) => void (await cluster.switchover(primary)),
  },
  'primary-killed': {
    about: 'the primary node is lost (SIGKILL of Patroni and PostgreSQL)',
    forMs: 40_000,
    breaks: (cluster, primary) => {
      cluster.signalNode(primary, 'SIGKILL');
      return () => cluster.startNode(primary);
    },
  },
  'primary-frozen': {
    about: 'the primary node freezes (SIGSTOP of Patroni and PostgreSQL) and continues later',
    forMs: 40_000,
    breaks: (cluster, primary) => {
      cluster.signalNode(primary, 'SIGSTOP');
      return () => cluster.signalNode(primary, 'SIGCONT');
    },
  },
  'patroni-frozen': {
    about: 'only Patroni freezes on the primary, whose PostgreSQL continues as a second primary',
    forMs: 40_000,
    breaks: (cluster, primary) => {
      cluster.signalPatroni(primary, 'SIGSTOP');
      return () => cluster.signalPatroni(primary, 'SIGCONT');
    },
  },
  'postgres-killed': {
    about: "the primary's PostgreSQL is killed; its Patroni continues",
    forMs: 25_000,
    breaks: (cluster, primary) => void cluster.signalPostmaster(primary, 'SIGKILL'),
  },
  'standby-killed': {
    about: 'the synchronous standby is lost',
    forMs: 25_000,
    breaks: async (cluster) => {
      const standby = await synchronousStandby(cluster);
      cluster.signalNode(standby, 'SIGKILL');
      return () => cluster.startNode(standby);
    },
  },
  'standby-frozen': {
    about: 'the synchronous standby freezes and continues later',
    forMs: 40_000,
    breaks: async (cluster) => {
      const standby = await synchronousStandby(cluster);
      cluster.signalNode(standby, 'SIGSTOP');
      return () => cluster.signalNode(standby, 'SIGCONT');
    },
  },
  'etcd-killed': {
    about: 'one etcd member is lost, next to the primary',
    forMs: 25_000,
    breaks: (cluster, primary) => {
      cluster.signalEtcd(primary, 'SIGKILL');
      return () => cluster.startEtcd(primary);
    },
  },
  'etcd-lost': {
    about: 'all etcd members freeze',
    forMs: 30_000,
    breaks: (cluster) => {
      for (const node of cluster.nodes) cluster.signalEtcd(node, 'SIGSTOP');
      return () => {
        for (const node of cluster.nodes) cluster.signalEtcd(node, 'SIGCONT');
      };
    },
  },
  'haproxy-killed': {
    about: 'HAProxy is killed and restarted',
    forMs: 15_000,
    breaks: (cluster) => void cluster.restartHaproxy(),
  },
  'gateway-killed': {
    about: 'one gateway is killed and restarted',
    forMs: 15_000,
    breaks: (_cluster, _primary, gateways) => {
      gateways[0].kill();
      return () => gateways[0].start();
    },
  },
};

async function synchronousStandby(cluster) {
  const { name } = (await cluster.members()).find(({ role }) => role === 'sync_standby');
  return cluster.nodes.find((node) => node.name === name);
}

/** A gateway at a fixed port, which can be killed and started again. */
class Gateway {
  #child = null;

  constructor(cluster, port, seed) {
    this.port = port;
    this.seed = seed;
    this.cluster = cluster;
  }

  async start() {
    const log = openSync(join(this.cluster.folder, `gateway-${this.port}.log`), 'a');
    const { PATH = '/usr/bin:/bin', GATEWAY_MAIN = join(PROJECT, 'dist/gateway.mjs') } = process.env;
    this.#child = spawn(process.execPath, [GATEWAY_MAIN], {
      cwd: this.cluster.folder,
      env: {
        PATH,
        PORT: String(this.port),
        SSH_PORT: '',
        DATABASE_URL: this.cluster.url,
        RATE_LIMIT_PER_MINUTE: '0',
        SEED: this.seed,
      },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    await until(`gateway ${this.port} is ready`, () => this.isReady());
  }

  async isReady() {
    const answer = await call(this.port, 'GET', '/readyz').catch(() => null);
    return answer?.status === 200;
  }

  kill() {
    this.#child.kill('SIGKILL');
  }

  async end() {
    if (this.#child === null || this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
  }
}

/** An operator books credits with references, and repeats each command until it succeeds. */
async function bookRepeatedly(cluster, record, state) {
  for (let n = 1; !state.isOver; n += 1) {
    const reference = `failover-${n}`;
    const args = ['account', 'credit', accountId(1), '--amount', '1', '--reference', reference];
    while ((await admin(cluster.url, args)).code !== 0) await sleep(RETRY_AFTER_MS);
    record.credits.push(reference);
    await sleep(CREDIT_EVERY_MS);
  }
}

/** Keeps an event stream open and counts how often it ends. */
async function watchRepeatedly({ port }, record, state) {
  const query = 'subscription { accountChanged { account { balance } } }';
  const path = `/graphql?query=${encodeURIComponent(query)}`;
  while (!state.isOver) {
    await new Promise((resolve) => {
      const headers = { authorization: `Bearer ${keyOf(1)}`, accept: 'text/event-stream' };
      const sent = request({ port, path, headers }, (response) => response.resume().on('close', resolve));
      sent.on('error', resolve).end();
      state.streams.push(sent);
    });
    if (!state.isOver) record.streamEnds += 1;
    await sleep(RETRY_AFTER_MS);
  }
}

async function admin(url, args) {
  const { PATH = '/usr/bin:/bin' } = process.env;
  const child = spawn(process.execPath, [join(PROJECT, 'dist/admin.mjs'), ...args], {
    env: { PATH, DATABASE_URL: url },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
  const [code] = await once(child, 'close');
  return { code, said };
}

async function until(what, look) {
  const late = performance.now() + STARTS_WITHIN_MS;
  while (!(await look())) {
    if (performance.now() > late) throw new Error(`timed out: ${what}`);
    await sleep(100);
  }
}

function kindsOf(list) {
  const kinds = new Map();
  for (const each of list) kinds.set(each, (kinds.get(each) ?? 0) + 1);
  return kinds;
}

/** Compares the acknowledged writes with the database. Returns the number of faults. */
async function check(cluster, record) {
  const one = async (text, values) => Number((await rowsOf(cluster.url, text, values))[0].count);
  const lost = await lostDeploys(cluster.url, record);
  const undestroyed = await undestroyedOf(cluster.url, record);
  const credits = await one(
    `select count(*) from unnest($1::text[]) as told (reference)
     where (select count(*) from ledger_entry where ledger_entry.reference = told.reference) <> 1`,
    [record.credits],
  );
  const twice = await rentedTwice(cluster.url);
  const unknown = await one(
    `select count(*) from instance where account_id = any ($1) and not (id = any ($2)) and status <> 'DESTROYED'`,
    [Array.from({ length: CLIENTS }, (_, index) => accountId(index + 1)), [...record.deployed.keys()]],
  );
  const audit = await admin(cluster.url, ['audit']);
  console.log(
    `\nacknowledged: ${record.deployed.size} deploys, ${record.destroyed.size} destroys, ${record.credits.length} credits` +
      `\nlost: ${lost} deploys, ${undestroyed} destroys; credits not booked exactly once: ${credits}` +
      `\nmachines rented twice: ${twice}; rentals that no client knows of: ${unknown}` +
      `\naudit: ${audit.said.trim()}`,
  );
  for (const [each, count] of kindsOf(record.unexpected)) console.log(`unexpected, ${count} times: ${each}`);
  return lost + undestroyed + credits + twice + unknown + record.unexpected.length + (audit.code === 0 ? 0 : 1);
}

const chosen = process.argv.slice(2);
const names = chosen.length > 0 ? chosen : Object.keys(FAILURES);
for (const name of names) if (FAILURES[name] === undefined) throw new Error(`no failure is called ${name}`);
const cluster = await startCluster();
const record = new Record();
const state = { isOver: false, streams: [] };
let faults = 0;
let gateways = [];
try {
  gateways = (await freePorts(2)).map((port, index) => new Gateway(cluster, port, index === 0 ? 'demo' : 'none'));
  for (const gateway of gateways) await gateway.start();
  await fillAccounts(cluster.urlOf(await cluster.primary()), { from: 1, to: CLIENTS, past: 0, stopped: 0 });
  const machines = await rowsOf(cluster.url, `select id from machine where state = 'LISTED' order by id`);
  const clients = Array.from({ length: CLIENTS }, (_, index) =>
    rentRepeatedly(index + 1, machines[Math.floor(index / CLIENTS_PER_MACHINE)].id, gateways, record, state),
  );
  const operator = bookRepeatedly(cluster, record, state);
  const stream = watchRepeatedly(gateways[1], record, state);
  for (const name of names) {
    const { about, forMs, breaks } = FAILURES[name];
    const primary = await cluster.primary();
    record.restart();
    await sleep(BEFORE_MS);
    const atRest = record.longestGapMs();
    record.restart();
    const repair = await breaks(cluster, primary, gateways);
    await sleep(forMs);
    await repair?.();
    const gapMs = record.longestGapMs();
    if (gapMs > GAP_LIMIT_MS) faults += 1;
    faults += record.streamEnds;
    await cluster.whole();
    await until('both gateways are ready', async () => (await gateways[0].isReady()) && (await gateways[1].isReady()));
    console.log(
      `${name.padEnd(16)} longest gap ${(gapMs / 1_000).toFixed(1)} s (${(atRest / 1_000).toFixed(1)} s before), ` +
        `slowest response ${(record.slowestMs / 1_000).toFixed(1)} s, deploys ${record.deployedAt.length - 1}, ` +
        `stream ended ${record.streamEnds} times, lost ${await lostDeploys(cluster.url, record)}, ${JSON.stringify(record.statuses)}: ${about}`,
    );
    const left = [...kindsOf(record.unexpected)].map(([each, count]) => `${count} times: ${each}`);
    if (left.length > 0) console.log(`  unexpected so far: ${left.join('\n  ')}`);
  }
  state.isOver = true;
  for (const sent of state.streams) sent.destroy();
  await Promise.all([...clients, operator, stream]);
  faults += await check(cluster, record);
} finally {
  if (process.env.KEEP_LOGS)
    for (const { port } of gateways) {
      const log = readFileSync(join(cluster.folder, `gateway-${port}.log`), 'utf8').split('\n');
      console.log(
        log
          .filter((line) => !line.includes('"msg":"request"'))
          .slice(-Number(process.env.KEEP_LOGS))
          .join('\n'),
      );
    }
  await Promise.all(gateways.map((gateway) => gateway.end()));
  await cluster.close();
}
process.exitCode = faults === 0 ? 0 : 1;
