import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { renters } from '../support/default-data.mjs';
import { keyOf } from '../support/fill.mjs';
import { find, openHost, PORT_INSIDE, soon } from '../support/host.mjs';
import { cpuSecondsOf, end, residentMegabytesOf, startGateway, startPeer, startProgram } from '../support/programs.mjs';
import { median } from '../support/rounds.mjs';
import { settings } from '../support/settings.mjs';

const BYTES_PER_MB = 1_000_000;
/**
 * Size of the warm-up transfer in each direction, which grows the heap's young generation before anything is measured.
 */
const WARM_UP_MB = 100;
const LOOK_AT_MEMORY_MS = 50;
const AT_LEAST = 0.5;
const AT_MOST_MEGABYTES = 50;
const WAYS = ['down', 'up'];
const megabytes = settings.transferMegabytes;

/**
 * Compares transfers into and out of a container, through the gateway and without it, in alternating rounds. All
 * programs may use all cores, because several of them share the work. `perSecond` is the end-to-end throughput in MB/s.
 */
export const accessCases = [
  {
    name: 'ssh',
    title: 'SSH',
    work: 'both carry the same bytes through ssh: the gateway into a container through the host agent, sshd to this host',
    against: 'ssh to an sshd on this host',
    open: openSsh,
  },
  {
    name: 'web-ports',
    title: 'web port',
    work: 'both proxy the same HTTP bodies to one container; only the gateway goes through the host agent',
    against: 'bare node:http reverse proxy',
    open: openWebPort,
  },
].map(({ open, ...named }) => ({ ...named, carry: (context) => carry(named, context, open) }));

async function carry({ name, title, against }, { freshUrl }, open) {
  const url = await freshUrl();
  const gateway = await startGateway(url, {}, { isPinned: false });
  const dir = mkdtempSync(join(tmpdir(), 'bench-keys-'));
  let host;
  let sides;
  try {
    host = await openHost(gateway, url, keyOf(renters[0]));
    sides = await open({ host, dir });
    for (const way of WAYS) {
      for (const side of ['gateway', 'peer']) await sides[side](way, WARM_UP_MB);
    }
    const before = residentMegabytesOf(gateway.pid);
    let most = before;
    const watch = setInterval(() => {
      most = Math.max(most, residentMegabytesOf(gateway.pid));
    }, LOOK_AT_MEMORY_MS);
    const results = [];
    for (const way of WAYS)
      results.push({
        name: `${name} ${way}`,
        title: `${title}, ${way}`,
        against,
        ...(await compare(sides, gateway, host, way)),
      });
    clearInterval(watch);
    const memory = { atMostMegabytes: AT_MOST_MEGABYTES, megabytes: most - before };
    const isReached = memory.megabytes <= AT_MOST_MEGABYTES;
    results.push({
      name: `${name} memory`,
      title: `${title}, memory`,
      against: 'RSS above the previous RSS',
      ...memory,
      isReached,
    });
    return results;
  } finally {
    await sides?.close();
    await host?.close();
    await gateway.end();
    rmSync(dir, { recursive: true });
  }
}

async function compare(sides, gateway, host, way) {
  const rounds = [];
  for (let round = 0; round < settings.rounds; round += 1) {
    const taken = {};
    // Which side goes first alternates between rounds.
    for (const side of round % 2 === 0 ? ['gateway', 'peer'] : ['peer', 'gateway']) {
      const pids = side === 'gateway' ? [gateway.pid, host.agentPid] : [];
      const cpuBefore = pids.map(cpuSecondsOf);
      const began = performance.now();
      await sides[side](way, megabytes);
      const seconds = (performance.now() - began) / 1_000;
      const busy = pids.map((pid, index) => (cpuSecondsOf(pid) - cpuBefore[index]) / seconds);
      taken[side] = { perSecond: megabytes / seconds, busy };
    }
    rounds.push(taken);
  }
  const of = (side) => median(rounds.map((round) => round[side].perSecond));
  const ratios = rounds.map((round) => round.gateway.perSecond / round.peer.perSecond);
  const ratio = of('gateway') / of('peer');
  const busy = [0, 1].map((index) => median(rounds.map((round) => round.gateway.busy[index])));
  const note = `gateway busy ${percent(busy[0])}, agent ${percent(busy[1])}`;
  const [subject, peer] = [{ perSecond: of('gateway') }, { perSecond: of('peer') }];
  const spread = [Math.min(...ratios), Math.max(...ratios)];
  return { subject, peer, ratio, spread, rounds, note, atLeast: AT_LEAST, unit: 'MB/s', isReached: ratio >= AT_LEAST };
}

