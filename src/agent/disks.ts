import { join } from 'node:path';
import type { Hardware } from '../agent-protocol/protocol.js';
import type { EngineInfo } from './engine/engine.js';
import { FileSystems, mounts } from './file-systems.js';

/** Enforces the sizes of instance disks and determines where /workspace is stored. */
export interface Disks {
  readonly limit: Hardware['diskLimit'];
  /** Prepares the instance's disk and returns the host directory for /workspace, if there is one. */
  prepare(instanceId: string, diskGb: number): Promise<string | null>;
  /** Resolves when nothing remains of the instance's disk. */
  erase(instanceId: string): Promise<void>;
  /**
   * Returns the number of bytes used on the instance's disk, or null if it has no dedicated file system. Rejects if the
   * disk doesn't exist.
   */
  usedBytes(instanceId: string): Promise<number | null>;
  /** Returns the instances whose disks are separate from their containers. */
  kept(): Promise<string[]>;
}

const BYTES_PER_GB = 1_073_741_824;
const INSTANCE = /^i-[a-f0-9]{8}$/;

/**
 * Returns disks with the first kind of limit that the host can enforce: a storage driver quota, a dedicated file system
 * for each instance, or none.
 */
export async function probeDisks(dataDir: string, engine: EngineInfo): Promise<Disks> {
  if (await hasQuota(engine)) return layerDisks('quota');
  const files = filesOf(dataDir);
  return (await files.fault()) === null ? volumeDisks(files) : layerDisks('none');
}

/**
 * Opens the disks with the kind of limit found when the machine joined. The kind doesn't change until the machine joins
 * again, so that existing disks can always be found.
 */
export function openDisks(dataDir: string, limit: Hardware['diskLimit']): Disks {
  return limit === 'volume' ? volumeDisks(filesOf(dataDir)) : layerDisks(limit);
}

function filesOf(dataDir: string): FileSystems {
  return new FileSystems(join(dataDir, 'disks'));
}

/** Uses the container's own layer as the disk, so that it is created and erased with the container. */
function layerDisks(limit: 'quota' | 'none'): Disks {
  return { limit, prepare: async () => null, erase: async () => {}, usedBytes: async () => null, kept: async () => [] };
}

/** Uses a dedicated file system for each instance's disk. */
function volumeDisks(files: FileSystems): Disks {
  return {
    limit: 'volume',
    prepare: (instanceId, diskGb) => files.mount(instanceId, diskGb * BYTES_PER_GB),
    erase: (instanceId) => files.erase(instanceId),
    usedBytes: (instanceId) => files.usedBytes(instanceId),
    kept: async () => (await files.names()).filter((name) => INSTANCE.test(name)),
  };
}

/** Whether the engine enforces a disk size. Docker and Podman do so with overlay on XFS with project quotas. */
async function hasQuota({ storageDriver, rootDir }: EngineInfo): Promise<boolean> {
  if (!storageDriver.startsWith('overlay')) return false;
  const holder = (await mounts())
    .filter(({ target }) => target === '/' || rootDir === target || rootDir.startsWith(`${target}/`))
    .sort((a, b) => b.target.length - a.target.length)[0];
  return holder?.type === 'xfs' && /\b(prjquota|pquota)\b/.test(holder.options);
}
