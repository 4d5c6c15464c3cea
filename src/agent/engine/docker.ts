import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import Docker from 'dockerode';
import { MAX_PORTS } from '../../agent-protocol/protocol.js';
import { LineSplitter } from '../../std/untrusted/line-splitter.js';
import { Limiter } from '../limiter.js';
import { engineUser } from './container-user.js';
import { Demux, LogDemux } from './demux.js';
import {
  type Container,
  type ContainerDetail,
  type ContainerSpec,
  containerName,
  type Engine,
  EngineFault,
  type EngineInfo,
  type Exec,
  type ExecSpec,
  LABELS,
  type LogsSpec,
  PullFault,
  type PullProgress,
  type RegistryLogin,
  type RunningCommand,
} from './engine.js';
import { userIdOf } from './image-user.js';
import { keepReading } from './keep-reading.js';
import { tarOfProgram } from './program-image.js';
import { pullFault } from './pull-faults.js';
import { PullCounter, type PullLine } from './pull-progress.js';
import { isSuited, type RuntimeCommands } from './runtime.js';
import { userFilesFault } from './user-files.js';

/** Maximum duration of a call before the engine is considered down. */
const CALL_MS = 30_000;
/**
 * Maximum duration of slow calls. Creating or starting a container runs GPU driver hooks, and erasing one deletes its
 * whole writable layer.
 */
const LONG_CALL_MS = 180_000;
/** A pull fails after this long without progress. */
const PULL_STALLS_MS = 300_000;
const MAX_LINE = 1_000_000;
/** Maximum number of characters to read from the message that says why a command didn't start. */
const MAX_REASON = 10_000;
const LOOKS_EVERY_MS = 20;
/** Maximum concurrent calls of those kinds that are made for every instance. */
const MAX_CONCURRENT_CALLS = 8;
/** Maximum commands to read per instance. Engines also list commands that ended a few minutes ago. */
const MAX_COMMANDS = 2_000;
const RUNNING_STATES = new Set(['running', 'paused', 'restarting', 'stopping']);

/**
 * Renters are root inside the container. These are Docker's default capabilities, except for three that renters don't
 * need and that could affect more than the container: NET_RAW (forged packets on the host's bridge), MKNOD and SETFCAP.
 * apt, useradd and sshd still work.
 */
export const CAPABILITIES = [
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'NET_BIND_SERVICE',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
];
/**
 * Allows mounting FUSE file systems, among many other things. A container with this capability can take over the host.
 */
const MOUNTS = 'SYS_ADMIN';
export const FUSE_DEVICE = '/dev/fuse';
/** Maximum processes and threads per instance. It stops fork bombs but leaves room for data loaders. */
export const MAX_PIDS = 16_384;
/** Maximum size of the container log that the engine keeps on the host's disk, in bytes. */
export const MAX_LOG_BYTES = 10_485_760;
const MAX_PORT = 65_535;
const MAX_OPEN_FILES = 1_048_576;
const BYTES_PER_MB = 1_048_576;

/** Speaks Docker's API, which Podman also implements. */
export class DockerEngine implements Engine {
  readonly info: EngineInfo;
  protected readonly docker: Docker;
  readonly #calls = new Limiter(MAX_CONCURRENT_CALLS);
  readonly #runtimeCommands: RuntimeCommands | null;

  /** Runs all commands through the engine if `runtimeCommands` is null. */
  constructor(socketPath: string, info: EngineInfo, runtimeCommands: RuntimeCommands | null) {
    this.#runtimeCommands = runtimeCommands;
    this.docker = new Docker({ socketPath });
    this.info = info;
  }

  async list(machineId: string): Promise<Container[]> {
    const filters = { label: [`${LABELS.machine}=${machineId}`] };
    const abortSignal = AbortSignal.timeout(CALL_MS);
    const found = await answered(this.docker.listContainers({ all: true, filters, abortSignal }));
    return found
      .filter(({ Labels }) => Labels[LABELS.instance] !== undefined)
      .map(({ Labels, State }) => ({ instanceId: Labels[LABELS.instance]!, running: RUNNING_STATES.has(State) }));
  }

