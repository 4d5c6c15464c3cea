// A gateway host: Podman in its own folder with a host agent, and a running instance that can be reached.
import { execFileSync } from 'node:child_process';
import {
  accessSync,
  constants,
  cpSync,
  createReadStream,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { end, NotSupported, startProgram } from './programs.mjs';
import { PROJECT } from './settings.mjs';

/** The container's image. Besides the server, it contains Node, and busybox under the names of its programs. */
const IMAGE = 'localhost/bench:latest';
const SERVER = join(PROJECT, 'bench/support/server-inside.mjs');
const AGENT = join(PROJECT, 'dist/src/agent/main.js');
const NEEDED = ['podman', 'runc', 'busybox', 'mkfs.ext4', 'tar'];
const WAITS_MS = 60_000;

/** Port on which the server inside the container listens. */
export const PORT_INSIDE = 8_080;

/** Starts an instance on this computer, rented with `key`. `address` is the container's own address. */
export async function openHost(gateway, databaseUrl, key) {
  if (process.getuid?.() !== 0) throw new NotSupported('containers need root');
  for (const program of NEEDED) find(program);
  // The path is short because the path of a Unix socket is limited to 107 characters.
  const dir = mkdtempSync(join(tmpdir(), 'bench-'));
  const api = apiOf(gateway.port, key);
  const programs = [];
  let id = null;
  const phase = async () =>
    (await api.graphql(`{ instance(id: "${id}") { runtime { phase } } }`)).instance.runtime.phase;
  const close = async () => {
    if (id !== null) {
      await api.rest('DELETE', `/instances/${id}`);
      await soon('the container is erased', async () => (await phase()) === 'ERASED');
    }
    for (const program of programs.reverse()) await end(program);
    unmountBelow(dir);
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    const socket = join(dir, 'engine.sock');
    programs.push(startProgram('podman', [...engineOptions(dir), `unix://${socket}`]));
    await soon('podman answers', () => ask(socket, 'GET', '/_ping'));
    const query = new URLSearchParams({ fromSrc: '-', repo: IMAGE, changes: `CMD ${process.execPath} /server.mjs` });
    await ask(socket, 'POST', `/images/create?${query}`, createReadStream(imageOf(dir)));
    const options = ['--url', api.base, '--engine', socket, '--data-dir', join(dir, 'agent'), '--image', IMAGE];
    const agent = startProgram(process.execPath, [AGENT, 'try', ...options], {
      env: { PATH: process.env.PATH, DATABASE_URL: databaseUrl, LOG_LEVEL: 'warn' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    programs.push(agent);
    let said = '';
    agent.stdout.setEncoding('utf8').on('data', (chunk) => {
      said += chunk;
    });
    const machineId = await soon('the agent joins', () => /is machine (m-\w+)/.exec(said)?.[1]);
    const deploy = { machine_id: machineId, template: IMAGE, disk_gb: 5 };
    ({ id } = await soon('the machine is rented', () => api.rest('POST', '/instances', deploy)));
    await soon('the container runs', async () => (await phase()) === 'RUNNING');
    const { NetworkSettings } = JSON.parse(await ask(socket, 'GET', `/containers/gpu-${id}/json`));
    return { api, id, address: NetworkSettings.IPAddress, agentPid: agent.pid, close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

function engineOptions(dir) {
  return [
    ...['--root', join(dir, 'root'), '--runroot', join(dir, 'run'), '--tmpdir', join(dir, 'tmp')],
    ...['--runtime', find('runc'), '--cgroup-manager', 'cgroupfs', '--events-backend', 'file'],
    ...['system', 'service', '--time=0'],
  ];
}

/** Returns a program's path. Throws if the program isn't installed. */
export function find(name) {
  const dirs = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  const path = dirs.map((each) => join(each, name)).find(isProgram);
  if (path === undefined) throw new NotSupported(`${name} is not installed`);
  return path;
}

/** Waits until `look` returns a value other than null. Errors count as null until the timeout. */
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

/** Calls the engine's API and resolves to the response text. */
function ask(socketPath, method, path, body) {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, method, path }, async (answer) => {
      const said = await text(answer).catch(reject);
      if (answer.statusCode < 300 && !said?.startsWith('{"error')) resolve(said);
      else reject(new Error(`${method} ${path}: ${answer.statusCode} ${said}`));
    });
    call.on('error', reject);
    if (body === undefined) call.end();
    else body.pipe(call);
  });
}

function imageOf(dir) {
  const root = join(dir, 'image');
  for (const name of ['bin', 'etc', 'tmp', 'workspace']) mkdirSync(join(root, name), { recursive: true });
  cpSync(find('busybox'), join(root, 'bin/busybox'));
  execFileSync(join(root, 'bin/busybox'), ['--install', '-s', join(root, 'bin')]);
  // The installed links contain busybox's path on this host, so the ones needed are replaced with relative links.
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
