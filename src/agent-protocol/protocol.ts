import { z } from 'zod';
import { MAX_CUT_OFF_SECONDS, MAX_STOP_SECONDS } from './limits.js';

/**
 * Protocol between the gateway and the host agent under `/agent/v1`: JSON over HTTP, with all requests sent by the
 * agent. Both sides ignore unknown fields, so that either side may be newer.
 */

/** Agents that use protocol 1 can only rent out the whole host. They are supported until they are updated. */
export const AGENT_PROTOCOL = 2;
const protocol = z.union([z.literal(1), z.literal(AGENT_PROTOCOL)]);
/** Interval between an agent's reports when nothing changes. */
export const HEARTBEAT_SECONDS = 10;
/** Maximum seconds that a request for the desired state waits for changes. */
export const MAX_WAIT_SECONDS = 25;
/** Maximum instances per machine in a document or report. */
export const MAX_INSTANCES = 1_200;
/** Maximum tunnels in one response. */
export const MAX_WANTED_TUNNELS = 512;
/** Length of a sample slot in seconds. One sample per instance counts in each slot. */
export const SAMPLE_SECONDS = 10;
/** Maximum age of a reported sample, in seconds. Older samples are dropped. */
export const MAX_SAMPLE_AGE_SECONDS = 60;
const MAX_GPUS = 64;
const MAX_TEXT = 1_000;
/** Maximum volumes per instance. */
export const MAX_VOLUMES = 8;
/** Maximum ports that an instance's template or image can have. */
export const MAX_PORTS = 100;

const instanceId = z.string().regex(/^i-[a-f0-9]{8}$/);
const bytes = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const count = z.number().int().min(0).max(1_000_000_000);
const text = z.string().max(MAX_TEXT);
const volumeId = z.string().regex(/^v-[a-f0-9]{8}$/);
const snapshotId = z.string().regex(/^[a-f0-9]{64}$/);
/** The message names the setting of our own agent, because the host's operator is the one who can change it. */
const CUT_OFF_BOUNDS = `GPU_AGENT_CUT_OFF_SECONDS must be a whole number from 1 to ${MAX_CUT_OFF_SECONDS}`;
/**
 * Seconds without contact with the gateway after which the agent stops its containers. If omitted, the maximum applies.
 * The gateway only checks it: the end of a lease never depends on what a host reports.
 */
const cutOffSeconds = z
  .number(CUT_OFF_BOUNDS)
  .int(CUT_OFF_BOUNDS)
  .min(1, CUT_OFF_BOUNDS)
  .max(MAX_CUT_OFF_SECONDS, CUT_OFF_BOUNDS)
  .optional();
/** Number of a volume's lease, starting at 1. The holder of an older lease can't write. */
const lease = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER);
const port = z.number().int().min(1).max(65_535);
/** A user name or id, optionally with a group. The gateway has validated it. */
const containerUser = z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,64}$/);

/** Hardware that the agent found on its host. */
const hardware = z.object({
  hostname: text,
  cpu: text,
  vcpus: z.number().int().min(1).max(4_096),
  ramGb: z.number().int().min(1).max(65_536),
  /** Disk space shared by all instances. */
  diskGb: z.number().int().min(1).max(10_000_000),
  /**
   * How the size of an instance's disk is enforced: by a storage driver quota, by a dedicated file system, or not at
   * all.
   */
  diskLimit: z.enum(['quota', 'volume', 'none']),
  engine: z.object({ name: z.enum(['docker', 'podman']), version: text }),
  driver: text.nullable(),
  cudaMax: text.nullable(),
  gpus: z
    .array(
      z.object({
        index: z.number().int().min(0),
        uuid: text,
        name: text,
        vramMb: bytes,
        pcieGen: count.nullable(),
        /**
         * Processors assigned to this GPU. They are not shared with other GPUs, and belong to the GPU's NUMA node if it
         * is known.
         */
        cpus: z.array(z.number().int().min(0).max(4_095)).max(4_096).optional(),
      }),
    )
    /** GPUs of the same model are adjacent, as are GPUs that are close to each other by NVLink and NUMA node. */
    .max(MAX_GPUS),
  nvlink: z.boolean(),
  /** Whether the GPUs are simulated, for trying the service without real ones. */
  pretended: z.boolean(),
});
export type Hardware = z.infer<typeof hardware>;

