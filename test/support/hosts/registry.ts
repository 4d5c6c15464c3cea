import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { inject } from 'vitest';
import { freePort } from '../free-port.js';
import { find } from '../tools.js';
import { until } from '../until.js';

/** Debian's registry with images that consist of busybox. It can also be used over a slow connection. */
export interface TestRegistry {
  /** The registry's host:port. `slowAt` is the same registry at a speed of `bytesPerSecond`. */
  at: string;
  slowAt: string;
  /** The same registry behind a login. */
  closedAt: string;
  login: { username: string; password: string };
  bytesPerSecond: number;
  /** How the slow registry damages layers: it aborts in the middle or alters a byte. */
  damage: 'none' | 'reset' | 'altered';
  /**
   * Pushes an image with the tags latest and 1. The default command runs in busybox's own shell, as a renter's would,
   * and waits for SIGTERM.
   */
  push(name: string, options?: ImageOptions): Promise<void>;
  /** Removes the image from the registry. */
  remove(name: string): void;
  close(): Promise<void>;
}

export interface ImageOptions {
  entrypoint?: string[];
  command?: string[];
  /** The user that runs the command. */
  user?: string;
  extraBytes?: number;
  glibc?: boolean;
  /** Paths of this computer's programs that are copied into the image. */
  programs?: string[];
  /** Files or folders of this computer by their path in the image. */
  files?: Record<string, string>;
  /** Ports that the image exposes. */
  ports?: number[];
}

/** Waits without using the processor. A loop of short sleeps would start ten processes per second and container. */
export const UNTIL_TERM = 'trap "exit 0" TERM; sleep 1000000 & wait';
/** The registry's state at the start of a test file. */
export const REGISTRY_DEFAULTS: Pick<TestRegistry, 'bytesPerSecond' | 'damage'> = {
  bytesPerSecond: 6_000_000,
  damage: 'none',
};
/** The beginning of the names of the registry's images. */
export const REGISTRY_HOST = '127.0.0.1:';
const RUNS_UNTIL_TERM = ['/bin/sh', '-c', UNTIL_TERM];
const MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json';

export async function startRegistry(): Promise<TestRegistry> {
  const dir = mkdtempSync(join(inject('enginesFolder'), 'registry-'));
  const port = await freePort();
  const at = `${REGISTRY_HOST}${port}`;
  const config = join(dir, 'config.yml');
  writeFileSync(
    config,
    `version: 0.1\nstorage: {filesystem: {rootdirectory: ${dir}/data}}\nhttp: {addr: '${at}'}\nlog: {level: error}\n`,
  );
  const child = spawn(find('docker-registry')!, ['serve', config], { stdio: 'ignore' });
  const base = `http://${at}`;
  await until(
    'the registry answers',
    () =>
      fetch(`${base}/v2/`).then(
        ({ ok }) => ok,
        () => false,
      ),
    15_000,
  );
  const busybox = busyboxLayer(dir);
  const registry: TestRegistry = {
    at,
    slowAt: '',
    closedAt: '',
    login: { username: 'me', password: `hush-${randomBytes(12).toString('hex')}` },
    ...REGISTRY_DEFAULTS,
    async push(name, options = {}) {
      const {
        command = RUNS_UNTIL_TERM,
        extraBytes = 0,
        glibc = false,
        programs = [],
        files = {},
        ports = [],
        user,
        entrypoint,
      } = options;
      const layers = [
        busybox,
        ...(glibc ? [glibcLayer(dir)] : []),
        ...(programs.length === 0 ? [] : [programsLayer(dir, programs)]),
        ...(extraBytes === 0 ? [] : [randomLayer(dir, extraBytes)]),
        ...(Object.keys(files).length === 0 ? [] : [filesLayer(dir, name, files)]),
      ];
      await pushImage(base, name, layers, {
        Cmd: command,
        ...(entrypoint !== undefined && { Entrypoint: entrypoint }),
        ...(user !== undefined && { User: user }),
        ExposedPorts: Object.fromEntries(ports.map((port) => [`${port}/tcp`, {}])),
      });
    },
    remove(name) {
      rmSync(join(dir, 'data/docker/registry/v2/repositories', name), { recursive: true, force: true });
    },
    async close() {
      for (const server of [slow, closed]) {
        server.closeAllConnections();
        server.close();
      }
      await ended(child);
      rmSync(dir, { recursive: true, force: true });
    },
  };
  const slow = slowLine(port, registry);
  const closed = behindLogin(registry);
  registry.slowAt = await listening(slow);
  registry.closedAt = await listening(closed);
  return registry;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await gone;
}

function busyboxLayer(dir: string): Buffer {
  const root = join(dir, 'busybox');
  for (const name of ['bin', 'tmp', 'etc', 'workspace']) mkdirSync(join(root, name), { recursive: true });
  copyFileSync(find('busybox')!, join(root, 'bin/busybox'));
  for (const applet of [
    'sh',
    'sleep',
    'cat',
    'ls',
    'dd',
    'echo',
    'id',
    'rm',
    'env',
    'false',
    'sync',
    'grep',
    'df',
    'mkdir',
    'test',
    // SSH, terminals and other ways into a container use these.
    'stat',
    'xargs',
    'head',
    'tail',
    'mv',
    'chmod',
    'chown',
    'touch',
    'readlink',
    'ln',
    'truncate',
    'rmdir',
    'nc',
    'stty',
    'tty',
    'kill',
    'yes',
    'md5sum',
    'httpd',
    'pwd',
    'tar',
  ])
    symlinkSync('busybox', join(root, 'bin', applet));
  return tar(dir, 'busybox');
}

