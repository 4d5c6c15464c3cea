import type pg from 'pg';
import { z } from 'zod';
import type { Prisma } from '../../database/database.js';
import type { Machine, MachineHeartbeat } from '../../database/generated/client/client.js';
import { inTransaction } from '../../database/transaction.js';
import { required } from '../../std/required.js';
import type { KernelDeps } from '../kernel/deps.js';
import { usedDiskGb } from '../kernel/disk.js';
import { DomainError } from '../kernel/errors.js';
import { FileFaults, type FileRecord, type ImportReport, readBatches } from '../kernel/import.js';
import { onHostOf, USED_GB } from '../kernel/machine-condition.js';
import { type MachineChange, type MachineState, stateAfter } from '../kernel/machine-state.js';
import { hostIdOf } from '../kernel/slices.js';
import { formatInstant } from '../kernel/time.js';
import { lockHost, writeBlocks } from './host-blocks.js';

export type { Machine, MachineChange, MachineState };

/** A machine, with the resources used by its instances. */
export interface MachineView extends Machine {
  /** Id of the instance running on the machine. */
  runs: string | null;
  /** Space used by the disks and volumes of live instances, in GB. */
  usedDiskGb: number;
  /** Whether the machine's host agent is sending heartbeats. Null if the machine has no agent. */
  reachable: boolean | null;
  lastSeenAt: Date | null;
  /**
   * Instances whose containers were found by the agent although the desired state doesn't include them. The agent stops
   * these containers but keeps them until the operator decides what to do with them.
   */
  unknown: string[];
}

/** Maximum length of an input value quoted in a message. */
const MAX_SHOWN = 100;
const MAX_LISTED_MACHINES = 10_000;
/** Timeout of each statement that applies an import, in milliseconds. */
const SWITCH_TIMEOUT_MS = 60_000;

