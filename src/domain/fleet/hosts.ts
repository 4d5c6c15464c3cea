import type { Report } from '../../agent-protocol/protocol.js';
import { inTransaction, type Transaction } from '../../database/transaction.js';
import { gpusOf, type HostBlocks, type HostRow, lockHost, writeBlocks } from '../inventory/host-blocks.js';
import { missingOf } from '../inventory/rules/host-gpus.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import type { NewEvent } from '../kernel/events.js';
import { onHostOf, USED_GB } from '../kernel/machine-condition.js';
import type { MachineState } from '../kernel/machine-state.js';
import { emit } from '../kernel/outbox.js';
import { blocksOf } from '../kernel/slices.js';
import { formatInstant, type Instant } from '../kernel/time.js';

/** A host with an agent, as shown to the operator. */
export interface HostView extends HostBlocks {
  state: MachineState;
  reachable: boolean;
  joinedAt: Instant;
  /** GPUs without a running instance. */
  freeGpus: number;
  diskGb: number;
  usedDiskGb: number;
  /** The host's sold or occupied blocks, each with its running instance. */
  blocks: readonly { id: string; firstGpu: number; numGpus: number; gpu: string; sold: boolean; runs: string | null }[];
}

/** Returns up to 10,000 hosts with an agent, ordered by id. If an id is given, returns only that host. */
export async function listHosts({ db }: Pick<KernelDeps, 'db'>, id: string | null = null): Promise<HostView[]> {
  const { rows } = await db.pool.query<HostView & Pick<HostRow, 'gpu' | 'joined'>>(HOSTS_SQL, [id]);
  if (id !== null && rows.length === 0) throw new DomainError('not_found', `machine ${id} has no agent`);
  return rows.map(({ gpu, joined, ...host }) => ({ ...host, gpus: gpusOf(host.gpus, gpu, joined) }));
}

/**
 * Sets the block sizes in which a host's GPUs are sold. Existing rentals continue. Throws not_found or invalid_request.
 */
export async function sellSlices(deps: Pick<KernelDeps, 'db'>, id: string, sizes: readonly number[]): Promise<void> {
  await inTransaction(deps.db.pool, async (transaction) => {
    const host = await lockHost(transaction, id);
    if (host === null) throw new DomainError('not_found', `machine ${id} has no agent, so it can only be rented whole`);
    const models = host.gpus.map(({ model }) => model);
    if (blocksOf({ id, models, sizes }).length === 0)
      throw new DomainError(
        'invalid_request',
        `no block of these sizes fits host ${id}, which has ${models.length} GPUs`,
      );
    await transaction.query('update machine_host set slices = $2 where machine_id = $1', [id, [...sizes]]);
    await writeBlocks(transaction, { ...host, sizes });
  });
}

/**
 * Records an agent's GPUs and protocol version. A machine with a missing GPU is not offered. Renters of instances on it
 * are notified, and they aren't charged until the GPU is back.
 */
export async function recordGpus(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  id: string,
  { protocol, gpus }: Pick<Report, 'protocol' | 'gpus'>,
): Promise<void> {
  await inTransaction(deps.db.pool, async (transaction) => {
    const host = await lockHost(transaction, id);
    if (host === null) return;
    const missing = gpus === undefined ? host.missing : missingOf(host.gpus, gpus);
    const values = [id, protocol, JSON.stringify(host.gpus), missing];
    await transaction.query(
      'update machine_host set protocol = $2, gpus = $3, missing = $4 where machine_id = $1',
      values,
    );
    await writeBlocks(transaction, { ...host, protocol, missing });
    await recordLosses(transaction, { id, protocol, missing }, deps.clock.now());
  });
  // This isn't published as a host change, because gateways would then close the connections to all of its instances.
  deps.db.notices.publish([{ table: 'machine', ids: [id] }]);
}

/**
 * Begins losses for instances with missing GPUs, and ends losses for instances whose GPUs are all back. Protocol 1
 * agents can't run parts of a host, so instances on such parts lose all of their GPUs. The host must be locked.
 */
export async function recordLosses(
  transaction: Transaction,
  { id, protocol, missing }: Pick<HostBlocks, 'id' | 'protocol' | 'missing'>,
  at: Instant,
): Promise<void> {
  const values = [id, missing, protocol === 1, formatInstant(at)];
  await transaction.query(END_LOSSES, values);
  const { rows } = await transaction.query<Loss>(BEGIN_LOSSES, values);
  const events = rows.map(({ accountId, instanceId, machineId, lost }): NewEvent => {
    const data = { instance: instanceId, machine: machineId, gpus_missing: Number(lost) };
    return { accountId, type: 'instance.gpu_missing', subject: instanceId, at, data };
  });
  if (events.length > 0) transaction.later(emit(events));
}

interface Loss {
  accountId: string;
  instanceId: string;
  machineId: string;
  lost: bigint;
}

const HOSTS_SQL = `
  select machine.id, machine.gpu, machine.state, machine.disk_gb as "diskGb", slices as sizes, protocol, missing, gpus,
    hardware -> 'gpus' as joined, joined_at as "joinedAt", coalesce(heartbeat.reachable, false) as reachable,
    machine.num_gpus - (select count(*)::int from sold_gpu where host_id = machine.id) as "freeGpus",
    (select coalesce(sum(${USED_GB}), 0)::int from instance where status <> 'DESTROYED' and ${onHostOf('= agent.machine_id')})
      as "usedDiskGb",
    (select json_agg(json_build_object('id', block.id, 'firstGpu', block.first_gpu, 'numGpus', block.num_gpus, 'gpu', block.gpu,
        'sold', block.sold, 'runs', (select id from instance where machine_id = block.id and status = 'RUNNING'))
        order by block.num_gpus, block.first_gpu)
      from machine block where block.host_id = machine.id) as blocks
  from machine_host agent join machine on machine.id = agent.machine_id left join machine_heartbeat heartbeat using (machine_id)
  where $1::text is null or machine.id = $1 order by machine.id limit 10000`;

/**
 * The number of `block`'s GPUs that are among the indexes `$2`, or all of its GPUs if the agent can't run parts of a
 * host (`$3`).
 */
const LOST = `case when $3 and block.id <> block.host_id then block.num_gpus else (
  select count(*) from unnest($2::int[]) as place where place between block.first_gpu and block.first_gpu + block.num_gpus - 1) end`;

const END_LOSSES = `
  update gpu_loss set ended_at = greatest($4::timestamptz, started_at)
  from instance join machine block on block.id = machine_id
  where instance.id = instance_id and block.host_id = $1 and ended_at is null and ${LOST} = 0`;

/** Resumes a loss that ended in the same second in which a new one would begin. */
const BEGIN_LOSSES = `
  with lost as (
    select instance.id, account_id, block.id as machine_id, ${LOST} as gpus
    from machine block join instance on machine_id = block.id and status = 'RUNNING' where block.host_id = $1
  ), begun as (
    insert into gpu_loss (instance_id, started_at) select id, $4::timestamptz from lost
    where gpus > 0 and not exists (select from gpu_loss before where before.instance_id = lost.id and ended_at is null)
    on conflict (instance_id, started_at) do update set ended_at = null, settled = false returning instance_id
  )
  select account_id as "accountId", id as "instanceId", machine_id as "machineId", gpus as lost
  from lost join begun on instance_id = id`;
