import type { Writable } from 'node:stream';

/** The host's container engine as used by the agent. There are implementations for Docker and Podman. */

/** Container labels. They hold all of the agent's state about the containers, so that it survives an agent restart. */
export const LABELS = {
  instance: 'gpu-rental.instance',
  machine: 'gpu-rental.machine',
  /** The start that the container was created for. Later starts reuse the container. */
  start: 'gpu-rental.start',
  /** Set instead of the other labels on a container that only tests the host. The value is the machine's id. */
  probe: 'gpu-rental.probe',
} as const;

export interface Container {
  instanceId: string;
  running: boolean;
}

export interface ContainerDetail extends Container {
  /** The engine's own id, which also names the container's control groups. */
  engineId: string;
  machineId: string;
  /** Id of the container's first process on the host, or null if the container is not running. */
  pid: number | null;
  /** Exit code of the last run, or null if it never ran. */
  exitCode: number | null;
  /** Time of the last start, which differs between starts. */
  startedAt: string;
  /** TCP ports that the image exposes, in ascending order. */
  imagePorts: number[];
  /**
   * Device nodes in the container's configuration, by their paths in the container, and the names of devices requested
   * from a driver.
   */
  devices: { nodes: string[]; requested: string[] };
}

/** The mechanism that gives a container its GPUs. */
export type GpuGrant =
  | { kind: 'cdi'; names: string[] }
  | { kind: 'nvidia'; uuids: string[] }
  | { kind: 'nodes'; nodes: { host: string; inside: string }[] };

export interface ContainerSpec {
  instanceId: string;
  machineId: string;
  /** Null for a container that only tests the host and is not one of the machine's instances. */
  start: number | null;
  /** Id of the image in the engine, so that a moved tag has no effect. */
  imageId: string;
  /** Null for the image's own entrypoint. */
  entrypoint: string[] | null;
  /** Null for the image's own command, unless `entrypoint` is set. */
  command: string[] | null;
  env: Record<string, string>;
  /** User in the format of Docker's `--user`, or null for the image's own user. */
  user: string | null;
  vcpus: number;
  /** Processors that the container may use, or null for all. */
  cpus: readonly number[] | null;
  memoryMb: number;
  gpus: GpuGrant | null;
  /** Whether the container has /dev/fuse and may mount file systems. */
  fuse: boolean;
  /** Host directory mounted at /workspace, or null if /workspace is in the container's own layer. */
  workspace: string | null;
  /** Writable host directories with their mount points. A volume mounted at /workspace replaces `workspace`. */
  volumes: readonly { source: string; target: string }[];
  /** Host directory mounted read-only at /run/secrets, or null if there isn't one. */
  secrets: string | null;
  /** Quota for the container's own layer, or null if the storage driver doesn't enforce one. */
  quotaGb: number | null;
}

export interface EngineInfo {
  name: 'docker' | 'podman';
  version: string;
  storageDriver: string;
  /** Where the engine keeps images and containers. */
  rootDir: string;
  /** Names of the engine's runtimes. `nvidia` is the NVIDIA container toolkit's. */
  runtimes: string[];
  cpus: number;
}

export interface PullProgress {
  pulledBytes: number;
  totalBytes: number;
}

/** Registry login for one pull. The engine doesn't store it. */
export interface RegistryLogin {
  registry: string;
  username: string;
  password: string;
}

export interface ExecSpec {
  argv: string[];
  env: Record<string, string>;
  /** Null if the command has no terminal. Standard error is then a separate stream. */
  terminal: { columns: number; rows: number } | null;
  /** Name or id of the user that the command runs as, or null for the container's user. */
  user: string | null;
}

/** A command that runs in a container alongside its first process. */
export interface Exec {
  stdin: Writable;
  /**
   * Resolves when the command has ended and all of its output is written, without ending the writables. A slow writable
   * slows the command down.
   */
  output(stdout: Writable, stderr: Writable): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
  /** `pid` is the process id on the host. It is null if the command has ended or the engine doesn't know it. */
  state(): Promise<{ running: boolean; exitCode: number | null; pid: number | null }>;
  /** Closes the command's streams without killing it. */
  detach(): void;
}

