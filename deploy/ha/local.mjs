// node deploy/ha/local.mjs [--backups]    runs the whole database cluster on this machine until Ctrl-C
// Three etcd members, three PostgreSQL nodes under Patroni, and HAProxy, on free ports of 127.0.0.1. They use the same
// patroni.yml and haproxy.cfg as a real cluster, and a temporary folder. Nothing needs root. If root starts it, the
// cluster runs as the user `postgres`. `startCluster` is also used by bench/failovers.mjs.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const STARTS_WITHIN_MS = 90_000;
const ENDS_WITHIN_MS = 15_000;
const ASK_AGAIN_MS = 100;
const ANSWERS_WITHIN_MS = 1_000;
const NUMBERS = [1, 2, 3];
const LOOPBACK = '127.0.0.1';
const PATH = `${process.env.PATH ?? '/usr/bin:/bin'}:/usr/sbin`;
/** PostgreSQL refuses to run as root. */
const AS_USER =
  process.getuid() === 0 ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', '--'] : [];

/** Runs all nodes on this machine's loopback address. `command` starts a program on a node. */
const ON_LOOPBACK = { network: `${LOOPBACK}/32`, servers: NUMBERS.map(() => ({ address: LOOPBACK, command: [] })) };

/**
 * Starts a cluster and waits until it has a primary and two standbys, one of which is synchronous. With `backups`, it
 * archives to pgBackRest's repository in a temporary folder. With `dataMegabytes`, each node's files are on a file
 * system of that size in memory, which requires root.
 */