export const joinRequest = z.object({ protocol, code: text, hardware, cutOffSeconds });
export type JoinRequest = z.infer<typeof joinRequest>;

export const joinAnswer = z.object({ machineId: z.string(), token: z.string(), gpu: z.string() });
export type JoinAnswer = z.infer<typeof joinAnswer>;

/** One instance's desired state. `absent` means that its container, disk and files must be erased. */
const desiredInstance = z.object({
  id: instanceId,
  phase: z.enum(['running', 'stopped', 'absent']),
  /** Number of the instance's start, starting at 1. Every failure refers to one start. */
  start: z.number().int().min(1),
  image: z.string(),
  /**
   * Whether the image comes from one of the operator's templates. The host's local version is then used, and any
   * registry is allowed.
   */
  fromTemplate: z.boolean().optional(),
  command: z.array(z.string()).nullable(),
  env: z.record(z.string(), z.string()),
  gpus: count,
  /** The exact GPUs to use. If omitted, the host's first `gpus` are used. */
  gpuUuids: z.array(text).max(MAX_GPUS).optional(),
  /** Processors that the instance may use. If omitted, it may use all. */
  cpus: z.array(z.number().int().min(0).max(4_095)).max(4_096).optional(),
  vcpus: z.number().int().min(1),
  memoryMb: z.number().int().min(1),
  diskGb: z.number().int().min(1),
  /** Container ports. The first one is the instance's web port. */
  ports: z.array(port).max(MAX_PORTS),
  /**
   * Maximum seconds between SIGTERM and SIGKILL if the instance must stop. If omitted, the agent's own setting applies.
   */
  stopSeconds: z.number().int().min(0).max(MAX_STOP_SECONDS).optional(),
  /** Replaces the image's entrypoint. */
  entrypoint: z.array(z.string()).optional(),
  /** The container's user in the format of Docker's `--user`. If omitted, the image's own user is used. */
  user: containerUser.optional(),
  /** When to restart the command after it exits. Defaults to always. */
  restart: z.enum(['ON_FAILURE', 'NEVER']).optional(),
  /** Whether the instance needs secrets, which the agent requests before each start (`GET /agent/v1/secrets`). */
  secrets: z.boolean().optional(),
  /** Whether the instance is stopped when idle, so that the agent must report whether it is busy. */
  watchLoad: z.boolean().optional(),
  /**
   * The instance's volumes. A null `lease` means that the instance does not hold the volume, and none of its changes
   * may be saved. If the instance is absent, a volume's file is erased once its last changes are saved, or can no
   * longer be saved.
   */
  volumes: z
    .array(
      z.object({ id: volumeId, path: z.string().max(200), sizeGb: z.number().int().min(1), lease: lease.nullable() }),
    )
    .max(MAX_VOLUMES)
    .optional(),
});
export type DesiredInstance = z.infer<typeof desiredInstance>;

/** A tunnel that the gateway is waiting for. The agent dials `<url>/agent/v1/streams/<id>` (see tunnel-protocol.ts). */
const wantedTunnel = z.object({
  id: z.string().regex(/^[a-f0-9]{32}$/),
  /** URL of the gateway that requested the tunnel, or null for the agent's own gateway URL. */
  url: z.string().max(300).nullable(),
});
export type WantedTunnel = z.infer<typeof wantedTunnel>;

/** A host's complete desired state. A document with a higher generation is newer. */
export const desiredState = z.object({
  generation: z.number().int().min(0),
  instances: z.array(desiredInstance).max(MAX_INSTANCES),
  /** Sent to agents that set `streams=1`. Each tunnel is listed once and is valid for a few seconds. */
  streams: z.array(wantedTunnel).max(MAX_WANTED_TUNNELS).optional(),
});
export type DesiredState = z.infer<typeof desiredState>;