  async inspect(instanceId: string): Promise<ContainerDetail | null> {
    const container = this.docker.getContainer(containerName(instanceId));
    const found = await this.#calls.run(() =>
      unlessMissing(container.inspect({ abortSignal: AbortSignal.timeout(CALL_MS) })),
    );
    if (found === null) return null;
    const running = RUNNING_STATES.has(found.State.Status);
    const ran = !running && !['created', 'configured', 'initialized'].includes(found.State.Status);
    return {
      instanceId,
      engineId: found.Id,
      machineId: found.Config.Labels?.[LABELS.machine] ?? '',
      running,
      pid: running && found.State.Pid > 0 ? found.State.Pid : null,
      exitCode: ran ? Math.min(Math.max(found.State.ExitCode, -1), 255) : null,
      startedAt: found.State.StartedAt,
      imagePorts: tcpPorts(found.Config.ExposedPorts),
      devices: devicesOf(found.HostConfig),
    };
  }

  userId(instanceId: string): Promise<number> {
    return answered(userIdOf(this.docker.getContainer(containerName(instanceId)), CALL_MS));
  }

  async imageNames(): Promise<string[]> {
    const found = await answered(this.docker.listImages({ abortSignal: AbortSignal.timeout(CALL_MS) }));
    const newestFirst = found.sort((one, other) => other.Created - one.Created);
    return newestFirst.flatMap(({ RepoTags }) => RepoTags ?? []).filter((name) => !name.includes('<none>'));
  }

  async imageId(image: string): Promise<string | null> {
    const found = await unlessMissing(this.dial<{ Id: string }>('GET', `/images/${image}/json`, CALL_MS));
    return found?.Id ?? null;
  }

  async pull(
    image: string,
    login: RegistryLogin | null,
    onProgress: (progress: PullProgress) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const stalled = new AbortController();
    const abortSignal = AbortSignal.any([signal, stalled.signal]);
    let timer = setTimeout(() => stalled.abort(), PULL_STALLS_MS);
    const counter = new PullCounter();
    try {
      const { registry: serveraddress, username, password } = login ?? {};
      const options = {
        fromImage: image,
        abortSignal,
        ...(login && { authconfig: { serveraddress, username, password } }),
      };
      const stream = await answered(this.docker.createImage(options) as Promise<Readable>);
      await readLines(stream, (line) => {
        const read = line as PullLine;
        if (read.error !== undefined) throw pullFault(read.error, login !== null);
        clearTimeout(timer);
        timer = setTimeout(() => stalled.abort(), PULL_STALLS_MS);
        counter.add(read);
        onProgress(counter.progress);
      });
    } catch (error) {
      if (stalled.signal.aborted) throw new PullFault('the pull has stalled', { detail: (error as Error).message });
      const isEngines = error instanceof EngineFault && !(error instanceof PullFault) && error.kind !== 'unreachable';
      throw isEngines ? pullFault(error.message, login !== null) : error;
    } finally {
      clearTimeout(timer);
    }
  }

  async create(spec: ContainerSpec): Promise<void> {
    const [files, processes] = ulimits();
    await answered(
      this.docker.createContainer({
        name: containerName(spec.instanceId),
        Hostname: spec.instanceId,
        Image: spec.imageId,
        ...(spec.entrypoint === null ? {} : { Entrypoint: spec.entrypoint }),
        ...(spec.command === null ? {} : { Cmd: spec.command }),
        Env: Object.entries(environment(spec)).map(([name, value]) => `${name}=${value}`),
        ...(spec.user === null ? {} : { User: engineUser(spec.user) }),
        Labels: labels(spec),
        HostConfig: {
          Memory: spec.memoryMb * BYTES_PER_MB,
          MemorySwap: spec.memoryMb * BYTES_PER_MB,
          ShmSize: sharedMemory(spec),
          NanoCpus: Math.min(spec.vcpus, this.info.cpus) * 1_000_000_000,
          ...(spec.cpus === null ? {} : { CpusetCpus: spec.cpus.join() }),
          PidsLimit: MAX_PIDS,
          Ulimits: [
            { Name: 'nofile', Soft: files, Hard: files },
            { Name: 'nproc', Soft: processes, Hard: processes },
          ],
          CapDrop: ['ALL'],
          CapAdd: capabilitiesOf(spec.fuse),
          SecurityOpt: ['no-new-privileges', ...(spec.fuse && hasAppArmor() ? ['apparmor=unconfined'] : [])],
          RestartPolicy: { Name: 'no' },
          LogConfig: { Type: 'json-file', Config: { 'max-size': String(MAX_LOG_BYTES), 'max-file': '1' } },
          Mounts: mountsOf(spec).map(({ source, target, isReadOnly }) => {
            return { Type: 'bind' as const, Source: source, Target: target, ReadOnly: isReadOnly };
          }),
          ...(spec.quotaGb === null ? {} : { StorageOpt: { size: `${spec.quotaGb}G` } }),
          ...deviceOptions(spec),
        },
        abortSignal: AbortSignal.timeout(LONG_CALL_MS),
      }),
    );
  }

  /** Checks only the users, because Docker's container configuration already names the devices. */
  async prepare(instanceId: string): Promise<void> {
    await this.#checkUsers(instanceId);
  }

  /** Rejects if the engine could hang when it reads the container's users. */
  async #checkUsers(instanceId: string): Promise<void> {
    const container = this.docker.getContainer(containerName(instanceId));
    const fault = await answered(userFilesFault(container, CALL_MS));
    if (fault !== null) throw new EngineFault('refused', fault, true);
  }

  async importProgram(name: string, program: Buffer): Promise<string> {
    const abortSignal = AbortSignal.timeout(CALL_MS);
    const options = { fromSrc: '-', repo: name, tag: 'latest', abortSignal };
    const stream = await answered(this.docker.importImage(tarOfProgram(program), options));
    await readLines(stream as Readable, (line) => {
      const { error } = line as { error?: string };
      if (error !== undefined) throw new EngineFault('refused', error);
    });
    const id = await this.imageId(`${name}:latest`);
    if (id === null) throw new EngineFault('refused', 'the image is missing after the import');
    return id;
  }

  async start(instanceId: string): Promise<void> {
    const container = this.docker.getContainer(containerName(instanceId));
    await answered(container.start({ abortSignal: AbortSignal.timeout(LONG_CALL_MS) }), 304);
  }

  async stop(instanceId: string, seconds: number): Promise<void> {
    const container = this.docker.getContainer(containerName(instanceId));
    await this.#calls.run(() => {
      const abortSignal = AbortSignal.timeout(seconds * 1_000 + CALL_MS);
      return answered(container.stop({ t: seconds, abortSignal }), 304, 404);
    });
  }

  async remove(instanceId: string): Promise<void> {
    const container = this.docker.getContainer(containerName(instanceId));
    await this.#calls.run(async () => {
      // Podman's forced removal would wait for the container to react to SIGTERM.
      await answered(container.kill({ abortSignal: AbortSignal.timeout(CALL_MS) }), 404, 409, 500);
      const abortSignal = AbortSignal.timeout(LONG_CALL_MS);
      await answered(container.remove({ force: true, v: true, abortSignal }), 404);
    });
  }

  async watch(machineId: string, opened: () => void, onEvent: () => void, signal: AbortSignal): Promise<void> {
    const filters = { type: ['container'], label: [`${LABELS.machine}=${machineId}`] };
    const events = this.docker.getEvents({ filters, abortSignal: signal } as Docker.GetEventsOptions);
    // Podman doesn't send the response header until the first event. Waiting for another request ensures that the
    // stream is open.
    const stream = events as Promise<Readable>;
    stream.catch(() => {});
    await this.dial('GET', '/_ping', CALL_MS);
    opened();
    await readLines(await answered(stream), (line) => {
      const { Action: action = '' } = line as { Action?: string };
      // Image health checks and commands executed in a container don't change its state.
      if (!action.startsWith('exec') && !action.startsWith('health')) onEvent();
    });
    throw new EngineFault('unreachable', 'the engine closed its event stream');
  }

  async exec(instanceId: string, spec: ExecSpec): Promise<Exec> {
    return (await this.#execByRuntime(instanceId, spec)) ?? this.#execByEngine(instanceId, spec);
  }

  async #execByRuntime(instanceId: string, spec: ExecSpec): Promise<Exec | null> {
    if (this.#runtimeCommands === null || !isSuited(spec)) return null;
    const container = this.docker.getContainer(containerName(instanceId));
    // Bypasses the queue for calls, because a renter can delay this one.
    const find = async () => {
      const found = await unlessMissing(container.inspect({ abortSignal: AbortSignal.timeout(CALL_MS) }));
      if (!found?.State.Pid) return null;
      // Read from the capabilities instead of a label, because images can set labels too.
      const hasFuse = found.HostConfig.CapAdd?.some((name: string) => name.replace(/^CAP_/, '') === MOUNTS) ?? false;
      return { engineId: found.Id, pid: found.State.Pid, capabilities: capabilitiesOf(hasFuse) };
    };
    return this.#runtimeCommands.exec(instanceId, find, spec);
  }

  async #execByEngine(instanceId: string, { argv, env, terminal, user }: ExecSpec): Promise<Exec> {
    await this.#checkUsers(instanceId);
    const container = this.docker.getContainer(containerName(instanceId));
    const hasTty = terminal !== null;
    const exec = await answered(
      container.exec({
        Cmd: argv,
        Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
        ...(user === null ? {} : { User: engineUser(user) }),
        AttachStdin: true,
        AttachStdout: true,
        AttachStderr: true,
        Tty: hasTty,
        abortSignal: AbortSignal.timeout(CALL_MS),
      }),
    );
    // The option's name in Podman and in Docker 23 or later. Older Docker versions ignore it.
    const size =
      terminal === null
        ? {}
        : { ConsoleSize: [terminal.rows, terminal.columns], h: terminal.rows, w: terminal.columns };
    const start = { hijack: true, stdin: true, Tty: hasTty, ...size };
    const stream = (await answered(exec.start(start))) as Socket;
    keepReading(stream);
    if (user !== null) await this.mustBegin(exec, stream);
    const resize = (columns: number, rows: number) => answered(exec.resize({ w: columns, h: rows }) as Promise<void>);
    return {
      stdin: stream,
      output: (stdout, stderr) => outputOf(stream, hasTty ? stdout : new Demux(stdout, stderr)),
      resize,
      state: async () => {
        const { Running, ExitCode, Pid } = await answered(exec.inspect({ abortSignal: AbortSignal.timeout(CALL_MS) }));
        return { running: Running, exitCode: ExitCode ?? null, pid: Running && Pid > 0 ? Pid : null };
      },
      detach: () => stream.destroy(),
    };
  }

  /**
   * Rejects if the command never started, for example because its user is unknown. Docker reports the reason as the
   * command's output.
   */
  protected async mustBegin(exec: Docker.Exec, stream: Socket): Promise<void> {
    for (let waited = 0; waited < CALL_MS; waited += LOOKS_EVERY_MS) {
      const { Running, ExitCode, Pid } = await answered(exec.inspect({ abortSignal: AbortSignal.timeout(CALL_MS) }));
      if (Pid > 0) return;
      if (!Running && ExitCode !== null) throw new EngineFault('refused', await beginningOf(stream), true);
      await sleep(LOOKS_EVERY_MS);
    }
  }

  async commands(instanceId: string): Promise<RunningCommand[]> {
    const container = this.docker.getContainer(containerName(instanceId));
    const abortSignal = AbortSignal.timeout(CALL_MS);
    const { ExecIDs } = (await answered(container.inspect({ abortSignal }))) as { ExecIDs?: string[] | null };
    const found = await Promise.all(
      (ExecIDs ?? []).slice(-MAX_COMMANDS).map((id) => this.#calls.run(() => unlessMissing(this.#command(id)))),
    );
    return found.flatMap((each) => each ?? []);
  }

  async abandoned(): Promise<number[]> {
    return this.#runtimeCommands?.abandoned() ?? [];
  }

  async #command(id: string): Promise<RunningCommand[]> {
    const found = await this.docker.getExec(id).inspect({ abortSignal: AbortSignal.timeout(CALL_MS) });
    const { entrypoint, arguments: rest } = found.ProcessConfig;
    return found.Running && found.Pid > 0 ? [{ argv: [entrypoint, ...(rest ?? [])], pid: found.Pid }] : [];
  }

  async logs(
    instanceId: string,
    { tail, since, follow }: LogsSpec,
    signal: AbortSignal,
  ): Promise<Pick<Exec, 'output'>> {
    const query = {
      follow,
      stdout: true,
      stderr: true,
      timestamps: true,
      tail: tail ?? 'all',
      ...(since === null ? {} : { since }),
    };
    const stream = this.#stream(`/containers/${containerName(instanceId)}/logs?`, query, signal);
    stream.catch(() => {});
    // Podman sends the response header only with the first line, which may take hours. A refusal arrives immediately.
    await Promise.race([answered(stream), ...(follow ? [this.dial('GET', '/_ping', CALL_MS)] : [])]);
    return { output: async (stdout, stderr) => outputOf(await answered(stream), new LogDemux(stdout, stderr)) };
  }

  async address(instanceId: string): Promise<string | null> {
    const container = this.docker.getContainer(containerName(instanceId));
    const found = await answered(container.inspect({ abortSignal: AbortSignal.timeout(CALL_MS) }));
    const { IPAddress, Networks = {} } = found.NetworkSettings as typeof found.NetworkSettings & { IPAddress?: string };
    const addresses = [IPAddress, ...Object.values(Networks).map((network) => network.IPAddress)];
    return addresses.find((address) => address) ?? null;
  }

  /**
   * Streams logs. The library returns a stream only if logs are followed. The path ends with `?` and the query is
   * passed as options, because the library removes the last character of a path that already has a query.
   */
  #stream(path: string, options: object, abortSignal: AbortSignal): Promise<Readable> {
    return new Promise((resolve, reject) => {
      const call = { path, method: 'GET', options, isStream: true, statusCodes: { 200: true, 101: true }, abortSignal };
      this.docker.modem.dial(call, (error, stream) => (error ? reject(error) : resolve(stream as Readable)));
    });
  }

  /** Makes calls that the library doesn't support or can't time out. */
  protected dial<T>(
    method: string,
    path: string,
    withinMs: number,
    options: object = {},
    ...done: number[]
  ): Promise<T> {
    const call = new Promise<T>((resolve, reject) => {
      const statusCodes = Object.fromEntries([200, 201, ...done].map((status) => [status, true]));
      const abortSignal = AbortSignal.timeout(withinMs);
      this.docker.modem.dial({ path, method, options, statusCodes, abortSignal }, (error, answer) =>
        error ? reject(error) : resolve(answer as T),
      );
    });
    return answered(call);
  }
}

