import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';
import { DockerEngine } from './docker.js';
import type { Engine, EngineInfo } from './engine.js';
import { PodmanEngine } from './podman.js';
import type { RuntimeCommands } from './runtime.js';

/**
 * Time limits for successive attempts. An engine that has just started, or whose host is busy, may take this long to
 * respond.
 */
const ANSWERS_WITHIN_MS = [10_000, 20_000, 30_000];
/** Error codes that mean that no program is listening on the socket, so waiting is pointless. */
const NO_LISTENER = ['ENOENT', 'ECONNREFUSED', 'EACCES', 'ENOTSOCK'];
const PODMAN = ['/usr/bin/podman', '/usr/local/bin/podman'];

/** Thrown if there is no usable engine. The message explains in one line how to get one. */
export class NoEngine extends Error {
  constructor(
    message: string,
    /** Whether an engine is listening and may respond later. */
    readonly mayAnswerLater = false,
  ) {
    super(message);
  }
}

/**
 * Opens the engine at the given socket or, if none is given, at the first of the usual sockets that responds.
 * `runtimeDir` contains a user's own engine socket (XDG_RUNTIME_DIR). `tried` is the number of previous attempts.
 */
export async function openEngine(
  socketPath: string | null,
  runtimeDir: string | null,
  runtimeCommands: RuntimeCommands | null = null,
  tried = 0,
  answersWithinMs: readonly number[] = ANSWERS_WITHIN_MS,
): Promise<Engine> {
  const candidates = socketPath === null ? defaultSockets(runtimeDir).filter((path) => existsSync(path)) : [socketPath];
  const withinMs = answersWithinMs[Math.min(tried, answersWithinMs.length - 1)]!;
  const faults: string[] = [];
  let mayAnswerLater = false;
  for (const candidate of candidates) {
    const since = performance.now();
    try {
      return await openSocket(candidate, runtimeCommands, withinMs);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      mayAnswerLater ||= !NO_LISTENER.includes(code ?? '');
      faults.push(`${candidate} is not responding: ${whyNoAnswer(message, performance.now() - since, withinMs)}`);
    }
  }
  const isPodmanThere = PODMAN.some((path) => existsSync(path));
  if (faults.length === 0) throw new NoEngine(`${noSocket(isPodmanThere)}; use --engine SOCKET for one elsewhere`);
  // If Podman was started manually and has exited, its socket still exists but nothing listens on it.
  const advice =
    isPodmanThere && socketPath === null && !mayAnswerLater ? `; start Podman's service with ${startOfPodman()}` : '';
  throw new NoEngine(`${faults.join('; ')}${advice}`, mayAnswerLater);
}

/**
 * Replaces the misleading message of the engine's client, which reports its own timeout as if the engine had closed the
 * connection.
 */
function whyNoAnswer(message: string, tookMs: number, withinMs: number): string {
  if (tookMs >= withinMs) return `no response within ${withinMs / 1_000} s`;
  return message === 'socket hang up' ? 'it closed the connection without responding' : message;
}

function noSocket(isPodmanThere: boolean): string {
  return isPodmanThere
    ? `Podman is installed, but its service is not running; start it with ${startOfPodman()}`
    : `no container engine found; on Debian, run \`apt-get install podman\`, then ${startOfPodman()}; or install Docker`;
}

/**
 * Returns the systemd command where systemd is running, otherwise (such as in a container) Podman's service command.
 */
function startOfPodman(): string {
  const own = process.getuid?.() === 0 ? '' : ' --user';
  if (existsSync('/run/systemd/system')) return `\`systemctl${own} enable --now podman.socket\``;
  const dir = own === '' ? '/run/podman' : '"$XDG_RUNTIME_DIR/podman"';
  const socket = own === '' ? '/run/podman' : '$XDG_RUNTIME_DIR/podman';
  return `\`mkdir -p ${dir} && podman system service --time=0 "unix://${socket}/podman.sock" &\``;
}

function defaultSockets(runtimeDir: string | null): string[] {
  return [
    '/run/docker.sock',
    '/run/podman/podman.sock',
    ...(runtimeDir === null ? [] : [join(runtimeDir, 'docker.sock'), join(runtimeDir, 'podman/podman.sock')]),
  ];
}

async function openSocket(
  socketPath: string,
  runtimeCommands: RuntimeCommands | null,
  withinMs: number,
): Promise<Engine> {
  const docker = new Docker({ socketPath, timeout: withinMs });
  const info = await docker.info();
  // Only Podman builds with Buildah. `version` would show it too, but Podman checks its packages for each of the two
  // calls, which takes half a second of CPU time on Debian.
  const podman = 'BuildahVersion' in info;
  const read: EngineInfo = {
    name: podman ? 'podman' : 'docker',
    version: info.ServerVersion,
    storageDriver: info.Driver ?? '',
    rootDir: info.DockerRootDir ?? '',
    runtimes: Object.keys(info.Runtimes ?? {}),
    cpus: info.NCPU ?? 1,
  };
  return new (podman ? PodmanEngine : DockerEngine)(socketPath, read, runtimeCommands);
}
