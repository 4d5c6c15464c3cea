import { mkdir, open, readdir, readFile, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { EngineInfo } from './engine/engine.js';
import type { Hardware } from './protocol.js';
import { output } from './shell.js';

/** How the size of an instance's disk is enforced, and where /workspace lies. */
export interface Disks {
  readonly limit: Hardware['diskLimit'];
  /** Prepares the instance's disk; returns the host directory for /workspace, if any. */
  prepare(instanceId: string, diskGb: number): Promise<string | null>;
  /** Resolves when nothing of the instance's disk is left. */
  erase(instanceId: string): Promise<void>;
  /** Instances whose disk is separate from their container. */
  kept(): Promise<string[]>;
}

const BYTES_PER_GB = 1_073_741_824;
const PROBE_BYTES = 8_388_608;
const PROBE = 'probe';
const IMAGE = /^(i-[a-f0-9]{8})\.ext4$/;

/** The first that the host can enforce: a quota of the storage driver, a file system of each instance's own, none. */
export async function probeDisks(dataDir: string, engine: EngineInfo): Promise<Disks> {
  if (await hasQuota(engine)) return layerDisks('quota');
  const volumes = new VolumeDisks(join(dataDir, 'disks'));
  return (await volumes.work()) ? volumes : layerDisks('none');
}

/** The kind found when the machine joined stays until it joins again, so that every disk is found again. */
export function openDisks(dataDir: string, limit: Hardware['diskLimit']): Disks {
  return limit === 'volume' ? new VolumeDisks(join(dataDir, 'disks')) : layerDisks(limit);
}

/** The disk is the container's own layer: it comes and goes with it. */
function layerDisks(limit: 'quota' | 'none'): Disks {
  return { limit, prepare: async () => null, erase: async () => {}, kept: async () => [] };
}

/** overlay on XFS with project quotas is where Docker and Podman enforce a size. */
async function hasQuota({ storageDriver, rootDir }: EngineInfo): Promise<boolean> {
  if (!storageDriver.startsWith('overlay')) return false;
  const holder = (await mounts())
    .filter(({ target }) => target === '/' || rootDir === target || rootDir.startsWith(`${target}/`))
    .sort((a, b) => b.target.length - a.target.length)[0];
  return holder?.type === 'xfs' && /\b(prjquota|pquota)\b/.test(holder.options);
}

/** A sparse ext4 file for each instance, mounted through a loop device. Needs root. */
class VolumeDisks implements Disks {
  readonly limit = 'volume';

  constructor(private readonly dir: string) {}

  async prepare(instanceId: string, diskGb: number): Promise<string> {
    const target = this.target(instanceId);
    if (await isMounted(target)) return target;
    await this.format(instanceId, diskGb * BYTES_PER_GB);
    await mkdir(target, { recursive: true, mode: 0o700 });
    await output('mount', '-o', 'loop,nodev,discard', this.image(instanceId), target);
    // A new file system has it, and a renter who looks into /workspace expects nothing there.
    await rmdir(join(target, 'lost+found')).catch(() => {});
    return target;
  }

  async erase(instanceId: string): Promise<void> {
    const target = this.target(instanceId);
    if (await isMounted(target)) await output('umount', target);
    await rm(this.image(instanceId), { force: true });
    await rm(this.unfinished(instanceId), { force: true });
    // Not recursive: were something mounted there still, it must not be emptied.
    await rmdir(target).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }

  async kept(): Promise<string[]> {
    const names = await readdir(this.dir).catch(() => []);
    return names.flatMap((name) => IMAGE.exec(name)?.[1] ?? []);
  }

  /** Tries it for real: loop devices, mkfs.ext4 and the right to mount may each be missing. */
  async work(): Promise<boolean> {
    const target = this.target(PROBE);
    try {
      await this.format(PROBE, PROBE_BYTES);
      await mkdir(target, { recursive: true });
      await output('mount', '-o', 'loop,nodev,discard', this.image(PROBE), target);
      return true;
    } catch {
      return false;
    } finally {
      await this.erase(PROBE).catch(() => {});
    }
  }

  /** Whole or not at all: a file system that was being made when the host died is made again. */
  private async format(name: string, sizeBytes: number): Promise<void> {
    await mkdir(this.dir, { recursive: true, mode: 0o700 });
    const names = await readdir(this.dir);
    if (names.includes(`${name}.ext4`)) return;
    const unfinished = this.unfinished(name);
    const file = await open(unfinished, 'w', 0o600);
    await file.truncate(sizeBytes).finally(() => file.close());
    // No blocks are reserved for root, who is the renter; inode tables are written when they are used.
    await output('mkfs.ext4', '-q', '-F', '-m', '0', '-E', 'lazy_itable_init=1,nodiscard', unfinished);
    await rename(unfinished, this.image(name));
  }

  private image(name: string): string {
    return join(this.dir, `${name}.ext4`);
  }

  private unfinished(name: string): string {
    return join(this.dir, `${name}.new`);
  }

  private target(name: string): string {
    return join(this.dir, name);
  }
}

export async function isMounted(target: string): Promise<boolean> {
  return (await mounts()).some((mount) => mount.target === target);
}

interface Mount {
  target: string;
  type: string;
  options: string;
}

/** Of this process' mount namespace; spaces and the like in paths are written as octal there. */
async function mounts(): Promise<Mount[]> {
  const text = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [before = '', after = ''] = line.split(' - ');
      const target = before.split(' ')[4] ?? '';
      const [type = '', , options = ''] = after.split(' ');
      return {
        target: target.replace(/\\(\d{3})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 8))),
        type,
        options,
      };
    });
}
