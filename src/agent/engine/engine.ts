import type { Writable } from 'node:stream';

/** The host's container engine as the agent uses it; implemented for Docker and Podman. */

/** Labels on the containers hold all of the agent's state about them, so that it survives the agent. */
export const LABELS = {
  instance: 'gpu-rental.instance',
  machine: 'gpu-rental.machine',
  /** The start that the container was created for; later starts use the same container. */
  start: 'gpu-rental.start',
  /** On a container that only tries the host, instead of the other labels: the machine. */
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
  /** Id of its first process on this host; null when it doesn't run. */
  pid: number | null;
  /** Exit code of the last run; null if it never ran. */
  exitCode: number | null;
  /** Different for each start. */
  startedAt: string;
  /** TCP ports that its image exposes, ascending. */
  imagePorts: number[];
  /** Device nodes in its configuration, by their paths inside, and names of devices requested from a driver. */
  devices: { nodes: string[]; requested: string[] };
}

/** Describes how a container is given its GPUs. */
export type GpuGrant =
  | { kind: 'cdi'; names: string[] }
  | { kind: 'nvidia'; uuids: string[] }
  | { kind: 'nodes'; nodes: { host: string; inside: string }[] };

export interface ContainerSpec {
  instanceId: string;
  machineId: string;
  /** Null for a container that only tries the host and is not one of the machine's instances. */
  start: number | null;
  /** Id of the image, as the engine names it, so that moving a tag changes nothing. */
  imageId: string;
  /** Null: the image's own entrypoint. */
  entrypoint: string[] | null;
  /** Null: the image's own command, unless `entrypoint` is set. */
  command: string[] | null;
  env: Record<string, string>;
  /** User in the form of Docker's `--user`; null: the image's own. */
  user: string | null;
  vcpus: number;
  /** Processors that it may use; null: all. */
  cpus: readonly number[] | null;
  memoryMb: number;
  gpus: GpuGrant | null;
  /** Whether it has /dev/fuse and may mount file systems. */
  fuse: boolean;
  /** Host directory that becomes /workspace; null when the container's own layer holds it. */
  workspace: string | null;
  /** Host directories that the container can write at these paths; one at /workspace replaces `workspace`. */
  volumes: readonly { source: string; target: string }[];
  /** Host directory mounted read-only at /run/secrets; null for none. */
  secrets: string | null;
  /** Quota for the container's own layer, if the storage driver enforces one; null for no quota. */
  quotaGb: number | null;
}

export interface EngineInfo {
  name: 'docker' | 'podman';
  version: string;
  storageDriver: string;
  /** Where the engine keeps images and containers. */
  rootDir: string;
  /** Engine runtimes by name; `nvidia` is the NVIDIA container toolkit. */
  runtimes: string[];
  cpus: number;
}

export interface PullProgress {
  pulledBytes: number;
  totalBytes: number;
}

/** Login passed to the engine for one pull; the engine keeps nothing of it. */
export interface RegistryLogin {
  registry: string;
  username: string;
  password: string;
}

export interface ExecSpec {
  argv: string[];
  env: Record<string, string>;
  /** Null: no terminal, and standard error is a separate stream. */
  terminal: { columns: number; rows: number } | null;
  /** Name or id of the user to run as; null: the container's. */
  user: string | null;
}

/** A command that runs in a container next to its first process. */
export interface Exec {
  stdin: Writable;
  /**
   * Resolves when it has ended and all of its output is written; doesn't end the writables. A slow writable slows it
   * down.
   */
  output(stdout: Writable, stderr: Writable): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
  /** `pid` on this host; null when it has ended or the engine does not know it. */
  state(): Promise<{ running: boolean; exitCode: number | null; pid: number | null }>;
  /** Closes its streams without killing it. */
  detach(): void;
}

/** A command that runs in a container, regardless of who started it. */
export interface RunningCommand {
  argv: string[];
  /** Process id on this host. */
  pid: number;
}

export interface LogsSpec {
  /** Null for all lines that are kept. Engines may return more lines. */
  tail: number | null;
  /** Seconds since 1970. */
  since: number | null;
  follow: boolean;
}

export interface Engine {
  readonly info: EngineInfo;
  /** Containers of one machine, running or not. */
  list(machineId: string): Promise<Container[]>;
  inspect(instanceId: string): Promise<ContainerDetail | null>;
  /** Returns the id of the user that the container's command runs as; the container doesn't have to run yet. */
  userId(instanceId: string): Promise<number>;
  /** Names of the images on the host, with their tags; the newest first. */
  imageNames(): Promise<string[]>;
  /** Null when the host doesn't have the image. */
  imageId(image: string): Promise<string | null>;
  /**
   * Queries the registry, even where the image is on the host; with the login, if there is one. When the signal is
   * aborted, ends early and leaves only finished layers. Rejects with a PullFault.
   */
  pull(
    image: string,
    login: RegistryLogin | null,
    onProgress: (progress: PullProgress) => void,
    signal: AbortSignal,
  ): Promise<void>;
  create(spec: ContainerSpec): Promise<void>;
  /**
   * Prepares a created container, as far as the engine can without its first process: its devices are known afterwards.
   */
  prepare(instanceId: string): Promise<void>;
  /** Makes an image whose root folder holds only this program; returns its id. */
  importProgram(name: string, program: Buffer): Promise<string>;
  /** Has no effect when it runs already. */
  start(instanceId: string): Promise<void>;
  /** Sends SIGTERM, and SIGKILL after `seconds`; has no effect when it doesn't run. */
  stop(instanceId: string, seconds: number): Promise<void>;
  /** Kills it, and erases it with its writable layer; has no effect when it doesn't exist. */
  remove(instanceId: string): Promise<void>;
  exec(instanceId: string, spec: ExecSpec): Promise<Exec>;
  /** Running commands that the engine began, for this process or any other. */
  commands(instanceId: string): Promise<RunningCommand[]>;
  /** Process groups of running commands that a previous agent began without the engine. Returns each only once. */
  abandoned(): Promise<number[]>;
  /** Output of the container with times, in the form of `Exec.output`. Ends with the signal. */
  logs(instanceId: string, spec: LogsSpec, signal: AbortSignal): Promise<Pick<Exec, 'output'>>;
  /** Address on the engine's network; null when it has none. */
  address(instanceId: string): Promise<string | null>;
  /** Calls back for each event of the machine's containers. Rejects when the engine goes down. */
  watch(machineId: string, opened: () => void, onEvent: () => void, signal: AbortSignal): Promise<void>;
}

/**
 * `unreachable`: no answer; try again later. `missing` and `conflict`: the engine's state is not the expected one;
 * inspect again. `refused`: the engine refused, with its own message. `final`: the same call can never succeed.
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
 * A failed pull. The message is a short reason for the renter; `detail`, the engine's own text, is for the host's log.
 * `unreachable`: no connection to the registry was made.
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
