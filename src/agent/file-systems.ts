import { mkdir, open, readdir, readFile, rename, rm, rmdir, stat, statfs, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { output } from './shell.js';

const PROBE_BYTES = 8_388_608;
const PROBE = 'probe';
const MOUNT_OPTIONS = 'loop,nodev,discard';
const SUFFIX = '.ext4';

/**
 * Named file systems with a fixed size. Each is a sparse ext4 file in the same folder, mounted through a loop device,
 * which requires root.
 */
export class FileSystems {
  constructor(private readonly dir: string) {}

  /** Creates the file system if it is missing, or grows it if it is too small, and returns the mount point. */
  async mount(name: string, sizeBytes: number): Promise<string> {
    const target = this.target(name);
    if (await isMounted(target)) return target;
    await this.#format(name, sizeBytes);
    const image = this.#image(name);
    if ((await sizeOf(image)) < sizeBytes) await grow(image, sizeBytes);
    await mkdir(target, { recursive: true, mode: 0o700 });
    await output('mount', '-o', MOUNT_OPTIONS, image, target);
    // ext4 creates this folder, but a renter expects an empty file system.
    await rmdir(join(target, 'lost+found')).catch(() => {});
    return target;
  }

  /**
   * Returns the number of bytes used in the file system according to its block counts, or null if it is not mounted.
   */
  async usedBytes(name: string): Promise<number | null> {
    const target = this.target(name);
    const [{ dev }, { dev: around }] = await Promise.all([stat(target), stat(this.dir)]);
    if (dev === around) return null;
    const { blocks, bfree, bsize } = await statfs(target);
    return (blocks - bfree) * bsize;
  }

  /** Resolves when all writes have reached the host's disk. */
  async sync(name: string): Promise<void> {
    await output('sync', '-f', this.target(name));
  }

  async unmount(name: string): Promise<void> {
    const target = this.target(name);
    if (await isMounted(target)) await output('umount', target);
  }

  /** Resolves when nothing remains of the file system. */
  async erase(name: string): Promise<void> {
    await this.unmount(name);
    await rm(this.#image(name), { force: true });
    await rm(this.#unfinished(name), { force: true });
    // Not recursive, so that a file system still mounted there isn't emptied.
    await rmdir(this.target(name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }

  /** Returns the names of all existing file systems, mounted or not. */
  async names(): Promise<string[]> {
    const files = await readdir(this.dir).catch(() => []);
    return files.filter((file) => file.endsWith(SUFFIX)).map((file) => file.slice(0, -SUFFIX.length));
  }

  /**
   * Tests whether file systems work, since loop devices, mkfs.ext4 or the right to mount may be missing. Resolves to
   * the reason if they don't, otherwise to null.
   */
  async fault(): Promise<string | null> {
    try {
      await this.mount(PROBE, PROBE_BYTES);
      return null;
    } catch (error) {
      return (error as Error).message;
    } finally {
      await this.erase(PROBE).catch(() => {});
    }
  }

  target(name: string): string {
    return join(this.dir, name);
  }

  /**
   * Creates the file system completely or not at all. If the host crashes during creation, the file system is created
   * again.
   */
  async #format(name: string, sizeBytes: number): Promise<void> {
    await mkdir(this.dir, { recursive: true, mode: 0o700 });
    if ((await this.names()).includes(name)) return;
    const unfinished = this.#unfinished(name);
    const file = await open(unfinished, 'w', 0o600);
    await file.truncate(sizeBytes).finally(() => file.close());
    // Doesn't reserve blocks for root, because the renter is root. Inode tables are initialized on first use.
    await output('mkfs.ext4', '-q', '-F', '-m', '0', '-E', 'lazy_itable_init=1,nodiscard', unfinished);
    await rename(unfinished, this.#image(name));
  }

  #image(name: string): string {
    return join(this.dir, `${name}${SUFFIX}`);
  }

  #unfinished(name: string): string {
    return join(this.dir, `${name}.new`);
  }
}

/** Returns an ext4 file system's size from its superblock, since the file is larger if growing was interrupted. */
async function sizeOf(image: string): Promise<number> {
  const superblock = Buffer.alloc(1_024);
  const file = await open(image);
  try {
    const { bytesRead } = await file.read(superblock, 0, superblock.length, superblock.length);
    if (bytesRead < superblock.length) return 0;
  } finally {
    await file.close();
  }
  const blocks = superblock.readUInt32LE(0x4) + superblock.readUInt32LE(0x150) * 2 ** 32;
  return blocks * 2 ** (10 + superblock.readUInt32LE(0x18));
}

/**
 * Grows the file system while it is unmounted, because growing a mounted one requires more privileges than mounting.
 */
async function grow(image: string, sizeBytes: number): Promise<void> {
  if ((await stat(image)).size < sizeBytes) await truncate(image, sizeBytes);
  // e2fsck exits with 1 if it repaired something.
  await output('sh', '-c', 'e2fsck -f -p "$1" || [ $? -eq 1 ]', 'sh', image);
  await output('resize2fs', image);
}

export async function isMounted(target: string): Promise<boolean> {
  return (await mounts()).some((mount) => mount.target === target);
}

export interface Mount {
  target: string;
  type: string;
  options: string;
}

/**
 * Returns the mounts in this process's mount namespace, unescaping special characters such as spaces in their paths.
 */
export async function mounts(): Promise<Mount[]> {
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
