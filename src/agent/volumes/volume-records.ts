import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** Describes the content of a volume's file on this host. */
const volumeRecord = z.object({
  /** The last instance that used the volume. */
  instance: z.string(),
  lease: z.number(),
  /**
   * `unfinished`: the volume is being restored, and is unusable. `whole`: it is exactly its snapshot, or empty if that
   * is null, and no container has written to it since. `used`: a container may have written to it since, so the
   * snapshot is older.
   */
  state: z.enum(['unfinished', 'whole', 'used']),
  snapshot: z.string().nullable(),
  sizeBytes: z.number().nullable(),
  /** Whether the snapshot was taken on this host under this lease. */
  own: z.boolean(),
});
export type VolumeRecord = z.infer<typeof volumeRecord>;

const SUFFIX = '.json';

/** A small file next to each volume's file, flushed to the host's disk before its content is relied on. */
export class VolumeRecords {
  constructor(private readonly dir: string) {}

  /** Returns null if there is no readable record, in which case the volume's file is unusable. */
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
