import DataLoader from 'dataloader';
import type { Database } from '../../database/database.js';
import type { Volume as VolumeRow } from '../../database/generated/client/client.js';
import { required } from '../../std/required.js';
import type { Instant } from '../kernel/time.js';
import { isOver } from './ended-leases.js';

/** Maximum number of instances read by one statement. */
const MAX_BATCH = 200;

/** A volume attached to an instance, as shown to the renter. */
export interface Attachment {
  volume: VolumeRow;
  path: string;
  /** The volume's size when the instance last started. */
  sizeGb: number;
  /** Whether the instance holds the volume's lease, because it is running or its last changes are not stored yet. */
  holds: boolean;
  /** Time of this instance's newest snapshot. Null before the first one. */
  lastSnapshotAt: Instant | null;
  /** Changes that the instance made after this time were lost and will never reach the store. */
  lostSince: Instant | null;
  /** Why the last snapshot failed. */
  message: string | null;
}

interface AttachmentRow extends Omit<Attachment, 'volume'> {
  instanceId: string;
  volumeId: string;
}

/** Loads instances' volumes. All loads within one event loop turn share two statements. Nothing is cached. */
export class AttachmentLoader {
  readonly #attachments: DataLoader<string, Attachment[]>;

  /** Hosts last seen before `silentBefore` no longer hold any leases. */
  constructor({ pool, prisma }: Pick<Database, 'pool' | 'prisma'>, silentBefore: () => string) {
    const read = async (ids: readonly string[]) => {
      const { rows } = await pool.query<AttachmentRow>({
        name: 'attachments',
        text: ATTACHMENTS_SQL,
        values: [ids, silentBefore()],
      });
      const volumes = await prisma.volume.findMany({ where: { id: { in: rows.map(({ volumeId }) => volumeId) } } });
      const byId = new Map(volumes.map((volume) => [volume.id, volume]));
      const of = (id: string) => rows.filter(({ instanceId }) => instanceId === id);
      return ids.map((id) =>
        of(id).map((row) => ({ ...row, volume: required(byId.get(row.volumeId), 'attached volume') })),
      );
    };
    this.#attachments = new DataLoader(read, {
      cache: false,
      maxBatchSize: MAX_BATCH,
      batchScheduleFn: (send) => setImmediate(send),
    });
  }

  /** Returns the attachments, sorted by path. */
  of(instanceId: string): Promise<Attachment[]> {
    return this.#attachments.load(instanceId);
  }
}

const ATTACHMENTS_SQL = `
  select instance_id as "instanceId", volume_id as "volumeId", path, attached.size_gb as "sizeGb", message,
    lost_since as "lostSince", coalesce(holder.id = instance_id, false) and (${isOver('$2', 'null')}) is not true as holds, (
      select max(at) from volume_snapshot own where own.volume_id = volume.id and own.instance_id = attached.instance_id
    ) as "lastSnapshotAt"
  from volume_attachment attached join volume on volume.id = volume_id left join instance holder on holder.id = lease_instance_id
  where instance_id = any($1::text[]) order by instance_id, path`;
