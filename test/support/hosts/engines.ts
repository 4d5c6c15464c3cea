import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';
import { inject } from 'vitest';
import { LABELS } from '../../../src/agent/engine/engine.js';
import { find, type Needs, needsRoot, type Tool } from '../tools.js';
import { until } from '../until.js';
import { removeAfterEnd } from './leftovers.js';

/** Real engines from the host's packages. Each uses its own folder, so the host's own containers aren't touched. */
export type EngineName = 'podman' | 'docker';

export interface TestEngine {
  name: EngineName;
  socket: string;
  /** Registries that the engine uses without TLS. Agents treat them as the operator's. */
  registries: readonly string[];
  docker: Docker;
  /** Ends the engine by SIGKILL, as in a crash, or by SIGTERM, as when its service is restarted. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Starts or restarts the engine and waits until it responds. */
  start(): Promise<void>;
  /** Returns all containers with the agent's labels by instance, whether running or not. */
  containers(): Promise<Map<string, { running: boolean; name: string }>>;
  /** Runs a command inside a container and resolves to its output and exit code. */
  exec(instanceId: string, ...command: string[]): Promise<{ code: number; text: string }>;
  pull(image: string): Promise<void>;
  /** Returns the engine's container events since a second of the wall clock, as "action instance", oldest first. */
  events(since: number): Promise<string[]>;
  close(): Promise<void>;
}

/** Tools for tests with containers. Images consist of busybox and are pushed to a registry. Disks are ext4 images. */
const CONTAINERS = ['docker-registry', 'busybox', 'tar', 'mkfs.ext4', 'mount', 'umount'] as const;
const ANSWERS_WITHIN_MS = 60_000;

/** Returns options of tests that run containers on this engine. They need root, the engine, images and other tools. */
export function needsEngine(name: EngineName, ...more: readonly Tool[]): Needs {
  return needsRoot(name === 'podman' ? 'podman' : 'dockerd', ...CONTAINERS, ...more);
}

/** Starts an engine. `registries` are host:port pairs that it uses without TLS. */
export async function startEngine(name: EngineName, registries: string[]): Promise<TestEngine> {
  // The folder's name is short, because the path of a Unix socket may have at most 107 characters.
  const dir = mkdtempSync(join(inject('enginesFolder'), `${name}-`));
  const socket = join(dir, 'engine.sock');
  const docker = new Docker({ socketPath: socket });
  let child: ChildProcess | null = null;
  const launch = name === 'podman' ? podman : dockerd;

  const engine: TestEngine = {
    name,
    socket,
    registries,
    docker,
    async start() {
      const answers = () =>
        docker.ping().then(
          () => true,
          () => false,
        );
      // Restarts dockerd as systemd does. After a SIGKILL, it may exit if containerd is slow to start.
      const startOrAgain = async () => {
        if (child === null || child.exitCode !== null || child.signalCode !== null) {
          child = launch(dir, socket, registries);
        }
        return answers();
      };
      await until(`${name} answers`, startOrAgain, ANSWERS_WITHIN_MS);
    },
    end: (signal) => end(child, signal),
    async containers() {
      const found = await listed(docker);
      return new Map(
        found.map(({ Labels, State, Names }) => [
          Labels[LABELS.instance]!,
          { running: State === 'running', name: Names[0] ?? '' },
        ]),
      );
    },
    async exec(instanceId, ...command) {
      const exec = await docker
        .getContainer(`gpu-${instanceId}`)
        .exec({ Cmd: command, AttachStdout: true, AttachStderr: true });
      const stream = await exec.start({ hijack: true, stdin: false });
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk as Buffer);
      const { ExitCode } = await exec.inspect();
      return { code: ExitCode ?? -1, text: plain(Buffer.concat(chunks)) };
    },
    async pull(image) {
      const stream = await docker.createImage({ fromImage: image });
      for await (const chunk of stream) if (/"error"/.test(String(chunk))) throw new Error(String(chunk));
    },
    async events(since) {
      const until = Math.ceil(Date.now() / 1_000) + 1;
      const stream = await docker.getEvents({ since, until, filters: { type: ['container'] } });
      let text = '';
      for await (const chunk of stream) text += chunk;
      return text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
        .map(({ Action, Actor }) => `${Action} ${Actor.Attributes[LABELS.instance]}`);
    },
    async close() {
      await docker.ping().then(
        () => removeAll(docker),
        () => {},
      );
      await end(child, 'SIGTERM');
      removeAfterEnd(dir);
    },
  };
  await engine.start();
  return engine;
}

/** Lists containers. Retries, because Podman's list fails if a container is erased in the meantime. */
async function listed(docker: Docker, tries = 20): Promise<Docker.ContainerInfo[]> {
  try {
    return await docker.listContainers({ all: true, filters: { label: [LABELS.instance] } });
  } catch (error) {
    if (tries <= 1 || !/container not known|no such container/i.test(String(error))) throw error;
    await new Promise((resolve) => setTimeout(resolve, 50));
    return listed(docker, tries - 1);
  }
}

function podman(dir: string, socket: string, registries: string[]): ChildProcess {
  const conf = join(dir, 'registries.conf');
  writeFileSync(conf, registries.map((at) => `[[registry]]\nlocation = "${at}"\ninsecure = true\n`).join('\n'));
  rmSync(socket, { force: true });
  const runc = find('runc');
  return launchProgram(
    dir,
    'podman',
    [
      ...['--root', join(dir, 'root'), '--runroot', join(dir, 'run'), '--tmpdir', join(dir, 'tmp')],
      ...(runc === null ? [] : ['--runtime', runc]),
      ...['--cgroup-manager', 'cgroupfs', '--events-backend', 'file'],
      ...['system', 'service', '--time=0', `unix://${socket}`],
    ],
    // Podman looks up its packages for each info query, which takes a quarter of a second each in the host's list.
    { CONTAINERS_REGISTRIES_CONF: conf, DPKG_ADMINDIR: join(dir, 'no-packages') },
  );
}

function dockerd(dir: string, socket: string, registries: string[]): ChildProcess {
  return launchProgram(
    dir,
    'dockerd',
    [
      ...[
        '--data-root',
        join(dir, 'root'),
        '--exec-root',
        join(dir, 'exec'),
        '-p',
        join(dir, 'pid'),
        '-H',
        `unix://${socket}`,
      ],
      // Needed in processes that may not raise their own limits.
      ...['--default-ulimit', 'nofile=1024:4096'],
      ...registries.flatMap((at) => ['--insecure-registry', at]),
    ],
    {},
  );
}

function launchProgram(dir: string, program: string, args: string[], env: Record<string, string>): ChildProcess {
  mkdirSync(dir, { recursive: true });
  const log = openSync(join(dir, 'log'), 'a');
  return spawn(find(program)!, args, { stdio: ['ignore', log, log], env: { ...process.env, ...env }, detached: true });
}

async function end(child: ChildProcess | null, signal: NodeJS.Signals): Promise<void> {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await gone;
}

/** Removes every container and volume. */
export async function removeAll(docker: Docker): Promise<void> {
  for (const { Id } of await docker.listContainers({ all: true })) {
    await docker
      .getContainer(Id)
      .remove({ force: true, v: true })
      .catch(() => {});
  }
}

/** Returns the text of frames with eight-byte headers, which the engine sends if there is no terminal. */
function plain(frames: Buffer): string {
  const texts: string[] = [];
  for (let at = 0; at + 8 <= frames.length; ) {
    const size = frames.readUInt32BE(at + 4);
    texts.push(frames.subarray(at + 8, at + 8 + size).toString());
    at += 8 + size;
  }
  return texts.join('');
}
