// Checks that this host's real GPUs reach a container through the agent, without a gateway or a registry:
//   node scripts/gpu-check.mjs [SOCKET OF DOCKER OR PODMAN]
// The agent runs as usual, and this program implements the gateway's side of the protocol.
import { execFile, execFileSync, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import Docker from 'dockerode';

const MAIN = join(dirname(fileURLToPath(import.meta.url)), '../dist/src/agent/main.js');
const TOKEN = `gpu_host_${'c'.repeat(40)}`;
const MACHINE = 'm-gpu-check';
const ID = 'i-00c0ffee';
const IMAGE = 'localhost/gpu-check';
const WITHIN_MS = 120_000;
/** Libraries that nvidia-smi opens in addition to the driver's. */
const LIBRARIES = ['libc.so.6', 'libm.so.6', 'libdl.so.2', 'libpthread.so.0', 'librt.so.1'];

const socket = process.argv[2] ?? ['/run/docker.sock', '/run/podman/podman.sock'].find((path) => existsSync(path));
if (socket === undefined) throw new Error('name the socket of Docker or Podman');
const docker = new Docker({ socketPath: socket });
const dir = mkdtempSync(join(tmpdir(), 'gpu-check-'));
const wishes = { generation: 0, instances: [] };
const seen = [];
const wake = new Set();

const gateway = createServer(answer).listen(0, '127.0.0.1');
await new Promise((resolve) => gateway.once('listening', resolve));
const url = `http://127.0.0.1:${gateway.address().port}`;
let agent;
try {
  const hardware = JSON.parse(execFileSync(process.execPath, [MAIN, 'hardware', ...place()], { encoding: 'utf8' }));
  console.log('hardware:', JSON.stringify(hardware, null, 2));
  if (hardware.gpus.length === 0) throw new Error('nvidia-smi found no GPUs on this host');
  await makeImage();
  // Doesn't use execFileSync, because this process has to answer the agent's request.
  const joined = await promisify(execFile)(process.execPath, [MAIN, 'join', url, 'code', ...place()]);
  console.log(joined.stdout);
  agent = spawn(process.execPath, [MAIN, 'run', ...place()], { stdio: 'inherit' });
  const began = performance.now();
  wish('running', hardware.gpus.length);
  await phase('RUNNING');
  console.log(`RUNNING ${Math.round(performance.now() - began)} ms after the desired state was sent`);
  const listed = await inside('/usr/bin/nvidia-smi', '-L');
  console.log('nvidia-smi -L inside:', listed.trim());
  const missing = hardware.gpus.filter(({ uuid }) => !listed.includes(uuid));
  if (missing.length > 0) throw new Error(`missing in the container: ${missing.map(({ uuid }) => uuid)}`);
  console.log(await inside('/usr/bin/nvidia-smi'));
  await erase();
  console.log('1 passed, 0 failed');
} catch (error) {
  console.error(error);
  console.log('0 passed, 1 failed');
  process.exitCode = 1;
  if (agent !== undefined) await erase().catch((fault) => console.error(fault));
} finally {
  agent?.kill('SIGTERM');
  await docker
    .getContainer(`gpu-${ID}`)
    .remove({ force: true, v: true })
    .catch(() => {});
  await docker
    .getImage(IMAGE)
    .remove({ force: true })
    .catch(() => {});
  gateway.closeAllConnections();
  gateway.close();
  rmSync(dir, { recursive: true, force: true });
}

function place() {
  return ['--data-dir', join(dir, 'data'), '--engine', socket];
}

function wish(wanted, gpus) {
  wishes.generation += 1;
  const rest = {
    image: IMAGE,
    fromTemplate: true,
    command: ['/bin/sh', '-c', 'while :; do /bin/sleep 1; done'],
    env: { PATH: '/usr/bin:/bin' },
  };
  const size = { gpus, vcpus: 2, memoryMb: 4_096, diskGb: 1, ports: [] };
  wishes.instances = [{ id: ID, phase: wanted, start: 1, ...rest, ...size }];
  for (const end of wake) end();
}

async function erase() {
  wish('absent', 0);
  await phase('ERASED');
}

async function phase(name) {
  const end = performance.now() + WITHIN_MS;
  for (;;) {
    const last = seen.at(-1)?.instances[0];
    if (last?.phase === name) return;
    if (last?.phase === 'FAILED' && name === 'RUNNING') throw new Error(last.message);
    if (performance.now() > end) throw new Error(`no ${name}; last: ${JSON.stringify(seen.at(-1))}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function inside(...command) {
  const exec = await docker
    .getContainer(`gpu-${ID}`)
    .exec({ Cmd: command, AttachStdout: true, AttachStderr: true, Tty: true });
  const stream = await exec.start({ hijack: true, stdin: false, Tty: true });
  let text = '';
  for await (const chunk of stream) text += chunk;
  return text;
}

/**
 * Builds an image that contains a shell and its libraries, copied from this host. The driver's nvidia-smi needs only
 * this C library.
 */
async function makeImage() {
  const root = join(dir, 'image');
  for (const name of ['bin', 'dev', 'proc', 'sys', 'etc', 'tmp', 'usr/bin', 'workspace'])
    mkdirSync(join(root, name), { recursive: true });
  const files = new Set();
  for (const name of ['sh', 'sleep', 'ls']) {
    const program = realpathSync(`/bin/${name}`);
    copyFileSync(program, join(root, 'bin', name));
    for (const [path] of execFileSync('ldd', [program], { encoding: 'utf8' }).matchAll(/\/\S+/g)) files.add(path);
  }
  const libc = [...files].find((path) => basename(path) === 'libc.so.6');
  for (const name of LIBRARIES) files.add(join(dirname(libc), name));
  for (const path of [...files].filter((file) => existsSync(file))) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    copyFileSync(realpathSync(path), join(root, path));
  }
  const tar = join(dir, 'image.tar');
  execFileSync('tar', ['-C', root, '-cf', tar, '.']);
  const text = await new Promise((resolve, reject) => {
    docker.importImage(tar, { repo: IMAGE, tag: 'latest' }, (error, answered) => {
      if (error) return reject(error);
      let told = '';
      answered.on('data', (chunk) => {
        told += chunk;
      });
      answered.on('end', () => resolve(told));
      answered.on('error', reject);
    });
  });
  console.log('image:', text.trim(), readFileSync(tar).length, 'bytes');
}

async function answer(request, response) {
  let body = '';
  for await (const chunk of request) body += chunk;
  const { pathname, searchParams } = new URL(request.url, url);
  const send = (status, value) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(value && JSON.stringify(value));
  if (pathname === '/agent/v1/join') return send(201, { machineId: MACHINE, token: TOKEN, gpu: 'check' });
  if (pathname === '/agent/v1/report') {
    seen.push(JSON.parse(body));
    return send(200, { generation: wishes.generation });
  }
  if (Number(searchParams.get('after')) === wishes.generation) {
    await new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        wake.delete(end);
        resolve();
      };
      const timer = setTimeout(end, Number(searchParams.get('wait')) * 1_000);
      wake.add(end);
    });
  }
  if (Number(searchParams.get('after')) === wishes.generation) return send(204);
  send(200, wishes);
}
