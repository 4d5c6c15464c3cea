import { z } from 'zod';

/**
 * The protocol of gateway and host agent under `/agent/v1`: JSON over HTTP; the agent sends all requests. This file is
 * all that the two programs share. Unknown members are ignored on both sides, so that either may be newer.
 */

/** Of 1: agents that run instances on the whole host alone. They are served until they are updated. */
export const AGENT_PROTOCOL = 2;
const protocol = z.union([z.literal(1), z.literal(AGENT_PROTOCOL)]);
/** How often an agent reports when nothing changes. */
export const HEARTBEAT_SECONDS = 10;
/** How long a request for desired state waits for news, at most. */
export const MAX_WAIT_SECONDS = 25;
/** Instances of one machine that a document or a report may name. */
export const MAX_INSTANCES = 1_200;
/** Most tunnels that one answer names. */
export const MAX_WANTED_TUNNELS = 512;
/** Seconds that a stop may leave a container to end by itself. */
export const MAX_STOP_SECONDS = 300;
/** Length of the slots of samples: of an instance one counts in each. */
export const SAMPLE_SECONDS = 10;
/** How old a sample may be when it is reported: what could not be reported in time is dropped. */
export const MAX_SAMPLE_AGE_SECONDS = 60;
const MAX_GPUS = 64;
const MAX_TEXT = 1_000;
/** Volumes of one instance, at most. */
export const MAX_VOLUMES = 8;
/** Most ports that an instance's template or image names. */
export const MAX_PORTS = 100;

const instanceId = z.string().regex(/^i-[a-f0-9]{8}$/);
const bytes = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const count = z.number().int().min(0).max(1_000_000_000);
const text = z.string().max(MAX_TEXT);
const volumeId = z.string().regex(/^v-[a-f0-9]{8}$/);
const snapshotId = z.string().regex(/^[a-f0-9]{64}$/);
/** Counts the leases of a volume from 1: whoever has an older one writes nothing. */
const lease = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER);
const port = z.number().int().min(1).max(65_535);

/** What the agent found on its host. */
const hardware = z.object({
  hostname: text,
  cpu: text,
  vcpus: z.number().int().min(1).max(4_096),
  ramGb: z.number().int().min(1).max(65_536),
  /** What the host gives to instances, all together. */
  diskGb: z.number().int().min(1).max(10_000_000),
  /**
   * How the size of an instance's disk is enforced: by a quota of the storage driver, a file system of its own, or not
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
        /** Its processors: disjoint from those of the others, and of its NUMA node where that is known. */
        cpus: z.array(z.number().int().min(0).max(4_095)).max(4_096).optional(),
      }),
    )
    /** Of one model side by side, and near ones beside each other, by NVLink and NUMA node. */
    .max(MAX_GPUS),
  nvlink: z.boolean(),
  /** True for Simulated GPUs, to try the service without real ones. */
  pretended: z.boolean(),
});
export type Hardware = z.infer<typeof hardware>;

export const joinRequest = z.object({ protocol, code: text, hardware });
export type JoinRequest = z.infer<typeof joinRequest>;

export const joinAnswer = z.object({ machineId: z.string(), token: z.string(), gpu: z.string() });
export type JoinAnswer = z.infer<typeof joinAnswer>;

