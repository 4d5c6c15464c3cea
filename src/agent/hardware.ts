import { statfs } from 'node:fs/promises';
import { cpus, hostname, totalmem } from 'node:os';
import type { Hardware } from '../agent-protocol/protocol.js';
import type { Disks } from './disks.js';
import type { EngineInfo } from './engine/engine.js';
import { findGpus } from './gpus/nvidia-smi.js';
import { orderGpus, shareProcessors, type Topology } from './gpus/topology.js';
import { findProcessors } from './processors.js';

const BYTES_PER_GB = 1_073_741_824;
/** Percentage of the free disk space that is available to instances. The rest is for images and the host itself. */
const DISK_SHARE_PERCENT = 80;

/** Simulated GPUs, for trying the service without real ones. */
export interface SimulatedGpus {
  count: number;
  name: string;
  vramMb: number;
  /** UUIDs of the GPUs. The default is GPU-pretended-0 and so on. */
  uuids?: string[] | undefined;
}

/** Finds the hardware to report to the gateway. `pretended` replaces the GPUs that nvidia-smi finds. */
export async function findHardware(
  dataDir: string,
  engine: EngineInfo,
  disks: Disks,
  pretended: SimulatedGpus | null,
  name: string = hostname(),
): Promise<Hardware> {
  const simulated = { driver: null, cudaMax: null, nvlink: false, topology: new Map() };
  const { gpus, topology, ...driver } =
    pretended === null ? await findGpus() : { ...simulated, gpus: simulatedGpus(pretended) };
  const processors = cpus();
  return {
    hostname: name,
    cpu: processors[0]?.model.trim() || 'unknown',
    vcpus: Math.max(processors.length, 1),
    ramGb: Math.max(Math.floor(totalmem() / BYTES_PER_GB), 1),
    diskGb: await freeDiskGb(disks.limit === 'volume' ? dataDir : engine.rootDir, dataDir),
    diskLimit: disks.limit,
    engine: { name: engine.name, version: engine.version },
    ...driver,
    gpus: placed(gpus, await findProcessors(), topology),
    pretended: pretended !== null,
  };
}

/** Returns the GPUs in placement order, each with its processors. */
function placed(gpus: Hardware['gpus'], processors: readonly number[], topology: Topology): Hardware['gpus'] {
  const ordered = orderGpus(gpus, topology);
  const shares = shareProcessors(
    ordered.map(({ index }) => index),
    processors,
    topology,
  );
  return shares === null ? ordered : ordered.map((gpu, place) => ({ ...gpu, cpus: shares[place]! }));
}

export function simulatedGpus({ count, name, vramMb, uuids = [] }: SimulatedGpus): Hardware['gpus'] {
  return Array.from({ length: count }, (_, index) => ({
    index,
    uuid: uuids[index] ?? `GPU-pretended-${index}`,
    name,
    vramMb,
    pcieGen: 4,
  }));
}

async function freeDiskGb(dir: string, otherwise: string): Promise<number> {
  const { bavail, bsize } = await statfs(dir).catch(() => statfs(otherwise));
  return Math.max(Math.floor((bavail * bsize * DISK_SHARE_PERCENT) / 100 / BYTES_PER_GB), 1);
}
