import { join } from 'node:path';
import type { EngineInfo } from './engine/engine.js';
import { FileSystems, mounts } from './file-systems.js';
import type { Hardware } from './protocol.js';

/** Enforces the size of an instance's disk, and decides where /workspace is. */
export interface Disks {
  readonly limit: Hardware['diskLimit'];
  /** Prepares the instance's disk; returns the host directory for /workspace, if any. */
  prepare(instanceId: string, diskGb: number): Promise<string | null>;
  /** Resolves when nothing of the instance's disk remains. */
  erase(instanceId: string): Promise<void>;
  /**
   * Used bytes of the instance's disk; null where it has no file system of its own. Rejects where the disk doesn't
   * exist.
   */
  usedBytes(instanceId: string): Promise<number | null>;
  /** Instances whose disk is separate from their container. */
  kept(): Promise<string[]>;
}

const BYTES_PER_GB = 1_073_741_824;
const INSTANCE = /^i-[a-f0-9]{8}$/;

/**
 * Returns the first kind that the host can enforce: a quota of the storage driver, a dedicated file system for each
 * instance, or none.
 */
export async function probeDisks(dataDir: string, engine: EngineInfo): Promise<Disks> {
  if (await hasQuota(engine)) return layerDisks('quota');
  const files = filesOf(dataDir);
  return (await files.fault()) === null ? volumeDisks(files) : layerDisks('none');
}

/** The kind found when the machine joined is used until it joins again, so that every disk is found again. */
export function openDisks(dataDir: string, limit: Hardware['diskLimit']): Disks {
  return limit === 'volume' ? volumeDisks(filesOf(dataDir)) : layerDisks(limit);
}

function filesOf(dataDir: string): FileSystems {
  return new FileSystems(join(dataDir, 'disks'));
}

/** The disk is the container's own layer, and is created and erased with it. */
function layerDisks(limit: 'quota' | 'none'): Disks {
  return { limit, prepare: async () => null, erase: async () => {}, usedBytes: async () => null, kept: async () => [] };
}

/** The disk is a dedicated file system for each instance. */
function volumeDisks(files: FileSystems): Disks {
  return {
    limit: 'volume',
    prepare: (instanceId, diskGb) => files.mount(instanceId, diskGb * BYTES_PER_GB),
    erase: (instanceId) => files.erase(instanceId),
    usedBytes: (instanceId) => files.usedBytes(instanceId),
    kept: async () => (await files.names()).filter((name) => INSTANCE.test(name)),
  };
}

/** Docker and Podman enforce a size on overlay over XFS with project quotas. */
async function hasQuota({ storageDriver, rootDir }: EngineInfo): Promise<boolean> {
  if (!storageDriver.startsWith('overlay')) return false;
  const holder = (await mounts())
    .filter(({ target }) => target === '/' || rootDir === target || rootDir.startsWith(`${target}/`))
    .sort((a, b) => b.target.length - a.target.length)[0];
  return holder?.type === 'xfs' && /\b(prjquota|pquota)\b/.test(holder.options);
}