export async function startCluster({ backups = false, place = ON_LOOPBACK, dataMegabytes = null } = {}) {
  requirePrograms(['etcd', 'patroni', 'haproxy', ...(backups ? ['pgbackrest'] : [])]);
  const folder = mkdtempSync(join(tmpdir(), 'gpu-rental-ha-'));
  chmodSync(folder, 0o755);
  const children = new Set();
  const password = randomBytes(16).toString('hex');
  const free = await freePorts(NUMBERS.length * 4 + 2);
  const [primaryPort, replicaPort] = free.splice(0, 2);
  const nodes = NUMBERS.map((number) => {
    const [pgPort, apiPort, etcdPort, peerPort] = free.splice(0, 4);
    const home = join(folder, `node-${number}`);
    mkdirSync(home);
    if (dataMegabytes !== null) {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `mode=755,size=${dataMegabytes}m`, 'tmpfs', home]);
    }
    if (process.getuid() === 0) execFileSync('chown', ['postgres:postgres', home]);
    const { address, command } = place.servers[number - 1];
    const ports = { pgPort, apiPort, etcdPort, peerPort };
    return { name: `node-${number}`, home, address, command, ...ports, patroni: null, etcd: null };
  });
  const peers = nodes.map(({ name, address, peerPort }) => `${name}=http://${address}:${peerPort}`).join(',');
  const etcdHosts = nodes.map(({ address, etcdPort }) => `${address}:${etcdPort}`).join(',');
  if (backups)
    execFileSync('install', ['-d', ...(AS_USER.length > 0 ? ['-o', 'postgres'] : []), join(folder, 'backups')]);
  const config = join(folder, 'patroni.yml');
  writeFileSync(config, localPatroni(folder, place.network));
  for (const script of ['create-gateway.sh', 'backup.sh'])
    writeFileSync(join(folder, script), readFileSync(join(HERE, script)), { mode: 0o755 });

  function start(name, command, env = {}, node = null) {
    const log = openSync(join(folder, `${name}.log`), 'a');
    const [file, ...args] = [...(node?.command ?? []), ...AS_USER, ...command];
    // The group is separate, so that Ctrl-C in a terminal reaches only this process, which ends the others in order.
    const options = { cwd: folder, env: { PATH, HOME: folder, ...env }, stdio: ['ignore', log, log], detached: true };
    // PostgreSQL refuses a data folder that others can read.
    const before = process.umask(0o077);
    const child = spawn(file, args, options);
    process.umask(before);
    closeSync(log);
    children.add(child);
    child.once('exit', () => children.delete(child));
    return child;
  }

  function startEtcd(node) {
    const client = etcdOf(node);
    const peer = `http://${node.address}:${node.peerPort}`;
    const env = {
      ETCD_NAME: node.name,
      ETCD_DATA_DIR: join(node.home, 'etcd'),
      ETCD_LISTEN_CLIENT_URLS: client,
      ETCD_ADVERTISE_CLIENT_URLS: client,
      ETCD_LISTEN_PEER_URLS: peer,
      ETCD_INITIAL_ADVERTISE_PEER_URLS: peer,
      ETCD_INITIAL_CLUSTER: peers,
      ETCD_ENABLE_V2: 'true',
    };
    node.etcd = start(`${node.name}-etcd`, ['etcd'], env, node);
  }

  function environmentOf(node) {
    const pg = `${node.address}:${node.pgPort}`;
    const api = `${node.address}:${node.apiPort}`;
    return {
      PATRONICTL_CONFIG_FILE: config,
      PATRONI_NAME: node.name,
      PATRONI_ETCD_HOSTS: etcdHosts,
      PATRONI_RESTAPI_LISTEN: api,
      PATRONI_RESTAPI_CONNECT_ADDRESS: api,
      PATRONI_POSTGRESQL_LISTEN: pg,
      PATRONI_POSTGRESQL_CONNECT_ADDRESS: pg,
      PATRONI_POSTGRESQL_DATA_DIR: join(node.home, 'data'),
      PATRONI_POSTGRESQL_PGPASS: join(node.home, 'pgpass'),
      PATRONI_POSTGRESQL_BIN_DIR: binDir(),
      PATRONI_SUPERUSER_USERNAME: 'postgres',
      PATRONI_SUPERUSER_PASSWORD: password,
      PATRONI_REPLICATION_USERNAME: 'replicator',
      PATRONI_REPLICATION_PASSWORD: password,
      GATEWAY_PASSWORD: password,
      ...(backups && repositoryOf(node)),
    };
  }

  function repositoryOf(node) {
    return {
      PGBACKREST_STANZA: 'gpu-rental',
      PGBACKREST_PG1_PATH: join(node.home, 'data'),
      PGBACKREST_PG1_PORT: String(node.pgPort),
      PGBACKREST_PG1_SOCKET_PATH: join(node.home, 'socket'),
      PGBACKREST_REPO1_PATH: join(folder, 'backups'),
      PGBACKREST_REPO1_RETENTION_FULL: '4',
      PGBACKREST_LOCK_PATH: join(node.home, 'lock'),
      PGBACKREST_LOG_LEVEL_FILE: 'off',
    };
  }

  function startPatroni(node) {
    const socket = join(node.home, 'socket');
    if (!existsSync(socket)) execFileSync(AS_USER[0] ?? 'env', [...AS_USER.slice(1), 'mkdir', socket]);
    node.patroni = start(node.name, ['patroni', config], environmentOf(node), node);
  }

  function startHaproxy() {
    const addresses = nodes.flatMap(({ address, pgPort, apiPort }, index) => [
      [`NODE_${index + 1}`, `${address}:${pgPort}`],
      [`NODE_${index + 1}_API_PORT`, String(apiPort)],
    ]);
    return start('haproxy', ['haproxy', '-db', '-f', join(HERE, 'haproxy.cfg')], {
      BIND_PRIMARY: `${LOOPBACK}:${primaryPort}`,
      BIND_REPLICAS: `${LOOPBACK}:${replicaPort}`,
      ...Object.fromEntries(addresses),
    });
  }

  const cluster = {
    folder,
    nodes,
    url: `postgresql://gateway:${password}@${LOOPBACK}:${primaryPort}/gateway`,
    replicaUrl: `postgresql://gateway:${password}@${LOOPBACK}:${replicaPort}/gateway`,
    /** Returns a node's own address, past HAProxy. */
    urlOf: ({ address, pgPort }, role = 'postgres') => `postgresql://${role}:${password}@${address}:${pgPort}/gateway`,
    /** Returns Patroni's view of the cluster, from any node that answers. */
    members: () => membersOf(nodes),
    /** Returns the primary, or undefined if there is no primary. */
    primary: async () => {
      const answers = await Promise.all(nodes.map((node) => isOk(`${apiOf(node)}/primary`)));
      return nodes[answers.indexOf(true)];
    },
    /** Waits until all nodes are up again and a synchronous standby exists. */
    whole: () => until('the cluster is whole', async () => isWhole(await membersOf(nodes))),
    /** Sends a signal to a node's Patroni and PostgreSQL processes. `SIGKILL` is the loss of a node. */
    signalNode: (node, signal) => {
      for (const pid of pidsOf(node)) signalTo(pid, signal);
    },
    signalPatroni: ({ patroni }, signal) => signalTo(patroni.pid, signal),
    signalPostmaster: (node, signal) => signalTo(postmasterOf(node), signal),
    signalEtcd: ({ etcd }, signal) => signalTo(etcd.pid, signal),
    /** Returns the node whose etcd leads the others. */
    etcdLeader: async () => {
      const stats = await Promise.all(nodes.map(async (node) => (await ask(`${etcdOf(node)}/v2/stats/self`))?.json()));
      return nodes[stats.findIndex((each) => each?.state === 'StateLeader')];
    },
    hasEtcd: ({ etcd }) => etcd.exitCode === null && etcd.signalCode === null,
    startNode: startPatroni,
    /** Stops a node's Patroni, which also stops PostgreSQL. */
    stopNode: ({ patroni }) => end(patroni, 'SIGTERM'),
    /** Runs backup.sh on a node and returns its output. */
    backup: (node, ...args) => {
      const [file, ...rest] = [...AS_USER, join(folder, 'backup.sh'), ...args];
      const env = { PATH, HOME: folder, ...environmentOf(node) };
      return execFileSync(file, rest, { cwd: folder, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
    },
    startEtcd,
    /** Hands the primary's role to a standby, as for maintenance. */
    switchover: async (leader, candidate) => {
      const response = await fetch(`${apiOf(leader)}/switchover`, {
        method: 'POST',
        body: JSON.stringify({ leader: leader.name, candidate: candidate?.name }),
      });
      if (!response.ok) throw new Error(`switchover: ${response.status} ${await response.text()}`);
    },
    restartHaproxy: async () => {
      await end(cluster.haproxy, 'SIGKILL');
      cluster.haproxy = startHaproxy();
    },
    haproxy: null,
    close: async () => {
      for (const node of nodes) cluster.signalNode(node, 'SIGCONT');
      for (const { etcd } of nodes) if (etcd !== null) signalTo(etcd.pid, 'SIGCONT');
      // An immediate shutdown frees PostgreSQL's shared memory. The data is deleted anyway.
      const postmasters = nodes.map(postmasterOf).filter((pid) => pid !== null);
      await Promise.all([...children].map((child) => end(child, 'SIGKILL')));
      for (const pid of postmasters) signalTo(pid, 'SIGQUIT');
      await until('PostgreSQL has ended', () => postmasters.every((pid) => commandOf(pid) === ''));
      if (dataMegabytes !== null) for (const { home } of nodes) execFileSync('umount', [home]);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    },
  };
  try {
    for (const node of nodes) startEtcd(node);
    await until('etcd answers', () => isOk(`${etcdOf(nodes[0])}/health`));
    for (const node of nodes) startPatroni(node);
    cluster.haproxy = startHaproxy();
    await cluster.whole();
    return cluster;
  } catch (error) {
    const log = join(folder, 'node-1.log');
    if (existsSync(log)) process.stderr.write(readFileSync(log, 'utf8').slice(-2_000));
    await cluster.close();
    throw error;
  }
}

function apiOf({ address, apiPort }) {
  return `http://${address}:${apiPort}`;
}

function etcdOf({ address, etcdPort }) {
  return `http://${address}:${etcdPort}`;
}

/** Returns patroni.yml with this machine's paths and network. */
function localPatroni(folder, network) {
  return readFileSync(join(HERE, 'patroni.yml'), 'utf8')
    .replaceAll('10.0.0.0/24', network)
    .replace('/etc/patroni/create-gateway.sh', join(folder, 'create-gateway.sh'))
    .replace('/etc/patroni/backup.sh', join(folder, 'backup.sh'))
    .replace('unix_socket_directories: /var/run/postgresql', 'unix_socket_directories: ../socket');
}

/** Returns the newest PostgreSQL's programs, as Debian installs them. */
function binDir() {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).map(Number) : [];
  if (versions.length === 0) throw new Error(`no PostgreSQL in ${root}; install Debian's package postgresql-15`);
  return join(root, String(Math.max(...versions)), 'bin');
}