const OBSERVED_PHASES = [
  'WAITING',
  'PULLING',
  'STARTING',
  'RUNNING',
  'STOPPING',
  'STOPPED',
  'FAILED',
  'ERASED',
  /** The command has ended and won't be started again. */
  'EXITED',
  /**
   * The instance's volumes are being restored to the host before the container starts. `pulledBytes` of `totalBytes`
   * are done.
   */
  'RESTORING',
  /** The container has ended and its GPUs are free, but the last changes to its volumes are still being stored. */
  'SAVING',
] as const;

/** A volume on the host under one lease. */
const observedVolume = z.object({
  id: volumeId,
  lease,
  /** The newest snapshot of the volume that the gateway accepted under this lease, or null before the first. */
  snapshot: snapshotId.nullable(),
  /** Total size of the files in that snapshot. */
  sizeBytes: bytes.nullable(),
  /** Whether the container has ended and that snapshot contains everything it wrote, so that the lease can end. */
  saved: z.boolean(),
  /** Why the last snapshot failed, as shown to the renter. Null if it didn't fail. */
  message: text.nullable(),
});
export type ObservedVolume = z.infer<typeof observedVolume>;

const observedInstance = z.object({
  id: instanceId,
  phase: z.enum(OBSERVED_PHASES),
  /** The start that this state describes, or 0 for a container whose start is unknown. */
  start: count,
  pulledBytes: bytes.nullable(),
  totalBytes: bytes.nullable(),
  /** Message for the renter. For a pull, this is a short reason, never a message from a registry or the engine. */
  message: text.nullable(),
  /**
   * The side at fault for a FAILED start. `host`: no image could have run, as detected before anything from this image
   * was used, so its seconds are credited. `image`, or omitted: the image could not be pulled, created or started, so
   * its seconds are charged.
   */
  fault: z.enum(['host', 'image']).optional(),
  exitCode: z.number().int().min(-1).max(255).nullable(),
  /** Number of times in this start that the container ended without being stopped and was restarted. */
  restarts: count,
  /** TCP ports that the image exposes, in ascending order. Omitted while unknown. */
  imagePorts: z.array(port).max(MAX_PORTS).optional(),
  /**
   * For an instance with `watchLoad`, whether one of its GPUs was busy in any sample since the last delivered report.
   * With simulated GPUs, whether a processor was busy. Omitted if that is not known for every sample.
   */
  busy: z.boolean().optional(),
  /** Volumes whose lease the instance holds. */
  volumes: z.array(observedVolume).max(MAX_VOLUMES).optional(),
});
export type ObservedInstance = z.infer<typeof observedInstance>;

const percent = z.number().min(0).max(100);

/** A GPU's load within an instance. Values are null if unknown. */
const gpuSample = z.object({
  /** Position among the instance's GPUs, starting at 0. */
  place: z
    .number()
    .int()
    .min(0)
    .max(MAX_GPUS - 1),
  /** Percentage of the time that a kernel was running. */
  busyPercent: percent.nullable(),
  memoryUsedMb: count.nullable(),
  memoryTotalMb: count.nullable(),
  powerWatts: z.number().min(0).max(100_000).nullable(),
  celsius: z.number().min(0).max(300).nullable(),
  smMhz: z.number().min(0).max(100_000).nullable(),
  /** Uncorrectable memory errors since the driver was loaded. */
  faults: count.nullable(),
  /** Number of compute processes on the GPU. */
  processes: count.nullable(),
});
export type GpuSample = z.infer<typeof gpuSample>;

/** A container's load since its previous sample. Values are null if unknown. */
const instanceSample = z.object({
  id: instanceId,
  start: count,
  /** Seconds between the sample and this report. The gateway subtracts them from its own clock. */
  age: z.number().int().min(0).max(MAX_SAMPLE_AGE_SECONDS),
  /**
   * Number of the sample's 10-second slot, counted from the Unix epoch on the gateway's clock. It increases by one with
   * each sample. If it is omitted, or more than one slot away from the slot that `age` implies, the latter applies.
   */
  slot: z.number().int().min(0).max(1_000_000_000_000).optional(),
  /** Percentage of its vCPUs' CPU time. */
  cpuPercent: percent.nullable(),
  memoryUsedBytes: bytes.nullable(),
  /** Bytes used in the file system that contains /workspace. */
  diskUsedBytes: bytes.nullable(),
  networkInBytesPerSecond: bytes.nullable(),
  networkOutBytesPerSecond: bytes.nullable(),
  processes: count.nullable(),
  gpus: z.array(gpuSample).max(MAX_GPUS),
});
export type InstanceSample = z.infer<typeof instanceSample>;

