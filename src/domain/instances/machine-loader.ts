import DataLoader from 'dataloader';
import type pg from 'pg';
import { INSTANCE_COLUMNS } from '../billing/ledger-rows.js';
import { HAS_OLD_AGENT, MACHINE_CONDITION, WATCHES_LOAD } from '../machine-condition.js';
import type { MachineForAdmission } from '../rules/admission.js';
import type { Instance } from '../rules/lifecycle.js';

/** Most machines that one statement reads. */
const MAX_BATCH = 200;

const MACHINES = {
  name: 'machines-by-id',
  text: `select id, gpu, num_gpus as "numGpus", disk_gb as "diskGb", ${MACHINE_CONDITION} as state,
           ${HAS_OLD_AGENT} as "hasOldAgent", ${WATCHES_LOAD} as "watchesLoad",
           (select on_demand_rate from gpu_price where gpu = machine.gpu order by snapshot_date desc limit 1) as "ratePerGpu"
         from machine where id = any($1::text[])`,
};
const LIVE_INSTANCES = {
  name: 'live-on-machines',
  text: `select ${INSTANCE_COLUMNS} from instance where machine_id = any($1::text[]) and status <> 'DESTROYED'
         order by machine_id, sequence, id`,
};

export type MachineAsRead = Readonly<MachineForAdmission<Readonly<Instance>>>;

/**
 * Reads machines to preview what the rules would decide; the decision itself reads them again, under lock. All loads of
 * one turn of the event loop share two statements, and nothing is cached.
 */
export class MachineLoader {
  readonly #machines: DataLoader<string, MachineAsRead | null>;

  constructor(pool: pg.Pool) {
    const read = async (ids: readonly string[]) => {
      const [machines, instances] = await Promise.all([
        pool.query<Omit<MachineAsRead, 'liveInstances'>>({ ...MACHINES, values: [ids] }),
        pool.query<Instance>({ ...LIVE_INSTANCES, values: [ids] }),
      ]);
      const onMachine = new Map<string, Instance[]>(ids.map((id) => [id, []]));
      for (const instance of instances.rows) onMachine.get(instance.machineId)!.push(instance);
      const byId = new Map(machines.rows.map((row) => [row.id, { ...row, liveInstances: onMachine.get(row.id)! }]));
      return ids.map((id) => byId.get(id) ?? null);
    };
    this.#machines = new DataLoader(read, {
      cache: false,
      maxBatchSize: MAX_BATCH,
      batchScheduleFn: (send) => setImmediate(send),
    });
  }

  /** The machine as stored, with the undestroyed instances on it; null when there is none. */
  machine(id: string): Promise<MachineAsRead | null> {
    return this.#machines.load(id);
  }
}
