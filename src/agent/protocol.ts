import { z } from 'zod';

/**
 * Protocol between gateway and host agent under `/agent/v1`: JSON over HTTP; the agent sends all requests. This file is
 * the only code that the two programs share. Both sides ignore unknown members, so that either may be newer.
 */

/** Agents of protocol 1 rent out only the whole host. They are served until they are updated. */
export const AGENT_PROTOCOL = 2;
const protocol = z.union([z.literal(1), z.literal(AGENT_PROTOCOL)]);
/** How often an agent reports when nothing changes. */
export const HEARTBEAT_SECONDS = 10;
/** Maximum time that a request for desired state waits for news. */
export const MAX_WAIT_SECONDS = 25;
/** Maximum instances of one machine in a document or a report. */
export const MAX_INSTANCES = 1_200;
/** Maximum tunnels in one answer. */
export const MAX_WANTED_TUNNELS = 512;
/** Maximum seconds that a stop gives a container to exit before it is killed. */
export const MAX_STOP_SECONDS = 300;
/** Length of the slots of samples: for each instance, one sample counts per slot. */
export const SAMPLE_SECONDS = 10;
/** Maximum age of a reported sample: older ones are dropped. */
export const MAX_SAMPLE_AGE_SECONDS = 60;
const MAX_GPUS = 64;
const MAX_TEXT = 1_000;
/** Maximum volumes of one instance. */
export const MAX_VOLUMES = 8;
/** Maximum ports of an instance's template or image. */
export const MAX_PORTS = 100;

const instanceId = z.string().regex(/^i-[a-f0-9]{8}$/);
const bytes = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const count = z.number().int().min(0).max(1_000_000_000);
const text = z.string().max(MAX_TEXT);
const volumeId = z.string().regex(/^v-[a-f0-9]{8}$/);
const snapshotId = z.string().regex(/^[a-f0-9]{64}$/);
/** Number of a volume's lease, counted from 1: the holder of an older one can't write. */
const lease = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER);
const port = z.number().int().min(1).max(65_535);
/** A name or id, and a group; the gateway has checked it. */
const containerUser = z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,64}$/);

/** Hardware that the agent found on its host. */
const hardware = z.object({
  hostname: text,
  cpu: text,
  vcpus: z.number().int().min(1).max(4_096),
  ramGb: z.number().int().min(1).max(65_536),
  /** Disk for all instances together. */
  diskGb: z.number().int().min(1).max(10_000_000),
  /**
   * How the size of an instance's disk is enforced: by a quota of the storage driver, a dedicated file system, or not
   * at all.
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
        /** Its processors: disjoint from those of other GPUs, and of its NUMA node where that is known. */
        cpus: z.array(z.number().int().min(0).max(4_095)).max(4_096).optional(),
      }),
    )
    /** GPUs of one model are next to each other, and so are near ones, by NVLink and NUMA node. */
    .max(MAX_GPUS),
  nvlink: z.boolean(),
  /** Whether the GPUs are simulated, to try the service without real ones. */
  pretended: z.boolean(),
});
export type Hardware = z.infer<typeof hardware>;

export const joinRequest = z.object({ protocol, code: text, hardware });
export type JoinRequest = z.infer<typeof joinRequest>;

export const joinAnswer = z.object({ machineId: z.string(), token: z.string(), gpu: z.string() });
export type JoinAnswer = z.infer<typeof joinAnswer>;

/** Desired state of one instance. `absent`: container, disk and files must be erased. */
const desiredInstance = z.object({
  id: instanceId,
  phase: z.enum(['running', 'stopped', 'absent']),
  /** Number of the instance's start, counted from 1: a failure belongs to one of them. */
  start: z.number().int().min(1),
  image: z.string(),
  /**
   * Whether one of the operator's templates names the image: the host's version is used, and any registry is allowed.
   */
  fromTemplate: z.boolean().optional(),
  command: z.array(z.string()).nullable(),
  env: z.record(z.string(), z.string()),
  gpus: count,
  /** Exactly these GPUs; left out: the host's first `gpus`. */
  gpuUuids: z.array(text).max(MAX_GPUS).optional(),
  /** Processors that it may use; left out: all. */
  cpus: z.array(z.number().int().min(0).max(4_095)).max(4_096).optional(),
  vcpus: z.number().int().min(1),
  memoryMb: z.number().int().min(1),
  diskGb: z.number().int().min(1),
  /** Container ports; the first is the instance's web port. */
  ports: z.array(port).max(MAX_PORTS),
  /** For an instance to stop: maximum seconds between SIGTERM and SIGKILL; left out: the agent's own setting. */
  stopSeconds: z.number().int().min(0).max(MAX_STOP_SECONDS).optional(),
  /** Replaces the image's entrypoint. */
  entrypoint: z.array(z.string()).optional(),
  /** User of the container in the form of Docker's `--user`; left out: the image's own. */
  user: containerUser.optional(),
  /** When a command that ended is started again; left out: always. */
  restart: z.enum(['ON_FAILURE', 'NEVER']).optional(),
  /** Whether it needs secrets, which the agent requests before each start (`GET /agent/v1/secrets`). */
  secrets: z.boolean().optional(),
  /** Whether it is stopped when idle: the agent then reports whether it is busy. */
  watchLoad: z.boolean().optional(),
  /**
   * Its volumes. `lease` null: it does not hold the volume, and nothing of it is to be saved. For an absent instance,
   * the file of a volume is erased once its last changes are saved, or may no longer be saved.
   */
  volumes: z
    .array(
      z.object({ id: volumeId, path: z.string().max(200), sizeGb: z.number().int().min(1), lease: lease.nullable() }),
    )
    .max(MAX_VOLUMES)
    .optional(),
});
export type DesiredInstance = z.infer<typeof desiredInstance>;

