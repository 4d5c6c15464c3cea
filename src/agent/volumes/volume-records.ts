import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** What the file of a volume on this host holds. */
const volumeRecord = z.object({
  /** Of the instance that had it last. */
  instance: z.string(),
  lease: z.number(),
  /**
   * `unfinished`: it is being restored, and is of no use. `whole`: exactly its snapshot, or empty where that is null; no
   * container wrote since. `used`: a container may have written since; the snapshot has what was there before.
   */
  state: z.enum(['unfinished', 'whole', 'used']),
  snapshot: z.string().nullable(),
  sizeBytes: z.number().nullable(),
  /** The snapshot was made on this host under this lease. */
  own: z.boolean(),
});
export type VolumeRecord = z.infer<typeof volumeRecord>;

const SUFFIX = '.json';

/** A small file beside each volume's, on the host's disk before what it says is relied on. */
export class VolumeRecords {
  constructor(private readonly dir: string) {}

  /** Null where there is none, or none that can be read: the volume's file is then of no use. */
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
