import type { Report } from '../../agent/protocol.js';
import { inTransaction, type Transaction } from '../../database/transaction.js';
import type { Deps } from '../deps.js';
import { onHostOf } from '../machine-condition.js';
import { emit } from '../outbox.js';
import { DomainError } from '../rules/errors.js';
import type { NewEvent } from '../rules/events.js';
import { type HostGpu, type HostLayout, missingOf } from '../rules/host-gpus.js';
import type { MachineState } from '../rules/machine-state.js';
import { ALL_SIZES, type Block, blocksOf, shareOf, WHOLE_ONLY } from '../rules/slices.js';
import { formatInstant, type Instant } from '../rules/time.js';

/** What decides which blocks of a host are sold. */
export interface HostBlocks extends HostLayout {
  id: string;
  /** Of ALL_SIZES. */
  sizes: readonly number[];
  /** Of its agent. */
  protocol: number;
}

/** A host with an agent, for the operator. */
export interface HostView extends HostBlocks {
  state: MachineState;
  reachable: boolean;
  joinedAt: Instant;
  /** GPUs on which nothing runs. */
  freeGpus: number;
  diskGb: number;
  usedDiskGb: number;
  /** Its blocks, sold or with something on them, and the instance that runs on each. */
  blocks: readonly { id: string; firstGpu: number; numGpus: number; gpu: string; sold: boolean; runs: string | null }[];
}

/** Hosts with an agent by id, at most 10,000; with an id, that one. */
export async function listHosts({ db }: Deps, id: string | null = null): Promise<HostView[]> {
  const { rows } = await db.pool.query<HostView & Pick<HostRow, 'gpu' | 'joined'>>(HOSTS_SQL, [id]);
  if (id !== null && rows.length === 0) throw new DomainError('not_found', `machine ${id} has no agent`);
  return rows.map(({ gpu, joined, ...host }) => ({ ...host, gpus: gpusOf(host.gpus, gpu, joined) }));
}

interface WholeHost {
  vcpus: number;
  ramGb: number;
  diskGb: number;
  down: number;
  up: number;
  ports: number;
  nvlink: boolean;
}

/**
 * Writes the machines that a host is sold as: a row for each block of every size, so that those which are rented stay
 * machines whatever the operator sells later. Its own row has been written, and is locked.
 */
export async function writeBlocks(transaction: Transaction, host: HostBlocks): Promise<void> {
  const { id, gpus, missing, sizes, protocol } = host;
  const models = gpus.map(({ model }) => model);
  // Agents of protocol 1 give an instance the first GPUs of the host.
  const soldSizes = protocol === 1 ? WHOLE_ONLY : sizes;
  const sold = new Set(blocksOf({ id, models, sizes: soldSizes, missing }).map(({ machineId }) => machineId));
  const { rows } = await transaction.query<WholeHost>(HOST_SQL, [id]);
  const whole = rows[0]!;
  const blocks = blocksOf({ id, models, sizes: ALL_SIZES }).filter(({ machineId }) => machineId !== id);
  const values = blocks.map(({ machineId, gpu, ...block }) => ({
    id: machineId,
    gpu,
    first_gpu: block.first,
    num_gpus: block.count,
    ...sharesOf(whole, block, gpus.length),
  }));
  await transaction.query(WRITE_BLOCKS, [id, JSON.stringify(values)]);
  await transaction.query(NOTE_SOLD, [id, [...sold]]);
}

function sharesOf(whole: WholeHost, block: Block, hostGpus: number) {
  const share = (amount: number) => shareOf(amount, block, hostGpus);
  return {
    vcpus: share(whole.vcpus),
    ram_gb: share(whole.ramGb),
    disk_gb: share(whole.diskGb),
    net_down_mbps: share(whole.down),
    net_up_mbps: share(whole.up),
    ports: share(whole.ports),
    nvlink: whole.nvlink && block.count > 1,
  };
}

/** The operator sells a host's GPUs in these sizes from now on. What is rented goes on. Refuses with not_found and invalid_request. */
export async function sellSlices(deps: Deps, id: string, sizes: readonly number[]): Promise<void> {
  await inTransaction(deps.db.pool, async (transaction) => {
    const host = await lockHost(transaction, id);
    if (host === null) throw new DomainError('not_found', `machine ${id} has no agent: it is rented whole`);
    const models = host.gpus.map(({ model }) => model);
    if (blocksOf({ id, models, sizes }).length === 0)
      throw new DomainError('invalid_request', `host ${id} has ${models.length} GPUs: no block of these sizes fits`);
    await transaction.query('update machine_host set slices = $2 where machine_id = $1', [id, [...sizes]]);
    await writeBlocks(transaction, { ...host, sizes });
  });
}

/**
 * Notes which GPUs an agent has and what it understands. A machine with a missing GPU is not offered; what runs there is
 * told, and is not paid for from now until the GPU is back.
 */
export async function noteGpus(
  deps: Deps,
  id: string,
  { protocol, gpus }: Pick<Report, 'protocol' | 'gpus'>,
): Promise<void> {
  const at = formatInstant(deps.clock.now());
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
    await transaction.query(END_LOSSES, [id, missing, at]);
    const { rows } = await transaction.query<Loss>(BEGIN_LOSSES, [id, missing, at]);
    const events = rows.map(({ accountId, instanceId, machineId, lost }): NewEvent => {
      const data = { instance: instanceId, machine: machineId, gpus_missing: Number(lost) };
      return { accountId, type: 'instance.gpu_missing', subject: instanceId, at: deps.clock.now(), data };
    });
    if (events.length > 0) transaction.later(emit(events));
  });
  deps.db.notices.publish([{ table: 'host', machine: id }]);
}

