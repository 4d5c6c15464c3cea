import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** Content of a volume's file on this host. */
const volumeRecord = z.object({
  /** The instance that had it last. */
  instance: z.string(),
  lease: z.number(),
  /**
   * `unfinished`: it is being restored, and is unusable. `whole`: exactly its snapshot, or empty where that is null; no
   * container has written since. `used`: a container may have written since; the snapshot has the earlier state.
   */
  state: z.enum(['unfinished', 'whole', 'used']),
  snapshot: z.string().nullable(),
  sizeBytes: z.number().nullable(),
  /** Whether the snapshot was made on this host under this lease. */
  own: z.boolean(),
});
export type VolumeRecord = z.infer<typeof volumeRecord>;

const SUFFIX = '.json';

/** A small file next to each volume's, flushed to the host's disk before its content is relied on. */
export class VolumeRecords {
  constructor(private readonly dir: string) {}

  /** Null where no readable record exists: the volume's file is then unusable. */
  async read(volumeId: string): Promise<VolumeRecord | null> {
    const text = await readFile(this.#path(volumeId), 'utf8').catch(() => null);
    if (text === null) return null;
    try {
      return volumeRecord.parse(JSON.parse(text));
    } catch {
      return null;
    }
  }

  async write(volumeId: string, record: VolumeRecord): Promise<void> {
    await mkdir(this.dir, { recursive: true, mode: 0o700 });
    const unfinished = `${this.#path(volumeId)}.new`;
    const file = await open(unfinished, 'w', 0o600);
    try {
      await file.writeFile(JSON.stringify(record));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(unfinished, this.#path(volumeId));
    const dir = await open(this.dir);
    await dir.sync().finally(() => dir.close());
  }

  async erase(volumeId: string): Promise<void> {
    await rm(this.#path(volumeId), { force: true });
  }

  async ids(): Promise<string[]> {
    const files = await readdir(this.dir).catch(() => []);
    return files.filter((file) => file.endsWith(SUFFIX)).map((file) => file.slice(0, -SUFFIX.length));
  }

  #path(volumeId: string): string {
    return join(this.dir, `${volumeId}${SUFFIX}`);
  }
}