/** What ought to be of one instance. `absent`: container, volume and file are to be erased. */
const desiredInstance = z.object({
  id: instanceId,
  phase: z.enum(['running', 'stopped', 'absent']),
  /** Counts the instance's starts from 1: a failure belongs to one of them. */
  start: z.number().int().min(1),
  image: z.string(),
  /** A template of the operator's names the image: it is taken as the host has it, and from whichever registry. */
  fromTemplate: z.boolean().optional(),
  command: z.array(z.string()).nullable(),
  env: z.record(z.string(), z.string()),
  gpus: count,
  /** Exactly these; left out: the first `gpus` of the host. */
  gpuUuids: z.array(text).max(MAX_GPUS).optional(),
  /** The processors that it may use; left out: all. */
  cpus: z.array(z.number().int().min(0).max(4_095)).max(4_096).optional(),
  vcpus: z.number().int().min(1),
  memoryMb: z.number().int().min(1),
  diskGb: z.number().int().min(1),
  /** Container ports, the first is the instance's web port. */
  ports: z.array(port).max(MAX_PORTS),
  /** Of one that is to stop: seconds between SIGTERM and SIGKILL at most; the agent's own setting where it is left out. */
  stopSeconds: z.number().int().min(0).max(MAX_STOP_SECONDS).optional(),
  /** Instead of the image's own. */
  entrypoint: z.array(z.string()).optional(),
  /** When a command that ended is started again; left out, each time. */
  restart: z.enum(['ON_FAILURE', 'NEVER']).optional(),
  /** It needs secrets, which the agent asks for before each start (`GET /agent/v1/secrets`). */
  secrets: z.boolean().optional(),
  /** It is to be stopped when it is idle: the agent reports whether it is busy. */
  watchLoad: z.boolean().optional(),
  /**
   * Its volumes. `lease` null: it does not hold the volume, of which nothing is to be saved. Of an instance that is to be
   * absent the file of a volume is erased once its last changes are saved, or may no longer be.
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
  /** Of the gateway that wants it; null: where the agent reaches its gateway. */
  url: z.string().max(300).nullable(),
});
export type WantedTunnel = z.infer<typeof wantedTunnel>;

