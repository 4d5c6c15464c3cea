import { only } from '../../database/only.js';
import type { Transaction } from '../../database/transaction.js';
import { DomainError } from '../kernel/errors.js';
import { ALL_SIZES, type Block, blocksOf, isLinked, shareOf, WHOLE_ONLY } from '../kernel/slices.js';
import type { HostGpu, HostLayout } from './rules/host-gpus.js';

/** A host's GPUs and every setting that determines which of its blocks are sold. */
export interface HostBlocks extends HostLayout {
  id: string;
  /** A subset of ALL_SIZES. */
  sizes: readonly number[];
  /** Protocol version of the host's agent. */
  protocol: number;
}

/** Locks a host the same way rentals do and returns its GPUs. Returns null if the host has no agent. */
export async function lockHost(transaction: Pick<Transaction, 'query'>, id: string): Promise<HostBlocks | null> {
  // Read in a second statement, because a single statement that waited for the lock would still see the agent's old
  // row.
  await transaction.query(LOCK_MACHINE, [id]);
  const { rows } = await transaction.query<HostRow>(HOST_AND_AGENT, [id]);
  const row = rows[0];
  if (row === undefined) return null;
  const { gpu, joined, ...host } = row;
  return { ...host, gpus: gpusOf(host.gpus, gpu, joined) };
}

/** Returns a host's GPUs. A host that joined before slices existed has the GPUs that it joined with. */
export function gpusOf(gpus: readonly HostGpu[], gpu: string, joined: HostRow['joined']): readonly HostGpu[] {
  return gpus.length > 0 ? gpus : joined.map(({ uuid }) => ({ uuid, model: gpu }));
}

export interface HostRow extends HostBlocks {
  gpus: HostGpu[];
  gpu: string;
  /** GPUs of a host that joined before slices existed. */
  joined: { uuid: string }[];
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
 * Writes a host's machines, which are the blocks in which it is sold. Blocks of every size get a row, so that a rented
 * block remains a machine no matter what the operator sells later. The host's own row must already be written and
 * locked.
 */
export async function writeBlocks(transaction: Pick<Transaction, 'query'>, host: HostBlocks): Promise<void> {
  const { id, gpus, missing, sizes, protocol } = host;
  const models = gpus.map(({ model }) => model);
  // Protocol 1 agents always give an instance the host's first GPUs.
  const soldSizes = protocol === 1 ? WHOLE_ONLY : sizes;
  const sold = new Set(blocksOf({ id, models, sizes: soldSizes, missing }).map(({ machineId }) => machineId));
  const { rows } = await transaction.query<WholeHost>(HOST_SQL, [id]);
  const whole = only(rows);
  const blocks = blocksOf({ id, models, sizes: ALL_SIZES }).filter(({ machineId }) => machineId !== id);
  const values = blocks.map(({ machineId, gpu, ...block }) => ({
    id: machineId,
    gpu,
    first_gpu: block.first,
    num_gpus: block.count,
    ...sharesOf(whole, block, gpus.length),
  }));
  const foreign = await transaction.query<{ id: string }>(FOREIGN, [id, blocks.map(({ machineId }) => machineId)]);
  const [taken] = foreign.rows;
  if (taken !== undefined)
    throw new DomainError('invalid_request', `${taken.id} is a separate machine; host ${id} needs another id`);
  await transaction.query(WRITE_BLOCKS, [id, JSON.stringify(values)]);
  await transaction.query(MARK_SOLD, [id, [...sold]]);
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
    nvlink: isLinked(whole.nvlink, block, hostGpus),
  };
}

/** Locks a machine without reading it. */
export const LOCK_MACHINE = 'select from machine where id = $1 for no key update';

const HOST_AND_AGENT = `
  select machine.id, machine.gpu, slices as sizes, protocol, missing, gpus, hardware -> 'gpus' as joined
  from machine join machine_host on machine_id = machine.id where machine.id = $1`;

const HOST_SQL = `
  select vcpus, ram_gb as "ramGb", disk_gb as "diskGb", net_down_mbps as down, net_up_mbps as up, ports, nvlink
  from machine where id = $1`;

/** Finds a machine that has a block's id but belongs to another host. */
const FOREIGN = 'select id from machine where id = any($2::text[]) and host_id <> $1 order by id limit 1';

/** Writes the blocks. Everything except each block's share is copied from the host's row. */
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
    demo = excluded.demo`;

const MARK_SOLD =
  'update machine set sold = (id = any($2::text[])) where host_id = $1 and sold <> (id = any($2::text[]))';