interface Loss {
  accountId: string;
  instanceId: string;
  machineId: string;
  lost: bigint;
}

/** What is known of a host's GPUs, under the lock that rentals on it wait for; null for one without an agent. */
export async function lockHost(transaction: Transaction, id: string): Promise<HostBlocks | null> {
  const { rows } = await transaction.query<HostRow>(LOCK_SQL, [id]);
  const row = rows[0];
  if (row === undefined) return null;
  const { gpu, joined, ...host } = row;
  return { ...host, gpus: gpusOf(host.gpus, gpu, joined) };
}

/** One that joined a version before slices has the GPUs that it joined with. */
function gpusOf(gpus: readonly HostGpu[], gpu: string, joined: HostRow['joined']): readonly HostGpu[] {
  return gpus.length > 0 ? gpus : joined.map(({ uuid }) => ({ uuid, model: gpu }));
}

interface HostRow extends HostBlocks {
  gpus: HostGpu[];
  gpu: string;
  /** GPUs of a host that joined a version before slices. */
  joined: { uuid: string }[];
}

const LOCK_SQL = `
  select machine.id, machine.gpu, slices as sizes, protocol, missing, gpus, hardware -> 'gpus' as joined
  from machine join machine_host on machine_id = machine.id where machine.id = $1 for no key update of machine`;

const HOSTS_SQL = `
  select machine.id, machine.gpu, machine.state, machine.disk_gb as "diskGb", slices as sizes, protocol, missing, gpus,
    hardware -> 'gpus' as joined, joined_at as "joinedAt", coalesce(heartbeat.reachable, false) as reachable,
    machine.num_gpus - (select count(*)::int from sold_gpu where host_id = machine.id) as "freeGpus",
    (select coalesce(sum(instance.disk_gb), 0)::int from instance where status <> 'DESTROYED' and ${onHostOf('= agent.machine_id')})
      as "usedDiskGb",
    (select json_agg(json_build_object('id', block.id, 'firstGpu', block.first_gpu, 'numGpus', block.num_gpus, 'gpu', block.gpu,
        'sold', block.sold, 'runs', (select id from instance where machine_id = block.id and status = 'RUNNING'))
        order by block.num_gpus, block.first_gpu)
      from machine block where block.host_id = machine.id) as blocks
  from machine_host agent join machine on machine.id = agent.machine_id left join machine_heartbeat heartbeat using (machine_id)
  where $1::text is null or machine.id = $1 order by machine.id limit 10000`;

const HOST_SQL = `
  select vcpus, ram_gb as "ramGb", disk_gb as "diskGb", net_down_mbps as down, net_up_mbps as up, ports, nvlink
  from machine where id = $1`;

/** What the blocks have of the host beside their shares is the same. */
const WRITE_BLOCKS = `
  insert into machine (id, host_id, gpu, first_gpu, num_gpus, region, cpu, vcpus, ram_gb, disk_gb, net_down_mbps, net_up_mbps,
    ports, pcie, nvlink, cuda_max, reliability, state, demo, created_at, sold)
  select block.id, host.id, block.gpu, block.first_gpu, block.num_gpus, host.region, host.cpu, block.vcpus, block.ram_gb,
    block.disk_gb, block.net_down_mbps, block.net_up_mbps, block.ports, host.pcie, block.nvlink, host.cuda_max,
    host.reliability, host.state, host.demo, host.created_at, false
  from machine host, jsonb_populate_recordset(null::machine, $2::jsonb) block where host.id = $1
  on conflict (id) do update set gpu = excluded.gpu, first_gpu = excluded.first_gpu, num_gpus = excluded.num_gpus,
    region = excluded.region, cpu = excluded.cpu, vcpus = excluded.vcpus, ram_gb = excluded.ram_gb, disk_gb = excluded.disk_gb,
    net_down_mbps = excluded.net_down_mbps, net_up_mbps = excluded.net_up_mbps, ports = excluded.ports, pcie = excluded.pcie,
    nvlink = excluded.nvlink, cuda_max = excluded.cuda_max, reliability = excluded.reliability, state = excluded.state,
    demo = excluded.demo
  where machine.host_id = excluded.host_id`;

const NOTE_SOLD =
  'update machine set sold = (id = any($2::text[])) where host_id = $1 and sold <> (id = any($2::text[]))';

/** GPUs of `block` that are among the places `$2`. */
const LOST = `(select count(*) from unnest($2::int[]) as place where place between block.first_gpu and block.first_gpu + block.num_gpus - 1)`;

const END_LOSSES = `
  update machine_outage outage set ended_at = greatest($3::timestamptz, started_at + interval '1 second'), settled = false
  from machine block where block.id = outage.machine_id and block.host_id = $1 and ended_at is null and ${LOST} = 0`;

/** Of what runs on such GPUs, and is not known to. */
const BEGIN_LOSSES = `
  with lost as (
    select instance.id, account_id, block.id as machine_id, ${LOST} as gpus
    from machine block join instance on machine_id = block.id and status = 'RUNNING'
    where block.host_id = $1 and ${LOST} > 0
  ), begun as (
    insert into machine_outage (machine_id, started_at) select machine_id, $3::timestamptz from lost
    where not exists (select from machine_outage before where before.machine_id = lost.machine_id and ended_at is null)
    on conflict (machine_id, started_at) do nothing returning machine_id
  )
  select account_id as "accountId", id as "instanceId", machine_id as "machineId", gpus as lost from lost join begun using (machine_id)`;