function requirePrograms(names) {
  const missing = names.filter((name) => !PATH.split(':').some((folder) => existsSync(join(folder, name))));
  if (missing.length === 0) return;
  throw new Error(`not installed: ${missing.join(', ')}; install the Debian packages named in deploy/ha/README.md`);
}

async function membersOf(nodes) {
  for (const node of nodes) {
    const answer = await ask(`${apiOf(node)}/cluster`);
    if (answer?.ok) return (await answer.json()).members;
  }
  return [];
}

function isWhole(members) {
  const isUp = ({ role, state }) =>
    state === (role === 'leader' ? 'running' : state) && /^(running|streaming)$/.test(state);
  return (
    members.length === NUMBERS.length &&
    members.every(isUp) &&
    ['leader', 'sync_standby'].every((wanted) => members.some(({ role }) => role === wanted)) &&
    new Set(members.map(({ timeline }) => timeline)).size === 1
  );
}

/** Returns a node's Patroni and PostgreSQL processes, Patroni first, so that it can't restart PostgreSQL. */
function pidsOf(node) {
  const postmaster = postmasterOf(node);
  const patroni = node.patroni !== null && node.patroni.exitCode === null ? [node.patroni.pid] : [];
  return [...patroni, ...(postmaster === null ? [] : [postmaster, ...childrenOf(postmaster)])];
}