/** Returns the devices in the container's engine configuration, which no process in the container can change. */
function devicesOf({ Devices, DeviceRequests }: Docker.HostConfig): ContainerDetail['devices'] {
  const requests = (DeviceRequests ?? []) as { DeviceIDs?: string[] | null }[];
  return {
    nodes: ((Devices ?? []) as { PathInContainer: string }[]).map(({ PathInContainer }) => PathInContainer),
    requested: requests.flatMap(({ DeviceIDs }) => DeviceIDs ?? []),
  };
}

/** Parses keys such as 8080/tcp. */
function tcpPorts(exposed: object | null | undefined): number[] {
  return Object.keys(exposed ?? {})
    .filter((key) => /^\d{1,5}(\/tcp)?$/.test(key))
    .map((key) => Number.parseInt(key, 10))
    .filter((port) => port > 0 && port <= MAX_PORT)
    .sort((a, b) => a - b)
    .slice(0, MAX_PORTS);
}

/** Returns the beginning of a stream as text. The stream must have ended or be about to end. */
async function beginningOf(stream: Socket): Promise<string> {
  let text = '';
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    text += chunk.toString('latin1');
    if (text.length > MAX_REASON) break;
  }
  return text;
}

/**
 * Copies a command's output. With a terminal, the engine sends raw bytes. Without one, it marks each frame with its
 * stream.
 */
