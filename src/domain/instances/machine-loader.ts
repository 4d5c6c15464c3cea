import DataLoader from 'dataloader';
import type pg from 'pg';
import { INSTANCE_COLUMNS } from '../billing/ledger-rows.js';
import type { MachineForAdmission } from '../kernel/admission.js';
import type { Instance } from '../kernel/lifecycle.js';
import { MACHINE_FOR_ADMISSION, MACHINE_ON_HOST, onHostOf } from '../kernel/machine-condition.js';

/** Maximum number of machines read by one statement. */
const MAX_BATCH = 200;

const MACHINES = {
  name: 'machines-by-id',
  text: `select ${MACHINE_FOR_ADMISSION},
           (select on_demand_rate from gpu_price where gpu = machine.gpu order by snapshot_date desc limit 1) as "ratePerGpu"
         from ${MACHINE_ON_HOST} where machine.id = any($1::text[])`,
};
const LIVE_INSTANCES = {
  name: 'live-on-hosts',
  text: `select ${INSTANCE_COLUMNS} from instance where ${onHostOf('= any($1::text[])')} and status <> 'DESTROYED'
         order by machine_id, sequence, id`,
};

export type MachineAsRead = Readonly<MachineForAdmission<Readonly<Instance>> & Pick<Instance, 'hostId'>>;

/**
 * Reads machines for previewing the rules' decisions. The real decision reads them again under a lock. All loads in the
 * same turn of the event loop share two statements, and nothing is cached.
 */
export class MachineLoader {
  readonly #machines: DataLoader<string, MachineAsRead | null>;

  constructor(pool: pg.Pool) {
    const read = async (ids: readonly string[]) => {
      const [machines, instances] = await Promise.all([
        pool.query<Omit<MachineAsRead, 'liveInstances'>>({ ...MACHINES, values: [ids] }),
        pool.query<Instance>({ ...LIVE_INSTANCES, values: [ids] }),
      ]);
      const onHost = new Map<string, Instance[]>(machines.rows.map(({ hostId }) => [hostId, []]));
      for (const instance of instances.rows) onHost.get(instance.hostId)?.push(instance);
      const byId = new Map(
        machines.rows.map((row) => [row.id, { ...row, liveInstances: onHost.get(row.hostId) ?? [] }]),
      );
      return ids.map((id) => byId.get(id) ?? null);
    };
    this.#machines = new DataLoader(read, {
      cache: false,
      maxBatchSize: MAX_BATCH,
      batchScheduleFn: (send) => setImmediate(send),
    });
  }

  /** Returns the machine as stored, with the live instances on its host. Returns null if the machine doesn't exist. */
  machine(id: string): Promise<MachineAsRead | null> {
    return this.#machines.load(id);
  }
}