/** Uses the system's ssh, with the ciphers that it negotiates by default. */
async function openSsh({ host: { api, id }, dir }) {
  const [key, hostKey] = ['client', 'host'].map((name) => {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(dir, name)]);
    return join(dir, name);
  });
  const publicKey = execFileSync('cat', [`${key}.pub`], { encoding: 'utf8' }).trim();
  await api.graphql('mutation ($key: String!) { addSshKey(publicKey: $key) { id } }', { key: publicKey });
  const { instance } = await api.graphql(`{ instance(id: "${id}") { ssh { port } } }`);
  const sshd = await startSshd(dir, hostKey, key);
  const to = (user, port) => [
    ...['-F', 'none', '-i', key, '-o', 'IdentitiesOnly=yes', '-o', 'StrictHostKeyChecking=no', '-o', 'LogLevel=ERROR'],
    ...['-o', 'UserKnownHostsFile=/dev/null', '-p', String(port), `${user}@127.0.0.1`],
  ];
  const side = (args) => async (way, size) => {
    const ssh = ['ssh', ...args].join(' ');
    const bytes = `dd if=/dev/zero bs=100000 count=${size * 10} 2>/dev/null`;
    await runShell(way === 'down' ? `${ssh} '${bytes}' > /dev/null` : `${bytes} | ${ssh} 'cat > /dev/null'`);
  };
  return {
    gateway: side(to(id, instance.ssh.port)),
    peer: side(to(userInfo().username, sshd.port)),
    close: () => end(sshd.child),
  };
}

async function startSshd(dir, hostKey, key) {
  mkdirSync('/run/sshd', { recursive: true });
  const port = await freePort();
  const config = join(dir, 'sshd_config');
  const lines = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${hostKey}`,
    `AuthorizedKeysFile ${key}.pub`,
    'StrictModes no',
    'PidFile none',
    'UsePAM no',
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);
  const child = startProgram(find('sshd'), ['-D', '-f', config]);
  await soon('sshd listens', () => connects(port));
  return { port, child };
}

async function openWebPort({ host: { api, id, address }, dir }) {
  await api.graphql(`mutation { openPort(id: "${id}", port: ${PORT_INSIDE}) { id } }`);
  const { instance } = await api.graphql(`{ instance(id: "${id}") { ports { port url } } }`);
  const { host } = new URL(instance.ports.find(({ port }) => port === PORT_INSIDE).url);
  const proxy = await startPeer('web-proxy', { host: address, port: PORT_INSIDE }, { isPinned: false });
  const file = join(dir, 'zeros');
  const side = (base) => async (way, size) => {
    const bytes = size * BYTES_PER_MB;
    // Creates a sparse file, so that no data is read from a disk.
    closeSync(openSync(file, 'w'));
    truncateSync(file, bytes);
    const what = way === 'down' ? `-o /dev/null ${base}/${bytes}` : `-T ${file} ${base}/`;
    await runShell(`curl -sS --fail -H 'Host: ${host}' ${what}`, way === 'down' ? '' : String(bytes));
  };
  return { gateway: side(api.base), peer: side(`http://127.0.0.1:${proxy.port}`), close: () => proxy.end() };
}

async function runShell(line, expected = '') {
  const child = startProgram('/bin/sh', ['-c', line], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said += text;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0 || said !== expected) throw new Error(`${line} ended with ${code}: ${said}`);
}

function connects(port) {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port }, () => resolve(true)).on('error', () => resolve(false));
    socket.once('close', () => {}).setTimeout(1_000, () => socket.destroy());
    socket.once('connect', () => socket.destroy());
  });
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function percent(share) {
  return `${Math.round(share * 100)} %`;
}