async function outputOf(stream: Readable, target: Writable): Promise<void> {
  try {
    await pipeline(stream, target, { end: target instanceof Demux });
  } catch (error) {
    throw new EngineFault('unreachable', (error as Error).message);
  }
}

/** Returns the host directories mounted into the container. */
export function mountsOf({ workspace, volumes, secrets }: ContainerSpec) {
  const hasWorkspace = workspace !== null && !volumes.some(({ target }) => target === '/workspace');
  return [
    ...(hasWorkspace ? [{ source: workspace, target: '/workspace', isReadOnly: false }] : []),
    ...volumes.map((volume) => ({ ...volume, isReadOnly: false })),
    ...(secrets === null ? [] : [{ source: secrets, target: '/run/secrets', isReadOnly: true }]),
  ];
}

export function labels(spec: ContainerSpec): Record<string, string> {
  if (spec.start === null) return { [LABELS.probe]: spec.machineId };
  return {
    [LABELS.instance]: spec.instanceId,
    [LABELS.machine]: spec.machineId,
    [LABELS.start]: String(spec.start),
  };
}

/**
 * Returns the container's environment. If NVIDIA's hooks are installed, they give a container any GPUs named in
 * NVIDIA_VISIBLE_DEVICES, regardless of who set it, so renters must not be able to set it. With CDI, and for containers
 * without GPUs, the hooks must not provide any GPUs.
 */