/** A tunnel that the gateway waits for: the agent dials `<url>/agent/v1/streams/<id>` (tunnel-protocol.ts). */
const wantedTunnel = z.object({
  id: z.string().regex(/^[a-f0-9]{32}$/),
  /** Address of the gateway that wants it; null: the address where the agent reaches its gateway. */
  url: z.string().max(300).nullable(),
});
export type WantedTunnel = z.infer<typeof wantedTunnel>;

/** Complete desired state of a host; a higher generation is newer. */
export const desiredState = z.object({
  generation: z.number().int().min(0),
  instances: z.array(desiredInstance).max(MAX_INSTANCES),
  /** For agents that request it with `streams=1`: each tunnel is named once, and valid for a few seconds. */
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
  /** The command has ended and is not to be started again. */
  'EXITED',
  /**
   * Its volumes are being restored to the host, before the container starts: `pulledBytes` of `totalBytes` are done.
   */
  'RESTORING',
  /** The container has ended and its GPUs are free; the last changes of its volumes are being stored. */
  'SAVING',
] as const;

/** A volume on the host, under one lease. */
const observedVolume = z.object({
  id: volumeId,
  lease,
  /** The newest snapshot that the gateway took of it under this lease; null before the first. */
  snapshot: snapshotId.nullable(),
  /** Size of all files of that snapshot. */
  sizeBytes: bytes.nullable(),
  /** Whether the container has ended and that snapshot has all that it wrote: the lease may end. */
  saved: z.boolean(),
  /** Why the last snapshot failed, for the renter; null where it did not. */
  message: text.nullable(),
});
export type ObservedVolume = z.infer<typeof observedVolume>;

const observedInstance = z.object({
  id: instanceId,
  phase: z.enum(OBSERVED_PHASES),
  /** The start that this describes; 0 for a container whose start is not known. */
  start: count,
  pulledBytes: bytes.nullable(),
  totalBytes: bytes.nullable(),
  /** Message for the renter. For a pull, a short reason, never the text of a registry or the engine. */
  message: text.nullable(),
  /**
   * The side at fault for a FAILED start. `host`: no image could have run, as was found before anything of this image
   * was used; its seconds are credited. `image`, or left out: the image could not be pulled, created or started, and
   * its seconds are paid.
   */
  fault: z.enum(['host', 'image']).optional(),
  exitCode: z.number().int().min(-1).max(255).nullable(),
  /** How often the container ended without being stopped and was restarted within this start. */
  restarts: count,
  /** TCP ports that its image exposes, ascending; left out while they are not known. */
  imagePorts: z.array(port).max(MAX_PORTS).optional(),
  /**
   * For an instance with `watchLoad`: whether one of its GPUs was busy in a sample since the last report that arrived.
   * Left out where that is not known for each sample. With simulated GPUs: whether a processor was.
   */
  busy: z.boolean().optional(),
  /** Volumes whose lease it holds. */
  volumes: z.array(observedVolume).max(MAX_VOLUMES).optional(),
});
export type ObservedInstance = z.infer<typeof observedInstance>;

const percent = z.number().min(0).max(100);

/** Load of one GPU of an instance; null: not known. */
const gpuSample = z.object({
  /** Its place among the instance's GPUs, from 0. */
  place: z
    .number()
    .int()
    .min(0)
    .max(MAX_GPUS - 1),
  /** Share of the time in which a kernel ran; 0 to 100. */
  busyPercent: percent.nullable(),
  memoryUsedMb: count.nullable(),
  memoryTotalMb: count.nullable(),
  powerWatts: z.number().min(0).max(100_000).nullable(),
  celsius: z.number().min(0).max(300).nullable(),
  smMhz: z.number().min(0).max(100_000).nullable(),
  /** Uncorrectable memory errors since the driver was loaded. */
  faults: count.nullable(),
  /** Processes that compute on it. */
  processes: count.nullable(),
});
export type GpuSample = z.infer<typeof gpuSample>;

/** Load of one container in the seconds since the previous sample; null: not known. */
const instanceSample = z.object({
  id: instanceId,
  start: count,
  /** Seconds between the sample and this report: the gateway subtracts them from its own clock. */
  age: z.number().int().min(0).max(MAX_SAMPLE_AGE_SECONDS),
  /**
   * Its slot of 10 s, counted from 1970 by the gateway's clock; one more for each sample. If it is left out, or further
   * than one slot from that of `age`, the slot of `age` counts.
   */
  slot: z.number().int().min(0).max(1_000_000_000_000).optional(),
  /** Share of the time of its vCPUs; 0 to 100. */
  cpuPercent: percent.nullable(),
  memoryUsedBytes: bytes.nullable(),
  /** Used bytes of the file system of /workspace. */
  diskUsedBytes: bytes.nullable(),
  networkInBytesPerSecond: bytes.nullable(),
  networkOutBytesPerSecond: bytes.nullable(),
  processes: count.nullable(),
  gpus: z.array(gpuSample).max(MAX_GPUS),
});
export type InstanceSample = z.infer<typeof instanceSample>;

/** A heartbeat with the observed state of the machine. */
export const report = z.object({
  protocol,
  /** Different for each start of the agent. */
  session: z.string().min(1).max(64),
  /** Number of the report in its session: a late report is older than what is known. */
  sequence: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
  /** Generation of the document that was last applied, or is being applied; 0 before the first. */
  generation: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
  instances: z.array(observedInstance).max(MAX_INSTANCES),
  /** Labelled containers that no document names: stopped and kept until the operator decides. */
  unknown: z.array(instanceId).max(MAX_INSTANCES),
  engine: z.enum(['ok', 'away']),
  /** UUIDs of the GPUs that the agent finds; protocol 2 only. Running instances continue when one is missing. */
  gpus: z.array(text).max(MAX_GPUS).optional(),
  /**
   * Whether it understands `entrypoint`, `restart` and `secrets`; an agent that leaves this out gets no instance with
   * them.
   */
  launches: z.boolean().optional(),
  /**
   * Whether it understands `watchLoad`; an agent that leaves this out gets no instance that is to be stopped when idle.
   */
  loads: z.boolean().optional(),
  /** Whether it runs restic and may mount; an agent that leaves this out gets no instance with volumes. */
  volumes: z.boolean().optional(),
  /** Whether it understands `user`; an agent that leaves this out gets no instance with one. */
  users: z.boolean().optional(),
  /** Whether its operator lets containers mount FUSE file systems. */
  fuse: z.boolean().optional(),
  /**
   * Samples of instances since the last report that arrived, one per instance every 10 s; only shown to their renters.
   */
  samples: z.array(instanceSample).max(MAX_INSTANCES).optional(),
});
export type Report = z.infer<typeof report>;

/**
 * Secrets of one start, in plaintext: the agent holds them in memory and passes them to the engine, but never writes
 * them down.
 */
export const startSecrets = z.object({
  variables: z.record(z.string(), z.string()),
  /** File contents by their names below /run/secrets. */
  files: z.record(z.string(), z.string()),
  registryLogin: z.object({ registry: z.string(), username: z.string(), password: z.string() }).nullable(),
});
export type StartSecrets = z.infer<typeof startSecrets>;

/** Access to the volumes of an instance that holds their leases (`GET /agent/v1/volumes`); held in memory. */
export const volumeAccess = z.object({
  volumes: z
    .array(
      z.object({
        id: volumeId,
        lease,
        /** Path of its repository below the gateway's address, as restic takes it without `rest:`: `/volumes/v-…/`. */
        path: z.string().max(100),
        /** The password of HTTP Basic, with `lease` as the user. */
        token: z.string().max(200),
        /** Password of the repository. */
        password: z.string().max(200),
        /** Initial content; null for a volume that is still empty. */
        restore: z.object({ snapshot: snapshotId, sizeBytes: bytes.nullable() }).nullable(),
        /** Seconds between two snapshots while the container runs. */
        snapshotSeconds: z.number().int().min(1).max(86_400),
      }),
    )
    .max(MAX_VOLUMES),
});
export type VolumeAccess = z.infer<typeof volumeAccess>;

export const reportAnswer = z.object({
  /** Generation of the newest document: the agent requests it when it is higher than its own. */
  generation: z.number().int().min(0),
  /** The gateway's clock, in whole seconds since 1970: slots of samples are counted by it. */
  now: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
});
export type ReportAnswer = z.infer<typeof reportAnswer>;
