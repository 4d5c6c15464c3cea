import type { Writable } from 'node:stream';

/** The container engine of the host, as the agent uses it: Docker and Podman stand behind this. */

/** Labels on the containers hold all that the agent knows, so that it survives the agent. */
export const LABELS = {
  instance: 'gpu-rental.instance',
  machine: 'gpu-rental.machine',
  /** The start that the container was created for; later starts use the same container. */
  start: 'gpu-rental.start',
  /** On a container that only tries the host, instead of the others: the machine. */
  probe: 'gpu-rental.probe',
} as const;

export interface Container {
  instanceId: string;
  running: boolean;
}

export interface ContainerDetail extends Container {
  /** By which the engine itself knows it; its control groups are named by it. */
  engineId: string;
  machineId: string;
  /** Of its first process, on this host; null when it doesn't run. */
  pid: number | null;
  /** Of its last end; null when it never ran. */
  exitCode: number | null;
  /** Different for each time that it was started. */
  startedAt: string;
  /** TCP ports that its image names, ascending. */
  imagePorts: number[];
  /** Device nodes that its configuration gives it, by their paths inside, and names of devices asked of a driver. */
  devices: { nodes: string[]; requested: string[] };
}

/** How a container is given its GPUs. */
export type GpuGrant =
  | { kind: 'cdi'; names: string[] }
  | { kind: 'nvidia'; uuids: string[] }
  | { kind: 'nodes'; nodes: { host: string; inside: string }[] };

export interface ContainerSpec {
  instanceId: string;
  machineId: string;
  /** Null: it only tries the host, and is none of the machine's instances. */
  start: number | null;
  /** As the engine names it: the id, so that a tag that moved changes nothing. */
  imageId: string;
  /** Null: the image's own. */
  entrypoint: string[] | null;
  /** Null: the image's own, unless it has another entrypoint. */
  command: string[] | null;
  env: Record<string, string>;
  vcpus: number;
  /** The processors that it may use; null: all. */
  cpus: readonly number[] | null;
  memoryMb: number;
  gpus: GpuGrant | null;
  /** Host directory that becomes /workspace; null when the container's own layer holds it. */
  workspace: string | null;
  /** Host directories that the container writes at these paths; one at /workspace is there instead of that. */
  volumes: readonly { source: string; target: string }[];
  /** Host directory that becomes /run/secrets, which can't be written; null for none. */
  secrets: string | null;
  /** Size of the container's own layer, where the storage driver keeps it; null for no quota. */
  quotaGb: number | null;
}

export interface EngineInfo {
  name: 'docker' | 'podman';
  version: string;
  storageDriver: string;
  /** Where the engine keeps images and containers. */
  rootDir: string;
  /** Engine runtimes by name; `nvidia` stands for the NVIDIA container toolkit. */
  runtimes: string[];
  cpus: number;
}

export interface PullProgress {
  pulledBytes: number;
  totalBytes: number;
}

/** Handed to the engine for one pull, which keeps nothing of it. */
export interface RegistryLogin {
  registry: string;
  username: string;
  password: string;
}

export interface ExecSpec {
  argv: string[];
  env: Record<string, string>;
  /** Null: no terminal, and standard error is a stream of its own. */
  terminal: { columns: number; rows: number } | null;
}

/** A command that runs in a container beside its first process. */
export interface Exec {
  stdin: Writable;
  /** Resolves when it has ended and all that it wrote is written; neither is ended. A slow writable slows it down. */
  output(stdout: Writable, stderr: Writable): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
  /** `pid` on this host; null when it has ended or the engine does not know it. */
  state(): Promise<{ running: boolean; exitCode: number | null; pid: number | null }>;
  /** Closes its streams without killing it. */
  detach(): void;
}

/** A command that runs in a container, whoever started it. */
export interface RunningCommand {
  argv: string[];
  /** On this host. */
  pid: number;
}

export interface LogsSpec {
  /** Null for all that is kept. Engines may give more lines. */
  tail: number | null;
  /** Seconds since 1970. */
  since: number | null;
  follow: boolean;
}

export interface Engine {
  readonly info: EngineInfo;
  /** The containers of one machine, running or not. */
  list(machineId: string): Promise<Container[]>;
  inspect(instanceId: string): Promise<ContainerDetail | null>;
  /** The id of the user that the command of a container runs as, which need not run yet. */
  userId(instanceId: string): Promise<number>;
  /** Names of the images that are on the host, with their tags; the newest first. */
  imageNames(): Promise<string[]>;
  /** Null when the image is not there. */
  imageId(image: string): Promise<string | null>;
  /**
   * Asks the registry, also where the image is on the host; with the login, if there is one. Ends early, leaving nothing
   * but finished layers, when the signal is aborted. Rejects with a PullFault.
   */
  pull(
    image: string,
    login: RegistryLogin | null,
    onProgress: (progress: PullProgress) => void,
    signal: AbortSignal,
  ): Promise<void>;
  create(spec: ContainerSpec): Promise<void>;
  /** Makes a created container ready, as far as the engine can without its first process: its devices are then known. */
  prepare(instanceId: string): Promise<void>;
  /** Makes an image of one program, which is its root folder's only file; its id. */
  importProgram(name: string, program: Buffer): Promise<string>;
  /** Harmless when it runs already. */
  start(instanceId: string): Promise<void>;
  /** Sends SIGTERM, and SIGKILL after `seconds`; harmless when it doesn't run. */
  stop(instanceId: string, seconds: number): Promise<void>;
  /** Kills it, and erases it with its writable layer; harmless when it isn't there. */
  remove(instanceId: string): Promise<void>;
  exec(instanceId: string, spec: ExecSpec): Promise<Exec>;
  /** Those that the engine began, for this process or any other, and that have not ended. */
  commands(instanceId: string): Promise<RunningCommand[]>;
  /** Process groups of commands that an agent before began without the engine and that have not ended. Told once. */
  abandoned(): Promise<number[]>;
  /** What the container wrote, with times; as `Exec.output`. Ends with the signal. */
  logs(instanceId: string, spec: LogsSpec, signal: AbortSignal): Promise<Pick<Exec, 'output'>>;
  /** Its address on the engine's network; null when it has none. */
  address(instanceId: string): Promise<string | null>;
  /** Calls back for each event of the machine's containers. Rejects when the engine goes away. */
  watch(machineId: string, opened: () => void, onEvent: () => void, signal: AbortSignal): Promise<void>;
}

/**
 * `away`: no answer, try again later. `missing` and `conflict`: what is there is not what was thought, look again.
 * `refused`: the engine refused, with its own message. `final` says that the same call can't ever go through.
 */
export class EngineFault extends Error {
  constructor(
    readonly kind: 'away' | 'missing' | 'conflict' | 'refused',
    message: string,
    readonly final = false,
  ) {
    super(message);
  }
}

/**
 * A pull that failed. The message is a short reason for the renter; `words`, the engine's own, are for the host's log.
 * `unreachable`: no connection to the registry came about.
 */
export class PullFault extends EngineFault {
  readonly words: string;
  readonly unreachable: boolean;

  constructor(reason: string, { words, final = false, unreachable = false }: PullFaultDetails) {
    super('refused', reason, final);
    this.words = words;
    this.unreachable = unreachable;
  }
}

interface PullFaultDetails {
  words: string;
  final?: boolean;
  unreachable?: boolean;
}

export function containerName(instanceId: string): string {
  return `gpu-${instanceId}`;
}
