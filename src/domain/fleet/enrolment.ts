import { randomBytes } from 'node:crypto';
import { AGENT_PROTOCOL, type Hardware, type JoinAnswer } from '../../agent-protocol/protocol.js';
import { inTransaction, type Transaction } from '../../database/transaction.js';
import { required } from '../../std/required.js';
import { LOCK_MACHINE, lockHost, writeBlocks } from '../inventory/host-blocks.js';
import { type HostGpu, type HostLayout, layoutOf } from '../inventory/rules/host-gpus.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { modelOfGpu, type NamedModel } from '../kernel/gpu-names.js';
import { onHostOf, USED_GB } from '../kernel/machine-condition.js';
import { ALL_SIZES, MAX_HOST_GPUS } from '../kernel/slices.js';
import { formatInstant, type Instant } from '../kernel/time.js';
import type { FleetDeps } from './deps.js';
import { markRevoked } from './heartbeats.js';
import { recordLosses } from './hosts.js';
import { HOST_TOKEN_PREFIX, hashHostToken, hashJoinCode, JOIN_CODE_PREFIX, SECRET_BYTES } from './rules/host-token.js';

/** Validity of a join code, in seconds. */
const CODE_LIFE_SECONDS = 3_600n;
/** Matches host ids. Their maximum length leaves room for a block suffix such as `.g0-3`. */
const HOST_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,57}$/;
const MACHINE_ID_BYTES = 4;
const MAX_CPU_LENGTH = 200;
const CUDA_VERSION = /^\d{1,2}\.\d{1,2}$/;
/** Reliability of a machine with no history. */
const NEW_RELIABILITY = 1;
const DEFAULT_PCIE = 4;

export interface EnrolInput {
  /** If null, a new machine with a random id is created. */
  machineId: string | null;
  /**
   * GPU model expected by the operator, which also identifies GPUs missing from the catalogue. Null accepts the model
   * reported by the hardware.
   */
  gpu: string | null;
  /** Number of GPUs expected by the operator, 1 to 8. Null or undefined accepts any number. */
  numGpus?: number | null;
  /** Null means the machine's current region, or the only region. */
  region: string | null;
  online: boolean;
  /** Whether simulated GPUs are accepted. */
  demo: boolean;
  /** Block sizes to sell. If undefined, an existing machine keeps its sizes, and a new one sells all sizes. */
  slices?: readonly number[] | null;
}

export interface JoinCode {
  machineId: string;
  code: string;
  expiresAt: Instant;
}

interface MachineRow {
  id: string;
  hostId: string;
  state: string;
  region: string;
  gpu: string;
  numGpus: number;
  hasHost: boolean;
  /** Block sizes in which the machine is sold. Null if it has no agent. */
  slices: number[] | null;
  undestroyed: bigint;
  usedDiskGb: bigint;
}

interface EnrolmentRow {
  machineId: string;
  gpu: string | null;
  numGpus: number | null;
  region: string | null;
  slices: number[];
  online: boolean;
  demo: boolean;
  expiresAt: Instant;
  usedAt: Instant | null;
}

/**
 * Creates a code that allows one agent to join, once, within the next hour. Throws invalid_request, not_found or
 * action_failed.
 */
