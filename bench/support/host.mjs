// A host of a gateway: Podman on a folder of its own, the host agent on it, and a running instance that can be reached.
import { execFileSync } from 'node:child_process';
import { accessSync, constants, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { end, NotSupported, startProgram } from './programs.mjs';
import { PROJECT } from './settings.mjs';

/** What the container has besides its server: Node, and busybox under the names of its programs. */
const IMAGE = 'localhost/bench:latest';
const SERVER = join(PROJECT, 'bench/support/server-inside.mjs');
const AGENT = join(PROJECT, 'dist/src/agent/main.js');
const NEEDED = ['podman', 'runc', 'busybox', 'mkfs.ext4', 'tar'];
const WAITS_MS = 60_000;

/** The port that the server inside listens on. */
export const PORT_INSIDE = 8_080;

/** An instance on this computer, rented with `key`; `address` is the container's own. */
export async function openHost(gateway, databaseUrl, key) {
  if (process.getuid?.() !== 0) throw new NotSupported('containers need root');
  for (const program of NEEDED) find(program);
  // Short: the path of a Unix socket may have 107 characters.
  const dir = mkdtempSync(join(tmpdir(), 'bench-'));
  const stores = ['--root', join(dir, 'root'), '--runroot', join(dir, 'run'), '--tmpdir', join(dir, 'tmp')];
  const podman = [...stores, '--runtime', find('runc'), '--cgroup-manager', 'cgroupfs', '--events-backend', 'file'];
  const socket = join(dir, 'engine.sock');
  execFileSync(
    'podman',
    [...podman, 'import', '--change', `CMD=${process.execPath} /server.mjs`, imageOf(dir), IMAGE],
    {
      stdio: 'ignore',
    },
  );
  const engine = startProgram('podman', [...podman, 'system', 'service', '--time=0', `unix://${socket}`]);
  const api = apiOf(gateway.port, key);
  const { PATH } = process.env;
  const options = ['--engine', socket, '--data-dir', join(dir, 'agent')];
  const agent = startProgram(process.execPath, [AGENT, 'try', '--url', api.base, ...options], {
    env: { PATH, DATABASE_URL: databaseUrl, LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  agent.stdout.setEncoding('utf8').on('data', (text) => {
    said += text;
  });
  const machineId = await soon('the agent joins', () => /is machine (m-\w+)/.exec(said)?.[1]);
  const { id } = await soon('the machine is offered', () =>
    api.rest('POST', '/instances', { machine_id: machineId, template: IMAGE, disk_gb: 5 }),
  );
  const phase = async () => (await api.graphql(`{ instance(id: "${id}") { runtime { phase message } } }`)).instance;
  await soon('the container runs', async () => (await phase()).runtime.phase === 'RUNNING');
  const inspect = ['inspect', '--format', '{{.NetworkSettings.IPAddress}}', `gpu-${id}`];
  const address = execFileSync('podman', [...podman, ...inspect], { encoding: 'utf8' }).trim();
  return {
    api,
    id,
    address,
    agentPid: agent.pid,
    close: async () => {
      await api.rest('DELETE', `/instances/${id}`);
      await soon('the container is erased', async () => (await phase()).runtime.phase === 'ERASED');
      await end(agent);
      await end(engine);
      unmountBelow(dir);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** The path of a program; refuses where it is not installed. */
export function find(name) {
  const dirs = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  const path = dirs.map((each) => join(each, name)).find(isProgram);
  if (path === undefined) throw new NotSupported(`${name} is not installed`);
  return path;
}

/** Null is not there yet; a fault counts as that until it is too late. */
export async function soon(what, look) {
  const until = performance.now() + WAITS_MS;
  for (let fault; ; ) {
    const found = await Promise.resolve()
      .then(look)
      .catch((error) => {
        fault = error;
      });
    if (found) return found;
    if (performance.now() > until) throw new Error(`${what}: not within ${WAITS_MS / 1_000} s`, { cause: fault });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function imageOf(dir) {
  const root = join(dir, 'image');
  for (const name of ['bin', 'etc', 'tmp', 'workspace']) mkdirSync(join(root, name), { recursive: true });
  cpSync(find('busybox'), join(root, 'bin/busybox'));
  execFileSync(join(root, 'bin/busybox'), ['--install', '-s', join(root, 'bin')]);
  // The links lead to where it lies here.
  for (const name of ['sh', 'cat', 'dd', 'id', 'stat', 'true']) {
    execFileSync('ln', ['-sf', 'busybox', join(root, 'bin', name)]);
  }
  const libraries = execFileSync('ldd', [process.execPath], { encoding: 'utf8' }).match(/\/\S+(?= \(0x)/g) ?? [];
  for (const path of [process.execPath, ...libraries]) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    cpSync(path, join(root, path), { dereference: true });
  }
  cpSync(SERVER, join(root, 'server.mjs'));
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0:root:/:/bin/sh\n');
  execFileSync('tar', ['-C', root, '-cf', join(dir, 'image.tar'), '.']);
  rmSync(root, { recursive: true });
  return join(dir, 'image.tar');
}

function apiOf(port, key) {
  const base = `http://127.0.0.1:${port}`;
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const call = async (path, method, body) => {
    const answer = await fetch(base + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const read = await answer.json();
    if (!answer.ok || read.errors) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(read)}`);
    return read;
  };
  return {
    base,
    rest: (method, path, body) => call(`/v1${path}`, method, body),
    graphql: async (query, variables) => (await call('/graphql', 'POST', { query, variables })).data,
  };
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function unmountBelow(dir) {
  const targets = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  for (const line of targets.reverse()) {
    const target = line.split(' ')[4] ?? '';
    if (target.startsWith(`${dir}/`)) execFileSync('umount', ['-l', target]);
  }
}
