import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FileSystems } from '../file-systems.js';
import { Limiter } from '../limiter.js';
import { HostVolume } from './host-volume.js';
import { InstanceVolumes, type InstanceVolumesContext } from './instance-volumes.js';
import { Restic } from './restic.js';
import { VolumeRecords } from './volume-records.js';

const VOLUME = /^v-[a-f0-9]{8}$/;
const MAX_CONCURRENT_RESTORES = 2;
const MAX_CONCURRENT_SAVES = 2;
/**
 * Maximum time that the host's other volumes wait for one, because a renter can create a volume that takes days to read
 * or restore.
 */
const PLACE_LENT_MS = 600_000;

type Of = 'clock' | 'access' | 'isRunning' | 'changed' | 'trouble';

/** A host's volumes, as files under `volumes` in the agent's data folder. */
export class HostVolumes {
  readonly #records: VolumeRecords;
  readonly #files: FileSystems;
  readonly #snapshots = new Limiter(1, PLACE_LENT_MS);
  readonly #restores = new Limiter(MAX_CONCURRENT_RESTORES, PLACE_LENT_MS);
  readonly #saves = new Limiter(MAX_CONCURRENT_SAVES, PLACE_LENT_MS);

  private constructor(
    private readonly dir: string,
    private readonly gatewayUrl: string,
    private readonly restic: Restic | null,
    /** Why this host offers no volumes, or null if it does. The reason is for the operator and in part for renters. */
    readonly whyNone: string | null,
  ) {
    this.#records = new VolumeRecords(dir);
    this.#files = new FileSystems(dir);
  }

  /** Tests what volumes need: restic, mounts, and a mount namespace for restic. */
  static async open(dataDir: string, gatewayUrl: string): Promise<HostVolumes> {
    const dir = join(dataDir, 'volumes');
    try {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      const restic = await Restic.open(dir);
      const fault = await new FileSystems(dir).fault();
      if (fault !== null) throw new Error(`no volumes: this host can't mount file systems (${fault})`);
      return new HostVolumes(dir, gatewayUrl, restic, null);
    } catch (error) {
      return new HostVolumes(dir, gatewayUrl, null, (error as Error).message);
    }
  }

  get isOffered(): boolean {
    return this.restic !== null;
  }

  /** restic's version, or the reason why there are no volumes. */
  get summary(): string {
    return this.whyNone ?? `restic ${this.restic!.version}`;
  }

  of(instanceId: string, context: Pick<InstanceVolumesContext, Of>): InstanceVolumes {
    return new InstanceVolumes(instanceId, {
      ...context,
      volume: (id) => this.#volume(id),
      whyNone: this.whyNone,
      snapshots: this.#snapshots,
      restores: this.#restores,
      saves: this.#saves,
      heldBy: async (id) => (await this.#held()).flatMap(({ volume, instance }) => (instance === id ? [volume] : [])),
    });
  }

  /** Returns the number of bytes used in a volume, or null while it is not mounted. Rejects if it doesn't exist. */
  usedBytes(volumeId: string): Promise<number | null> {
    return this.#files.usedBytes(volumeId);
  }

  /** Returns the instances that were the last to use a volume on this host. */
  async kept(): Promise<string[]> {
    return [...new Set((await this.#held()).map(({ instance }) => instance))];
  }

  async #held(): Promise<{ volume: string; instance: string }[]> {
    const ids = (await this.#records.ids()).filter((id) => VOLUME.test(id));
    const records = await Promise.all(
      ids.map(async (volume) => ({ volume, record: await this.#records.read(volume) })),
    );
    return records.flatMap(({ volume, record }) => (record === null ? [] : [{ volume, instance: record.instance }]));
  }

  #volume(id: string): HostVolume {
    const { restic, gatewayUrl, dir } = this;
    const parts = { files: this.#files, records: this.#records, restic, gatewayUrl, cacheDir: join(dir, 'cache') };
    return new HostVolume(id, parts);
  }
}