/** Everything that ought to be on a host; a greater generation is newer. */
export const desiredState = z.object({
  generation: z.number().int().min(0),
  instances: z.array(desiredInstance).max(MAX_INSTANCES),
  /** For agents that ask with `streams=1`: each is named once, and valid for a few seconds. */
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
  /** Its volumes are put on the host, before the container starts: `pulledBytes` of `totalBytes` are there. */
  'RESTORING',
  /** The container has ended, its GPUs are free; the last changes of its volumes are on their way to the store. */
  'SAVING',
] as const;

/** A volume on the host, under one lease. */
const observedVolume = z.object({
  id: volumeId,
  lease,
  /** The newest snapshot that the gateway took of it under this lease; null for none yet. */
  snapshot: snapshotId.nullable(),
  /** Of all files of that snapshot. */
  sizeBytes: bytes.nullable(),
  /** The container has ended and that snapshot has all that it wrote: the lease may end. */
  saved: z.boolean(),
  /** Why the last snapshot failed; null where it did not. For the renter. */
  message: text.nullable(),
});
export type ObservedVolume = z.infer<typeof observedVolume>;

const observedInstance = z.object({
  id: instanceId,
  phase: z.enum(OBSERVED_PHASES),
  /** The start that this is about; 0 for a container whose start is not known. */
  start: count,
  pulledBytes: bytes.nullable(),
  totalBytes: bytes.nullable(),
  /** For the renter. Of a pull a short reason, never what a registry or the engine said. */
  message: text.nullable(),
  /**
   * Of a FAILED start. `host`: no image could have run, as was found before anything of this image was used; its seconds
   * are given back. `image`, or left out: the image could not be pulled, created or started, and they are paid.
   */
  fault: z.enum(['host', 'image']).optional(),
  exitCode: z.number().int().min(-1).max(255).nullable(),
  /** How often the container ended by itself and was restarted within this start. */
  restarts: count,
  /** TCP ports that its image names, ascending; left out while they are not known. */
  imagePorts: z.array(port).max(MAX_PORTS).optional(),
  /**
   * Of one with `watchLoad`: whether one of its GPUs was busy in a sample since the last report that arrived. Left out
   * where that is not known of each sample. Of simulated GPUs: whether a processor was.
   */
  busy: z.boolean().optional(),
  /** Of which it holds the lease. */
  volumes: z.array(observedVolume).max(MAX_VOLUMES).optional(),
});
export type ObservedInstance = z.infer<typeof observedInstance>;

const percent = z.number().min(0).max(100);

/** What one GPU of an instance did; null: not known. */
const gpuSample = z.object({
  /** Its place among the instance's GPUs, from 0. */
  place: z
    .number()
    .int()
    .min(0)
    .max(MAX_GPUS - 1),
  /** Share of the time in which a kernel ran. */
  busyPercent: percent.nullable(),
  memoryUsedMb: count.nullable(),
  memoryTotalMb: count.nullable(),
  powerWatts: z.number().min(0).max(100_000).nullable(),
  celsius: z.number().min(0).max(300).nullable(),
  smMhz: z.number().min(0).max(100_000).nullable(),
  /** Memory errors that could not be corrected, since the driver was loaded. */
  faults: count.nullable(),
  /** Processes that compute on it. */
  processes: count.nullable(),
});
export type GpuSample = z.infer<typeof gpuSample>;

/** What one container did in the seconds since the sample before; null: not known. */
const instanceSample = z.object({
  id: instanceId,
  start: count,
  /** Seconds between the sample and this report: the gateway counts back from its own clock. */
  age: z.number().int().min(0).max(MAX_SAMPLE_AGE_SECONDS),
  /**
   * Its slot of 10 s, counted from 1970 by the gateway's clock; one more for each sample. Where it is not the one of `age` or
   * next to it, or left out, the slot of `age` counts.
   */
  slot: z.number().int().min(0).max(1_000_000_000_000).optional(),
  /** Share of the time of its vCPUs. */
  cpuPercent: percent.nullable(),
  memoryUsedBytes: bytes.nullable(),
  /** Of the file system of /workspace. */
  diskUsedBytes: bytes.nullable(),
  networkInBytesPerSecond: bytes.nullable(),
  networkOutBytesPerSecond: bytes.nullable(),
  processes: count.nullable(),
  gpus: z.array(gpuSample).max(MAX_GPUS),
});
export type InstanceSample = z.infer<typeof instanceSample>;

/** A heartbeat, and what is on the machine. */
export const report = z.object({
  protocol,
  /** Different each time the agent starts. */
  session: z.string().min(1).max(64),
  /** Counts the reports of a session: one that comes late is older than what is known. */
  sequence: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
  /** Of the document that was last brought about or is being; 0 for none yet. */
  generation: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
  instances: z.array(observedInstance).max(MAX_INSTANCES),
  /** Labelled containers that no document names: stopped and kept until the operator decides. */
  unknown: z.array(instanceId).max(MAX_INSTANCES),
  engine: z.enum(['ok', 'away']),
  /** UUIDs of the GPUs that it finds, of protocol 2. What runs goes on without one that is missing. */
  gpus: z.array(text).max(MAX_GPUS).optional(),
  /** It understands `entrypoint`, `restart` and `secrets`; an agent that leaves this out is given no instance with them. */
  launches: z.boolean().optional(),
  /** It understands `watchLoad`; an agent that leaves this out is given no instance that is to be stopped when idle. */
  loads: z.boolean().optional(),
  /** It runs restic and may mount; an agent that leaves this out is given no instance with volumes. */
  volumes: z.boolean().optional(),
  /** What instances did since the last report that arrived, a sample every 10 s of each; for their renters to look at, nothing else. */
  samples: z.array(instanceSample).max(MAX_INSTANCES).optional(),
});
export type Report = z.infer<typeof report>;

/** What one start is given, in clear: held in memory and handed to the engine, never written down by the agent. */
export const startSecrets = z.object({
  variables: z.record(z.string(), z.string()),
  /** By their names below /run/secrets. */
  files: z.record(z.string(), z.string()),
  registryLogin: z.object({ registry: z.string(), username: z.string(), password: z.string() }).nullable(),
});
export type StartSecrets = z.infer<typeof startSecrets>;

/** What the agent needs for the volumes of an instance that holds their leases (`GET /agent/v1/volumes`); held in memory. */
export const volumeAccess = z.object({
  volumes: z
    .array(
      z.object({
        id: volumeId,
        lease,
        /** Of its repository, as restic takes it without `rest:`, below the gateway's address: `/volumes/v-…/`. */
        path: z.string().max(100),
        /** The password of HTTP Basic, with `lease` as the user. */
        token: z.string().max(200),
        /** Of the repository. */
        password: z.string().max(200),
        /** What it begins with; null for a volume that is empty yet. */
        restore: z.object({ snapshot: snapshotId, sizeBytes: bytes.nullable() }).nullable(),
        /** Between two snapshots while it runs. */
        snapshotSeconds: z.number().int().min(1).max(86_400),
      }),
    )
    .max(MAX_VOLUMES),
});
export type VolumeAccess = z.infer<typeof volumeAccess>;

export const reportAnswer = z.object({
  /** Of the newest document: the agent asks for it when it is greater than its own. */
  generation: z.number().int().min(0),
  /** The gateway's clock, in whole seconds since 1970: slots of samples are counted by it. */
  now: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
});
export type ReportAnswer = z.infer<typeof reportAnswer>;