export function environment({ env, gpus }: ContainerSpec): Record<string, string> {
  return { ...env, NVIDIA_VISIBLE_DEVICES: gpus?.kind === 'nvidia' ? gpus.uuids.join() : 'void' };
}

/**
 * Returns the container's shared memory size, which is half of the instance's memory and counts against it. The
 * engines' default of 64 MB is too small for PyTorch data loaders.
 */
export function sharedMemory(spec: ContainerSpec): number {
  return Math.floor((spec.memoryMb * BYTES_PER_MB) / 2);
}

/**
 * Returns the limits for open files and processes. Engines without CAP_SYS_RESOURCE can't exceed their own limits. The
 * values are therefore capped at the agent's limits, and the number of processes also at the container's own limit.
 */
export function ulimits(): [files: number, processes: number] {
  const text = readFileSync('/proc/self/limits', 'utf8');
  const hard = (name: string) => {
    const value = new RegExp(`^${name}\\s+\\S+\\s+(\\d+)`, 'm').exec(text)?.[1];
    return value === undefined ? Number.POSITIVE_INFINITY : Number(value);
  };
  return [Math.min(hard('Max open files'), MAX_OPEN_FILES), Math.min(hard('Max processes'), MAX_PIDS)];
}

function deviceOptions({ gpus, fuse }: ContainerSpec): Docker.HostConfig {
  const nodes = [
    ...(gpus?.kind === 'nodes' ? gpus.nodes : []),
    ...(fuse ? [{ host: FUSE_DEVICE, inside: FUSE_DEVICE }] : []),
  ];
  const Devices = nodes.map(({ host, inside }) => {
    return { PathOnHost: host, PathInContainer: inside, CgroupPermissions: 'rw' };
  });
  const devices = nodes.length === 0 ? {} : { Devices };
  if (gpus === null || gpus.kind === 'nodes') return devices;
  const [driver, ids] = gpus.kind === 'cdi' ? ['cdi', gpus.names] : ['nvidia', gpus.uuids];
  return { ...devices, DeviceRequests: [{ Driver: driver, DeviceIDs: ids, Capabilities: [['gpu']] }] };
}