/** A heartbeat with the machine's observed state. */
export const report = z.object({
  protocol,
  /** Identifies the agent's run. It is different after each start of the agent. */
  session: z.string().min(1).max(64),
  /** The report's number within its session. A report with a lower number than one already received is outdated. */
  sequence: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
  /** Generation of the document that was last applied or is being applied, or 0 before the first. */
  generation: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
  instances: z.array(observedInstance).max(MAX_INSTANCES),
  /**
   * Labelled containers that no document names. They are stopped, and kept until the operator decides what to do with
   * them.
   */
  unknown: z.array(instanceId).max(MAX_INSTANCES),
  engine: z.enum(['ok', 'away']),
  /** UUIDs of the GPUs found by the agent. Only in protocol 2. Running instances continue if one is missing. */
  gpus: z.array(text).max(MAX_GPUS).optional(),
  /**
   * Whether the agent supports `entrypoint`, `restart` and `secrets`. If omitted, it gets no instances that use them.
   */
  launches: z.boolean().optional(),
  /** Whether the agent supports `watchLoad`. If omitted, it gets no instances that are stopped when idle. */
  loads: z.boolean().optional(),
  /** Whether the agent can run restic and mount file systems. If omitted, it gets no instances with volumes. */
  volumes: z.boolean().optional(),
  /** Whether the agent supports `user`. If omitted, it gets no instances that set one. */
  users: z.boolean().optional(),
  /** Whether the operator allows containers to mount FUSE file systems. */
  fuse: z.boolean().optional(),
  cutOffSeconds,
  /**
   * Samples since the last delivered report, one per instance every 10 s. They are only shown to the instances'
   * renters.
   */
  samples: z.array(instanceSample).max(MAX_INSTANCES).optional(),
});
export type Report = z.infer<typeof report>;

/**
 * A start's secrets in plaintext. The agent keeps them in memory and passes them to the engine, but never stores them.
 */
export const startSecrets = z.object({
  variables: z.record(z.string(), z.string()),
  /** File contents by name under /run/secrets. */
  files: z.record(z.string(), z.string()),
  registryLogin: z.object({ registry: z.string(), username: z.string(), password: z.string() }).nullable(),
});
export type StartSecrets = z.infer<typeof startSecrets>;

/** Access to the volumes that an instance holds leases on (`GET /agent/v1/volumes`). It is kept only in memory. */
export const volumeAccess = z.object({
  volumes: z
    .array(
      z.object({
        id: volumeId,
        lease,
        /**
         * Path of the volume's repository under the gateway's URL, as given to restic without `rest:`, such as
         * `/volumes/v-…/`.
         */
        path: z.string().max(100),
        /** HTTP Basic password. The user name is `lease`. */
        token: z.string().max(200),
        /** Repository password. */
        password: z.string().max(200),
        /** Initial content, or null for a volume that is still empty. */
        restore: z.object({ snapshot: snapshotId, sizeBytes: bytes.nullable() }).nullable(),
        /** Seconds between two snapshots while the container runs. */
        snapshotSeconds: z.number().int().min(1).max(86_400),
      }),
    )
    .max(MAX_VOLUMES),
});
export type VolumeAccess = z.infer<typeof volumeAccess>;

export const reportAnswer = z.object({
  /** Generation of the newest document. The agent requests that document if this is higher than its own generation. */
  generation: z.number().int().min(0),
  /** The gateway's clock, as Unix time in whole seconds. It determines the slots of samples. */
  now: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
});
export type ReportAnswer = z.infer<typeof reportAnswer>;
