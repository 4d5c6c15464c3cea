import { chown, mkdir, readdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineFault } from './engine/engine.js';
import { isMounted } from './file-systems.js';
import { output } from './shell.js';

const MAX_MB = 4;

/** Secrets as files. Each instance with secrets gets a small in-memory file system, mounted at its /run/secrets. */
export class SecretFiles {
  readonly #dir: string;

  constructor(dataDir: string) {
    this.#dir = join(dataDir, 'secrets');
  }

  /** Whether the instance has its files. They are gone after a stop or a host reboot. */
  has(instanceId: string): Promise<boolean> {
    return isMounted(this.path(instanceId));
  }

  path(instanceId: string): string {
    return join(this.#dir, instanceId);
  }

  /** Writes the files, which requires the right to mount file systems. */
  async write(instanceId: string, files: Readonly<Record<string, string>>): Promise<void> {
    const path = this.path(instanceId);
    await this.erase(instanceId);
    await mkdir(path, { recursive: true, mode: 0o700 });
    try {
      await output('mount', '-t', 'tmpfs', '-o', `size=${MAX_MB}m,mode=0755,nosuid,nodev,noexec`, 'tmpfs', path);
    } catch {
      throw new EngineFault(
        'refused',
        "this host can't provide secrets as files: its agent can't mount file systems",
        true,
      );
    }
    for (const [name, value] of Object.entries(files))
      await writeFile(join(path, name), value, { mode: 0o400, flag: 'wx' });
  }

  /** Makes the image's user the owner of the files, which no other user may read. */
  async own(instanceId: string, userId: number): Promise<void> {
    const path = this.path(instanceId);
    for (const name of await readdir(path)) await chown(join(path, name), userId, 0);
  }

  async erase(instanceId: string): Promise<void> {
    const path = this.path(instanceId);
    if (await isMounted(path)) await output('umount', path);
    await rmdir(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }

  /** Returns the instances that have secret files, which may have been left by an agent that was killed. */
  async kept(): Promise<string[]> {
    return readdir(this.#dir).catch(() => []);
  }
}