export async function enrol(deps: Pick<KernelDeps, 'db' | 'clock'>, input: EnrolInput): Promise<JoinCode> {
  const machineId = input.machineId ?? `m-${randomBytes(MACHINE_ID_BYTES).toString('hex')}`;
  if (!HOST_ID.test(machineId))
    throw invalid('the id of a machine with an agent must be 1 to 58 letters, digits, dots, hyphens or underscores');
  const code = JOIN_CODE_PREFIX + randomBytes(SECRET_BYTES).toString('hex');
  const now = deps.clock.now();
  const expiresAt = now + CODE_LIFE_SECONDS;
  await inTransaction(deps.db.pool, async (transaction) => {
    const machine = await lockMachine(transaction, machineId);
    if (machine !== null) checkMachine(machine);
    const { numGpus = null } = input;
    if (numGpus !== null && !(Number.isInteger(numGpus) && numGpus >= 1 && numGpus <= MAX_HOST_GPUS))
      throw invalid(`--count must be a whole number from 1 to ${MAX_HOST_GPUS}`);
    if (input.gpu !== null) await checkKnown(transaction, 'gpu_model', 'slug', input.gpu, '--gpu');
    const region = input.region ?? machine?.region ?? (await defaultRegion(transaction, input.demo));
    await checkKnown(transaction, 'region', 'code', region, '--region');
    await transaction.query(
      `insert into machine_enrolment (code_hash, machine_id, gpu, num_gpus, region, online, demo, created_at, expires_at, slices)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      [
        hashJoinCode(code),
        machineId,
        input.gpu,
        numGpus,
        region,
        input.online,
        input.demo,
        formatInstant(now),
        formatInstant(expiresAt),
        [...(input.slices ?? machine?.slices ?? ALL_SIZES)],
      ],
    );
  });
  return { machineId, code, expiresAt };
}

function checkMachine({ id, hostId, state, hasHost, undestroyed }: MachineRow): void {
  if (hostId !== id) throw failed(`machine ${id} is a block of host ${hostId}; its agent must join for the host`);
  if (state === 'RETIRED') throw failed(`machine ${id} is retired`);
  // Instances rented without an agent have no container to start.
  if (!hasHost && undestroyed > 0n) throw failed(`machine ${id} still has an active instance without an agent`);
}

/**
 * Returns the only region. If there are several, a machine with simulated GPUs gets the first one, because it has no
 * real location.
 */
async function defaultRegion(transaction: Transaction, isDemo: boolean): Promise<string> {
  const { rows } = await transaction.query<{ code: string }>('select code from region order by position limit 2');
  const [first] = rows;
  if (first !== undefined && (isDemo || rows.length === 1)) return first.code;
  throw invalid('there are several regions; choose one with --region CODE');
}

async function checkKnown(
  transaction: Transaction,
  table: 'gpu_model' | 'region',
  column: 'slug' | 'code',
  value: string,
  option: string,
): Promise<void> {
  const { rowCount } = await transaction.query(`select from ${table} where ${column} = $1`, [value]);
  if (rowCount === 0) throw invalid(`${option} ${value} is not in the catalogue`);
}

/**
 * Lets an agent join: records the machine's hardware and returns a token that replaces any previous one. Throws
 * unauthorized if the code is wrong, used or expired. Throws invalid_request if the hardware can't be offered, in which
 * case the code stays valid.
 */
export async function join(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  code: string,
  hardware: Hardware,
  protocol: number = AGENT_PROTOCOL,
): Promise<JoinAnswer> {
  const hash = hashJoinCode(code);
  if (hash === null) throw unknownCode();
  const secret = HOST_TOKEN_PREFIX + randomBytes(SECRET_BYTES).toString('hex');
  const now = deps.clock.now();
  const answer = await inTransaction(deps.db.pool, async (transaction) => {
    const { rows } = await transaction.query<EnrolmentRow>(
      `select machine_id as "machineId", gpu, num_gpus as "numGpus", region, slices, online, demo, expires_at as "expiresAt", used_at as "usedAt"
       from machine_enrolment where code_hash = $1 for update`,
      [hash],
    );
    const enrolment = rows[0];
    if (enrolment === undefined || enrolment.usedAt !== null || now >= enrolment.expiresAt) throw unknownCode();
    const found = await gpusOf(transaction, enrolment, hardware);
    const machine = await lockMachine(transaction, enrolment.machineId);
    const id = enrolment.machineId;
    const isRented = machine !== null && machine.undestroyed > 0n;
    if (machine !== null) checkSame(machine, hardware);
    const before = isRented ? ((await lockHost(transaction, id))?.gpus ?? null) : null;
    const layout = layoutOf(id, found, before);
    checkProtocol(protocol, layout);
    await checkPretended(transaction, enrolment, hardware);
    const { model: gpu } = required(layout.gpus[0], 'GPU of a host');
    await writeMachine(transaction, enrolment, layout, { ...hardware, gpus: inOrder(hardware, layout) }, now);
    const values = [
      id,
      hashHostToken(secret),
      formatInstant(now),
      JSON.stringify(hardware),
      protocol,
      enrolment.slices,
    ];
    await transaction.query(WRITE_HOST, [...values, JSON.stringify(layout.gpus), layout.missing]);
    await writeBlocks(transaction, { ...layout, id, sizes: enrolment.slices, protocol });
    // The new agent's reports record losses only when its set of missing GPUs changes, so current losses are recorded
    // here.
    await recordLosses(transaction, { id, protocol, missing: layout.missing }, now);
    await takeGpus(transaction, enrolment.machineId, hardware);
    await transaction.query('insert into machine_heartbeat (machine_id) values ($1) on conflict do nothing', [
      enrolment.machineId,
    ]);
    await transaction.query('update machine_enrolment set used_at = $2 where code_hash = $1', [
      hash,
      formatInstant(now),
    ]);
    return { machineId: enrolment.machineId, token: secret, gpu };
  });
  deps.db.notices.publish([{ table: 'host', machine: answer.machineId }]);
  return answer;
}

/** Returns the GPUs found, with their models. */
async function gpusOf(transaction: Transaction, enrolment: EnrolmentRow, { gpus }: Hardware): Promise<HostGpu[]> {
  const { machineId, numGpus } = enrolment;
  if (numGpus !== null && gpus.length !== numGpus)
    throw invalid(`machine ${machineId} must have ${numGpus} GPUs; found ${gpus.length}`);
  const { rows } = await transaction.query<NamedModel>('select slug, name, vram_gb as "vramGb" from gpu_model');
  return gpus.map(({ uuid, name, vramMb, cpus }) => ({
    uuid: uuid.trim(),
    model: modelOf(rows, enrolment, { name, vramMb }),
    ...(cpus !== undefined && { cpus }),
  }));
}

function modelOf(
  models: readonly NamedModel[],
  { machineId, gpu }: EnrolmentRow,
  { name, vramMb }: { name: string; vramMb: number },
): string {
  const found = modelOfGpu(models, name, vramMb)?.slug ?? null;
  if (gpu !== null && found !== null && found !== gpu)
    throw invalid(`machine ${machineId} must have ${gpu}; found ${found} ("${name}")`);
  const model = gpu ?? found;
  if (model !== null) return model;
  throw invalid(
    `the catalogue has no unique model for "${name}" with ${vramMb} MB; enrol again with: admin machine enroll ${machineId} --gpu SLUG`,
  );
}

function checkProtocol(protocol: number, { gpus, missing }: HostLayout): void {
  const isOne = gpus.every(({ model }) => model === gpus[0]?.model);
  if (protocol === 1 && !isOne)
    throw invalid('a host with GPUs of several models needs a newer agent; update the agent');
  if (protocol === 1 && missing.length > 0) throw invalid(`${missing.length} rented GPUs were not found`);
}

/** Returns the GPUs found, ordered by position. */
function inOrder({ gpus }: Hardware, layout: HostLayout): Hardware['gpus'] {
  const places = new Map(layout.gpus.map(({ uuid }, place) => [uuid, place]));
  const placeOf = ({ uuid }: { uuid: string }) => required(places.get(uuid.trim()), 'position of a GPU');
  return [...gpus].sort((one, other) => placeOf(one) - placeOf(other));
}

/**
 * Records a machine's GPUs. A GPU can belong to only one machine. If two machines with the same GPU join concurrently,
 * the second one waits here and is then rejected.
 */
async function takeGpus(transaction: Transaction, machineId: string, { gpus, pretended }: Hardware): Promise<void> {
  await transaction.query('delete from machine_gpu where machine_id = $1', [machineId]);
  if (pretended) return;
  const uuids = gpus.map(({ uuid }) => uuid.trim()).sort();
  const unnamed = uuids.find((uuid) => uuid === '' || uuid.startsWith('['));
  if (unnamed !== undefined) throw invalid('a GPU has no UUID; nvidia-smi must show a UUID for each GPU');
  if (new Set(uuids).size < uuids.length) throw invalid('two GPUs have the same UUID');
  await transaction.query(RELEASE_GPUS, [uuids]);
  const { rows } = await transaction.query<{ uuid: string }>(TAKE_GPUS, [uuids, machineId]);
  const taken = new Set(rows.map(({ uuid }) => uuid));
  const foreign = uuids.find((uuid) => !taken.has(uuid));
  if (foreign !== undefined)
    throw invalid(
      `GPU ${foreign} is in another machine; retire that machine, or let its host join again without the GPU`,
    );
}

function checkSame(machine: MachineRow, { diskGb }: Hardware): void {
  checkMachine(machine);
  if (machine.usedDiskGb > BigInt(diskGb))
    throw invalid(
      `machine ${machine.id} has instances with ${machine.usedDiskGb} GB of disks and volumes; found only ${diskGb} GB`,
    );
}

async function checkPretended(
  transaction: Transaction,
  { machineId, demo }: EnrolmentRow,
  hardware: Hardware,
): Promise<void> {
  if (!hardware.pretended || demo) return;
  const { rows } = await transaction.query<{ seed: string }>('select seed from installation');
  if (rows[0]?.seed === 'demo') return;
  throw invalid(`simulated GPUs need the operator's consent; run: admin machine enroll ${machineId} --demo`);
}

async function writeMachine(
  transaction: Transaction,
  { machineId, region, online }: EnrolmentRow,
  { gpus: places }: HostLayout,
  { gpus, cpu, vcpus, ramGb, diskGb, cudaMax, nvlink, pretended }: Hardware,
  now: Instant,
): Promise<void> {
  const pcie = Math.min(Math.max(gpus[0]?.pcieGen ?? DEFAULT_PCIE, 1), 10);
  const cuda = cudaMax !== null && CUDA_VERSION.test(cudaMax) ? cudaMax : '';
  const name = cpu.slice(0, MAX_CPU_LENGTH) || 'unknown';
  await transaction.query(WRITE_MACHINE, [
    ...[
      machineId,
      required(places[0], 'GPU of a host').model,
      places.length,
      region,
      name,
      vcpus,
      ramGb,
      diskGb,
      pcie,
      nvlink,
      cuda,
      NEW_RELIABILITY,
    ],
    ...[online ? 'LISTED' : 'OFFLINE', pretended, formatInstant(now), online],
  ]);
}

/**
 * Revokes the agent's token immediately. The machine counts as unreachable since its last heartbeat, so nothing running
 * on it is charged after that time. Its containers keep running until the agent notices that it has been disconnected.
 */
export async function revokeHost(deps: Pick<FleetDeps, 'db' | 'clock' | 'fleet'>, machineId: string): Promise<void> {
  // Heartbeats received by this process are written first. Heartbeats still held by other processes are discarded.
  await deps.fleet.heartbeats.flush();
  await inTransaction(deps.db.pool, async (transaction) => {
    const { rowCount } = await transaction.query(
      'update machine_host set revoked_at = coalesce(revoked_at, $2) where machine_id = $1',
      [machineId, formatInstant(deps.clock.now())],
    );
    if (rowCount === 0) throw noHost(machineId);
    await markRevoked(transaction, machineId);
  });
  deps.db.notices.publish([{ table: 'host', machine: machineId }]);
}

/**
 * Records the operator's statement that no containers are left on a machine. Starts that were waiting for those
 * containers can then proceed, and the machine's outage is considered over. Fails while the machine sends heartbeats,
 * because its agent then knows better. Returns the number of containers forgotten.
 */
export async function forgetContainers(deps: Pick<KernelDeps, 'db' | 'clock'>, machineId: string): Promise<number> {
  const now = formatInstant(deps.clock.now());
  const forgotten = await inTransaction(deps.db.pool, async (transaction) => {
    const { rows } = await transaction.query<{ reachable: boolean }>(
      `select reachable from machine_host join machine_heartbeat using (machine_id) where machine_id = $1 for update of machine_host`,
      [machineId],
    );
    if (rows[0] === undefined) throw noHost(machineId);
    if (rows[0].reachable) throw failed(`machine ${machineId} is connected; its agent reports its containers`);
    await transaction.query(
      'update machine_outage set ended_at = $2 where machine_id = $1 and ended_at is null and started_at < $2',
      [machineId, now],
    );
    const { rowCount } = await transaction.query(FORGET, [machineId, now]);
    return rowCount ?? 0;
  });
  // Discards the agent's document and the cached reports.
  deps.db.notices.publish([{ table: 'host', machine: machineId }]);
  return forgotten;
}

async function lockMachine(transaction: Transaction, id: string): Promise<MachineRow | null> {
  // Read after locking, because a statement that waited for the lock would still count instances as they were before.
  await transaction.query(LOCK_MACHINE, [id]);
  const { rows } = await transaction.query<MachineRow>(
    `select id, host_id as "hostId", state, region, gpu, num_gpus as "numGpus",
       exists (select from machine_host where machine_id = id) as "hasHost",
       (select slices from machine_host where machine_id = id) as slices,
       (select count(*) from instance where ${onHostOf('= $1')} and status <> 'DESTROYED') as undestroyed,
       (select coalesce(sum(${USED_GB}), 0) from instance where ${onHostOf('= $1')} and status <> 'DESTROYED') as "usedDiskGb"
     from machine where id = $1`,
    [id],
  );
  return rows[0] ?? null;
}

/** Leaves the fields maintained by the operator unchanged: net, ports, reliability and state. */
const WRITE_MACHINE = `
  insert into machine (id, gpu, num_gpus, region, cpu, vcpus, ram_gb, disk_gb, net_down_mbps, net_up_mbps, ports, pcie,
    nvlink, cuda_max, reliability, state, demo, created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, 0, $9, $10, $11, $12, $13::machine_state, $14, $15)
  on conflict (id) do update set gpu = excluded.gpu, num_gpus = excluded.num_gpus, region = excluded.region,
    cpu = excluded.cpu, vcpus = excluded.vcpus, ram_gb = excluded.ram_gb, disk_gb = excluded.disk_gb, pcie = excluded.pcie,
    nvlink = excluded.nvlink, cuda_max = excluded.cuda_max, demo = excluded.demo,
    state = case when $16 then 'LISTED' else machine.state end`;

/** The new agent is sent the document again, because it may be running on a new system. */
const WRITE_HOST = `
  insert into machine_host (machine_id, token_hash, joined_at, hardware, protocol, slices, gpus, missing)
  values ($1, $2, $3, $4, $5, $6, $7, $8)
  on conflict (machine_id) do update set token_hash = excluded.token_hash, joined_at = excluded.joined_at,
    revoked_at = null, hardware = excluded.hardware, protocol = excluded.protocol, slices = excluded.slices,
    gpus = excluded.gpus, missing = excluded.missing`;

/** A retired machine's GPUs may have been moved to another machine. */
const RELEASE_GPUS = `
  delete from machine_gpu using machine
  where uuid = any($1::text[]) and machine.id = machine_id and machine.state = 'RETIRED'`;
const TAKE_GPUS = `
  insert into machine_gpu (uuid, machine_id) select uuid, $2 from unnest($1::text[]) as found (uuid)
  on conflict (uuid) do nothing returning uuid`;

/** Marks rented containers as not yet started, stopped ones as settled, and destroyed ones as erased. */
const FORGET = `
  update container set told_start = case status when 'RUNNING' then 0 else told_start end,
    phase = case status when 'RUNNING' then 'WAITING' when 'STOPPED' then 'STOPPED' else 'ERASED' end::container_phase,
    start = case status when 'RUNNING' then 0 else told_start end,
    erased_at = case status when 'DESTROYED' then $2::timestamptz end
  from instance where instance.id = instance_id and container.machine_id = $1 and erased_at is null`;

function invalid(message: string): DomainError {
  return new DomainError('invalid_request', message);
}

function failed(message: string): DomainError {
  return new DomainError('action_failed', message);
}

function noHost(machineId: string): DomainError {
  return new DomainError('not_found', `machine ${machineId} has no agent`);
}

/** Returns the same error whether the code is unknown, used or expired. */
function unknownCode(): DomainError {
  return new DomainError('unauthorized', 'this join code is unknown, already used, or older than one hour');
}