function postmasterOf({ home }) {
  const file = join(home, 'data/postmaster.pid');
  if (!existsSync(file)) return null;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  // The file of a killed server remains, and its process id may be in use again.
  return commandOf(pid).includes(join(home, 'data')) ? pid : null;
}

function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

function childrenOf(parent) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')[1]) === parent;
      } catch {
        return false;
      }
    });
}

function signalTo(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

async function end(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const late = setTimeout(() => child.kill('SIGKILL'), ENDS_WITHIN_MS);
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
  clearTimeout(late);
}

function ask(url) {
  return fetch(url, { signal: AbortSignal.timeout(ANSWERS_WITHIN_MS) }).catch(() => null);
}

async function isOk(url) {
  return (await ask(url))?.ok === true;
}

async function until(what, look) {
  const late = performance.now() + STARTS_WITHIN_MS;
  while (!(await look())) {
    if (performance.now() > late) throw new Error(`timed out: ${what}`);
    await sleep(ASK_AGAIN_MS);
  }
}

export async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, LOOPBACK));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => server.address().port);
  for (const server of servers) server.close();
  return ports;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const backups = process.argv.includes('--backups');
  // From the beginning, because a cluster that is starting must be stopped and deleted too.
  let isStopping = false;
  const stop = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]).then(() => {
    isStopping = true;
  });
  console.log('Starting the cluster, which takes about 20 seconds. Press Ctrl-C to stop and delete it.');
  const cluster = await startCluster({ backups });
  const primary = await cluster.primary();
  if (!isStopping) {
    console.log(`primary ${primary.name}; folder with data and logs: ${cluster.folder}`);
    if (backups) console.log(cluster.backup(primary, 'backup'));
    console.log(`DATABASE_URL=${cluster.url}`);
    console.log(`DATABASE_REPLICA_URL=${cluster.replicaUrl}`);
    console.log(`node-1's Patroni: ${apiOf(cluster.nodes[0])}/cluster`);
  }
  const keepAlive = setInterval(() => {}, 60_000);
  await stop;
  clearInterval(keepAlive);
  await cluster.close();
}