/** Returns a container's capabilities, which don't depend on its user. */
export function capabilitiesOf(hasFuse: boolean): string[] {
  return hasFuse ? [...CAPABILITIES, MOUNTS] : CAPABILITIES;
}

/** Whether the kernel uses AppArmor. The engines' AppArmor profiles deny every mount. */
export function hasAppArmor(): boolean {
  try {
    return readFileSync('/sys/module/apparmor/parameters/enabled', 'utf8').startsWith('Y');
  } catch {
    return false;
  }
}

/** Converts any error from a call to an EngineFault. The statuses in `done` count as success. */
async function answered<T>(call: Promise<T>, ...done: number[]): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof EngineFault) throw error;
    const { statusCode, json, message } = error as { statusCode?: number; json?: unknown; message: string };
    if (statusCode === undefined) throw new EngineFault('unreachable', message);
    if (done.includes(statusCode)) return undefined as T;
    const text = (json as { message?: string; cause?: string } | null)?.message ?? message;
    if (statusCode === 404) throw new EngineFault('missing', text);
    if (statusCode === 409) throw new EngineFault('conflict', text);
    throw new EngineFault('refused', text, statusCode < 500);
  }
}

async function unlessMissing<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await answered(call);
  } catch (error) {
    if (error instanceof EngineFault && error.kind === 'missing') return null;
    throw error;
  }
}

/** Reads JSON lines, skips invalid ones, and resolves at the end of the stream. */
async function readLines(stream: Readable, onLine: (line: unknown) => void): Promise<void> {
  const lines = new LineSplitter(MAX_LINE);
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      for (const line of lines.push(chunk)) {
        const read = parse(line);
        if (read !== undefined) onLine(read);
      }
      if (lines.isOverlong) throw new EngineFault('refused', 'the engine sent a line that is too long');
    }
    const last = parse(lines.rest());
    if (last !== undefined) onLine(last);
  } catch (error) {
    if (error instanceof EngineFault) throw error;
    throw new EngineFault('unreachable', (error as Error).message);
  } finally {
    stream.destroy();
  }
}

function parse(line: string): object | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