/** Bounds on a machine's fields. Values can be strings from CSV or JSON values. */
const machineRow = z.object({
  id: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be 1 to 64 letters, digits, dots, hyphens or underscores'),
  gpu: z.string().min(1, 'is missing'),
  num_gpus: whole(1, 8),
  region: z.string().min(1, 'is missing'),
  cpu: z.string().min(1, 'is missing').max(200, 'is longer than 200 characters'),
  vcpus: whole(1, 10_000),
  ram_gb: whole(1, 100_000),
  disk_gb: whole(1, 1_000_000),
  net_down_mbps: whole(0, 10_000_000),
  net_up_mbps: whole(0, 10_000_000),
  ports: whole(0, 65_535),
  pcie: whole(1, 10),
  nvlink: z.union(
    [z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')],
    'must be true or false',
  ),
  cuda_max: z.string().regex(/^(\d{1,2}\.\d{1,2})?$/, 'must be a version such as 12.8, or empty'),
  reliability: z
    .union(
      [
        z.number(),
        z
          .string()
          .regex(/^\d(\.\d{1,6})?$/)
          .transform(Number),
      ],
      'must be 0 to 1',
    )
    .pipe(z.number().min(0, 'must be 0 to 1').max(1, 'must be 0 to 1')),
});

export const MACHINE_COLUMNS = Object.keys(machineRow.shape);
const COLUMNS = MACHINE_COLUMNS.join(', ');

/**
 * Creates or updates machines by id, either all of them or none. New machines are listed, and existing ones keep their
 * state. The file is first read into a temporary table, which can take any amount of time. A short transaction then
 * applies the differences, so that rentals wait only for that transaction, and only for machines that change.
 */
export async function importMachines(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  records: AsyncIterable<FileRecord>,
  { dryRun, onProgress }: { dryRun: boolean; onProgress?: (machines: number) => void },
): Promise<ImportReport> {
  const faults = new FileFaults();
  const client = await deps.db.pool.connect();
  let broken: Error | undefined;
  const onError = (error: Error) => {
    broken = error;
  };
  client.on('error', onError);
  try {
    const lines = await stage(client, records, { faults, createdAt: formatInstant(deps.clock.now()), onProgress });
    faults.throwIfAny();
    if (lines.size === 0) throw new DomainError('invalid_request', 'the file contains no machines');
    await client.query(`begin; set local statement_timeout = ${SWITCH_TIMEOUT_MS}`);
    await checkHosts(client, lines, faults);
    faults.throwIfAny();
    const created = await applyImport(client);
    await checkDisks(client, lines, faults);
    faults.throwIfAny();
    await client.query(dryRun ? 'rollback' : 'commit');
    return { created, updated: lines.size - created };
  } catch (error) {
    await client.query('rollback').catch(onError);
    throw error;
  } finally {
    await client.query('drop table if exists pg_temp.machine_import').catch(onError);
    client.off('error', onError);
    client.release(broken);
  }
}

/** Reads the file into a temporary table. Returns each machine's line number. */
async function stage(
  client: pg.PoolClient,
  records: AsyncIterable<FileRecord>,
  {
    faults,
    createdAt,
    onProgress,
  }: { faults: FileFaults; createdAt: string; onProgress?: ((machines: number) => void) | undefined },
): Promise<ReadonlyMap<string, number>> {
  const lines = new Map<string, number>();
  await client.query('create temp table machine_import (like machine including defaults, primary key (id))');
  const known = await knownSlugs(client);
  const checkNames = ({ line, fields: { id, gpu, region } }: FileRecord) => {
    if (isText(id) && lines.has(id))
      faults.add(line, `id ${shortened(id)} is in the file twice`, 'id is in the file twice');
    if (isText(gpu) && !known.gpus.has(gpu))
      faults.add(line, `gpu ${shortened(gpu)} is not a known model`, 'gpu is not a known model');
    if (isText(region) && !known.regions.has(region)) {
      faults.add(line, `region ${shortened(region)} is not a known region`, 'region is not a known region');
    }
    if (isText(id)) lines.set(id, line);
  };
  for await (const batch of readBatches(records, machineRow, faults, checkNames)) {
    await client.query(
      `insert into machine_import (${COLUMNS}, created_at)
       select ${COLUMNS}, $2::timestamptz from jsonb_populate_recordset(null::machine, $1::jsonb) on conflict do nothing`,
      [JSON.stringify(batch.map(({ row }) => row)), createdAt],
    );
    onProgress?.(lines.size);
  }
  await client.query('analyze machine_import');
  return lines;
}

/**
 * Throws if the import changes a host that has an agent, because the agent reports such a host's hardware, which
 * defines its machines.
 */
async function checkHosts(
  client: pg.PoolClient,
  lines: ReadonlyMap<string, number>,
  faults: FileFaults,
): Promise<void> {
  const parts = [...lines].flatMap(([id, line]) => {
    const hostId = hostIdOf(id);
    return hostId === null ? [] : [{ id, line, hostId }];
  });
  const lineOf = (id: string) => required(lines.get(id), 'line of a machine');
  const { rows: hosts } = await client.query<{ id: string }>(
    'select machine_id as id from machine_host where machine_id = any($1)',
    [parts.map(({ hostId }) => hostId)],
  );
  const hostIds = new Set(hosts.map(({ id }) => id));
  for (const { id, line, hostId } of parts.filter((part) => hostIds.has(part.hostId)))
    faults.add(line, `${id} is part of host ${hostId}; specify the host instead`, 'id is part of a host');
  const { rows } = await client.query<{ id: string; gpu: string; numGpus: number }>(
    `select machine.id, machine.gpu, machine.num_gpus as "numGpus"
     from machine join machine_import imported using (id) join machine_host on machine_id = machine.id
     where (machine.gpu, machine.num_gpus) <> (imported.gpu, imported.num_gpus) order by machine.id for no key update of machine`,
  );
  for (const { id, gpu, numGpus } of rows) {
    const reason = `${id}'s agent found other GPUs: gpu ${gpu}, num_gpus ${numGpus}`;
    faults.add(lineOf(id), reason, 'gpu or num_gpus differs from what its agent found');
  }
}

/**
 * Applies the import and returns the number of new machines. New machines are inserted first, because that takes the
 * longest and doesn't lock anything that is rented. Only machines that differ are locked, in order of their ids, as
 * everywhere else.
 */
async function applyImport(client: pg.PoolClient): Promise<number> {
  const { rowCount: created } = await client.query(
    `insert into machine (${COLUMNS}, created_at) select ${COLUMNS}, created_at from machine_import imported
     where not exists (select from machine where id = imported.id) order by id on conflict (id) do nothing`,
  );
  const names = MACHINE_COLUMNS.filter((name) => name !== 'id');
  const of = (table: string) => names.map((name) => `${table}.${name}`).join(', ');
  const differs = `machine.demo or (${of('machine')}) is distinct from (${of('imported')})`;
  const { rows } = await client.query<{ id: string; isSliced: boolean }>(
    `with changing as (
       select machine.id from machine join machine_import imported using (id) where ${differs}
       order by machine.id for no key update of machine
     )
     update machine set ${names.map((name) => `${name} = imported.${name}`).join(', ')}, demo = false
     from machine_import imported join changing using (id) where machine.id = imported.id
     returning machine.id, exists (select from machine part where part.host_id = machine.id and part.id <> machine.id) as "isSliced"`,
  );
  for (const { id } of rows.filter(({ isSliced }) => isSliced))
    await writeBlocks(client, required(await lockHost(client, id), 'host with blocks'));
  return created ?? 0;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** Truncates a value for a message, because a damaged file can contain anything. */
function shortened(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

async function knownSlugs(client: pg.PoolClient) {
  const { rows } = await client.query<{ kind: string; name: string }>(
    `select 'gpu' as kind, slug as name from gpu_model union all select 'region', code from region`,
  );
  const of = (kind: string) => new Set(rows.filter((row) => row.kind === kind).map(({ name }) => name));
  return { gpus: of('gpu'), regions: of('region') };
}

async function checkDisks(
  client: pg.PoolClient,
  lines: ReadonlyMap<string, number>,
  faults: FileFaults,
): Promise<void> {
  const { rows } = await client.query<{ id: string; used: bigint; disk_gb: number }>(
    `select imported.id, imported.disk_gb, sum(${USED_GB}) as used
     from machine_import imported join machine on machine.host_id = imported.id join instance on machine_id = machine.id
     where status <> 'DESTROYED' group by imported.id, imported.disk_gb having sum(${USED_GB}) > imported.disk_gb`,
  );
  for (const { id, used, disk_gb } of rows) {
    const reason = `disk_gb ${disk_gb} is less than the ${used} GB of its instances' disks`;
    faults.add(required(lines.get(id), 'line of a machine'), reason, "disk_gb is less than its instances' disks");
  }
}

/** Returns up to 10,000 machines that are for sale or in use, ordered by id. */
export async function listMachines(
  deps: Pick<KernelDeps, 'db'>,
  filter: { state?: MachineState; gpu?: string },
): Promise<MachineView[]> {
  return readMachines(deps, {
    where: {
      ...(filter.state && { state: filter.state }),
      ...(filter.gpu && { gpu: filter.gpu }),
      OR: [{ sold: true }, { instances: { some: LIVE.where } }],
    },
    orderBy: { id: 'asc' },
    take: MAX_LISTED_MACHINES,
  });
}

export async function findMachine(deps: Pick<KernelDeps, 'db'>, id: string): Promise<MachineView> {
  const [machine] = await readMachines(deps, { where: { id } });
  if (machine === undefined) throw new DomainError('not_found', `no such machine: ${id}`);
  return machine;
}

async function readMachines(
  { db }: Pick<KernelDeps, 'db'>,
  query: Pick<Prisma.MachineFindManyArgs, 'where' | 'orderBy' | 'take'>,
): Promise<MachineView[]> {
  const rows = await db.prisma.machine.findMany({ ...query, include: { instances: LIVE } });
  // Machines that are part of a host are reported by the host's agent.
  const ids = [...new Set(rows.map(({ hostId }) => hostId))];
  const agents = await db.prisma.machineHost.findMany({
    where: { machineId: { in: ids } },
    select: { machineId: true, unknown: true, machine: { select: { heartbeat: true } } },
  });
  const byHost = new Map(agents.map(({ machineId, unknown, machine }) => [machineId, { unknown, ...machine }]));
  return rows.map((row) => viewOf(row, byHost.get(row.hostId)));
}

/**
 * Drains a machine, takes it offline, relists it or retires it. Running instances continue. A machine in use can't be
 * retired.
 */
export async function changeMachine(
  deps: Pick<KernelDeps, 'db'>,
  id: string,
  change: MachineChange,
): Promise<MachineView> {
  await inTransaction(deps.db.pool, async (transaction) => {
    const { rows } = await transaction.query<{ state: MachineState; hostId: string }>(
      'select state, host_id as "hostId" from machine where id = $1 for no key update',
      [id],
    );
    const machine = rows[0];
    if (machine === undefined) throw new DomainError('not_found', `no such machine: ${id}`);
    if (machine.hostId !== id)
      throw new DomainError(
        'action_failed',
        `machine ${id} is part of host ${machine.hostId}; specify the host instead`,
      );
    // Checked after locking, so that a deploy that locked the machine first has been committed by now.
    const { rowCount } = await transaction.query(
      `select from instance where ${onHostOf('= $1')} and status <> 'DESTROYED' limit 1`,
      [id],
    );
    const state = stateAfter(change, { id, state: machine.state, isInUse: rowCount !== 0 });
    await transaction.query('update machine set state = $2 where host_id = $1', [id, state]);
  });
  return findMachine(deps, id);
}

const LIVE = {
  where: { status: { not: 'DESTROYED' } },
  select: { id: true, status: true, diskGb: true, volumeGb: true },
} as const;

function viewOf(
  { instances, ...machine }: Machine & { instances: ({ id: string } & Parameters<typeof usedDiskGb>[0][number])[] },
  agent: { heartbeat: MachineHeartbeat | null; unknown: string[] } | undefined,
): MachineView {
  return {
    ...machine,
    runs: instances.find(({ status }) => status === 'RUNNING')?.id ?? null,
    usedDiskGb: usedDiskGb(instances),
    reachable: agent?.heartbeat?.reachable ?? null,
    lastSeenAt: agent?.heartbeat?.seenAt ?? null,
    unknown: agent?.unknown ?? [],
  };
}

function whole(min: number, max: number) {
  const must = `must be a whole number from ${min} to ${max}`;
  return z
    .union(
      [
        z.number(),
        z
          .string()
          .regex(/^\d{1,9}$/)
          .transform(Number),
      ],
      must,
    )
    .pipe(z.int(must).min(min, must).max(max, must));
}