/** Returns a layer with the host's C library, which programs of the GPU driver need because they aren't static. */
function glibcLayer(dir: string): Buffer {
  const loader = process.arch === 'arm64' ? '/lib/ld-linux-aarch64.so.1' : '/lib64/ld-linux-x86-64.so.2';
  const libraries = process.arch === 'arm64' ? '/lib/aarch64-linux-gnu' : '/lib/x86_64-linux-gnu';
  const names = ['libc.so.6', 'libm.so.6', 'libdl.so.2', 'libpthread.so.0', 'librt.so.1'];
  for (const path of [loader, ...names.map((name) => join(libraries, name))]) {
    mkdirSync(dirname(join(dir, 'glibc', path)), { recursive: true });
    copyFileSync(path, join(dir, 'glibc', path));
  }
  return tar(dir, 'glibc');
}

/** Returns a layer with programs and the libraries that they are linked to. */
function programsLayer(dir: string, programs: readonly string[]): Buffer {
  const linked = execFileSync('ldd', [...programs], { encoding: 'utf8' }).match(/\/\S+(?= \(0x)/g) ?? [];
  for (const path of new Set([...programs, ...linked])) {
    mkdirSync(dirname(join(dir, 'programs', path)), { recursive: true });
    copyFileSync(path, join(dir, 'programs', path));
  }
  // SFTP servers look up their own user.
  mkdirSync(join(dir, 'programs/etc'), { recursive: true });
  writeFileSync(join(dir, 'programs/etc/passwd'), 'root:x:0:0:root:/:/bin/bash\n');
  return tar(dir, 'programs');
}

function filesLayer(dir: string, name: string, files: Record<string, string>): Buffer {
  for (const [path, source] of Object.entries(files)) {
    const target = join(dir, `files-${name}`, path);
    mkdirSync(dirname(target), { recursive: true });
    cpSync(source, target, { recursive: true, dereference: true });
  }
  return tar(dir, `files-${name}`);
}

function randomLayer(dir: string, size: number): Buffer {
  mkdirSync(join(dir, 'random'), { recursive: true });
  writeFileSync(join(dir, 'random', 'blob'), randomBytes(size));
  return tar(dir, 'random');
}

function tar(dir: string, name: string): Buffer {
  execFileSync('tar', ['-C', join(dir, name), '-cf', join(dir, `${name}.tar`), '.']);
  return readFileSync(join(dir, `${name}.tar`));
}

async function pushImage(base: string, name: string, layers: Buffer[], settings: object): Promise<void> {
  const config = Buffer.from(
    JSON.stringify({
      architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
      os: 'linux',
      config: { Env: ['PATH=/bin:/usr/bin'], WorkingDir: '/', ...settings },
      rootfs: { type: 'layers', diff_ids: layers.map(digest) },
    }),
  );
  const pushed = async (mediaType: string, blob: Buffer) => {
    await pushBlob(base, name, blob);
    return { mediaType, size: blob.length, digest: digest(blob) };
  };
  const manifest = {
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: await pushed('application/vnd.docker.container.image.v1+json', config),
    layers: [] as object[],
  };
  for (const layer of layers) manifest.layers.push(await pushed('application/vnd.docker.image.rootfs.diff.tar', layer));
  for (const tag of ['latest', '1']) {
    const answer = await fetch(`${base}/v2/${name}/manifests/${tag}`, {
      method: 'PUT',
      headers: { 'content-type': MANIFEST },
      body: JSON.stringify(manifest),
    });
    if (answer.status !== 201) throw new Error(`manifest: ${answer.status} ${await answer.text()}`);
  }
}

async function pushBlob(base: string, name: string, blob: Buffer): Promise<void> {
  const begun = await fetch(`${base}/v2/${name}/blobs/uploads/`, { method: 'POST' });
  const at = new URL(begun.headers.get('location')!, base);
  at.searchParams.set('digest', digest(blob));
  const answer = await fetch(at, {
    method: 'PUT',
    headers: { 'content-type': 'application/octet-stream' },
    body: new Uint8Array(blob),
  });
  if (answer.status !== 201) throw new Error(`blob: ${answer.status} ${await answer.text()}`);
}

function digest(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** Forwards requests to the registry and limits responses to `bytesPerSecond`. */
function slowLine(port: number, registry: Pick<TestRegistry, 'bytesPerSecond' | 'damage'>): Server {
  return createServer((incoming, outgoing) => {
    const { url, method, headers } = incoming;
    const onward = request({ host: '127.0.0.1', port, path: url, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.on('data', (chunk: Buffer) => {
        const isLayer = (url ?? '').includes('/blobs/') && chunk.length >= 4_096;
        if (isLayer && registry.damage === 'reset') return outgoing.destroy();
        if (isLayer && registry.damage === 'altered') chunk[1_000]! ^= 1;
        outgoing.write(chunk);
        if (chunk.length < 4_096) return;
        answer.pause();
        setTimeout(() => answer.resume(), (chunk.length / registry.bytesPerSecond) * 1_000);
      });
      answer.on('end', () => outgoing.end());
      answer.on('error', () => outgoing.destroy());
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
}

/** Returns a server that forwards to the registry but requires a login. */
function behindLogin({ at, login }: TestRegistry): Server {
  const allowed = `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`;
  return createServer((incoming, outgoing) => {
    const { url, method, headers } = incoming;
    if (headers.authorization !== allowed) {
      outgoing.writeHead(401, { 'www-authenticate': 'Basic realm="private"', 'content-type': 'application/json' });
      return outgoing.end('{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}');
    }
    const onward = request(`http://${at}${url}`, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
}

/** Starts listening and resolves to host:port. */
async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