/** A command running in a container, regardless of which program started it. */
export interface RunningCommand {
  argv: string[];
  /** Process id on the host. */
  pid: number;
}

export interface LogsSpec {
  /** Number of lines from the end, or null for all that are kept. Engines may return more lines. */
  tail: number | null;
  /** Unix time in seconds. */
  since: number | null;
  follow: boolean;
}

export interface Engine {
  readonly info: EngineInfo;
  /** Returns the machine's containers, running or not. */
  list(machineId: string): Promise<Container[]>;
  inspect(instanceId: string): Promise<ContainerDetail | null>;
  /** Returns the id of the user that the container's command runs as, even if the container is not running yet. */
  userId(instanceId: string): Promise<number>;
  /** Returns the names of the images on the host with their tags, newest first. */
  imageNames(): Promise<string[]>;
  /** Resolves to null if the host doesn't have the image. */
  imageId(image: string): Promise<string | null>;
  /**
   * Pulls the image with the login if there is one, querying the registry even if the host already has the image. If
   * the signal is aborted, ends early and keeps only complete layers. Rejects with a PullFault.
   */
  pull(
    image: string,
    login: RegistryLogin | null,
    onProgress: (progress: PullProgress) => void,
    signal: AbortSignal,
  ): Promise<void>;
  create(spec: ContainerSpec): Promise<void>;
  /**
   * Prepares a created container as far as possible without starting its first process. Its devices are known
   * afterwards.
   */
  prepare(instanceId: string): Promise<void>;
  /** Creates an image whose root folder contains only this program, and returns its id. */
  importProgram(name: string, program: Buffer): Promise<string>;
  /** Starts the container. Has no effect if it is already running. */
  start(instanceId: string): Promise<void>;
  /** Sends SIGTERM, then SIGKILL after `seconds`. Has no effect if the container is not running. */
  stop(instanceId: string, seconds: number): Promise<void>;
  /** Kills the container and erases it with its writable layer. Has no effect if it doesn't exist. */
  remove(instanceId: string): Promise<void>;
  exec(instanceId: string, spec: ExecSpec): Promise<Exec>;
  /** Returns the running commands that were started through the engine, by this process or any other. */
  commands(instanceId: string): Promise<RunningCommand[]>;
  /**
   * Returns the process groups of running commands that a previous agent started without the engine. Each is returned
   * only once.
   */
  abandoned(): Promise<number[]>;
  /** Returns the container's output with timestamps, in the same form as `Exec.output`, until the signal is aborted. */
  logs(instanceId: string, spec: LogsSpec, signal: AbortSignal): Promise<Pick<Exec, 'output'>>;
  /** Returns the container's address on the engine's network, or null if it has none. */
  address(instanceId: string): Promise<string | null>;
  /** Calls `onEvent` for each event of the machine's containers. Rejects if the engine goes down. */
  watch(machineId: string, opened: () => void, onEvent: () => void, signal: AbortSignal): Promise<void>;
}

/**
 * `unreachable`: the engine didn't respond, so retry later. `missing` and `conflict`: the engine's state is not the
 * expected one, so inspect it again. `refused`: the engine refused with its own message. `final`: the same call can
 * never succeed.
 */
export class EngineFault extends Error {
  constructor(
    readonly kind: 'unreachable' | 'missing' | 'conflict' | 'refused',
    message: string,
    readonly final = false,
  ) {
    super(message);
  }
}

/**
 * A failed pull. The message is a short reason for the renter, while `detail` is the engine's own message for the
 * host's log. `unreachable` means that no connection to the registry could be made.
 */
export class PullFault extends EngineFault {
  readonly detail: string;
  readonly unreachable: boolean;

  constructor(reason: string, { detail, final = false, unreachable = false }: PullFaultDetails) {
    super('refused', reason, final);
    this.detail = detail;
    this.unreachable = unreachable;
  }
}

interface PullFaultDetails {
  detail: string;
  final?: boolean;
  unreachable?: boolean;
}

export function containerName(instanceId: string): string {
  return `gpu-${instanceId}`;
}
