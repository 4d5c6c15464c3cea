import { isDeepStrictEqual } from 'node:util';
import DataLoader from 'dataloader';
import { LRUCache } from 'lru-cache';
import { MAX_STOP_SECONDS } from '../../agent-protocol/limits.js';
import { type DesiredInstance, type DesiredState, MAX_INSTANCES } from '../../agent-protocol/protocol.js';
import type { Database } from '../../database/database.js';
import type { Notice } from '../../database/notices.js';
import { StaleReadError } from '../../database/transaction.js';
import type { HostGpu } from '../inventory/rules/host-gpus.js';
import { type DesiredPhase, desiredPhases, type KnownContainer } from '../kernel/fleet.js';
import { type Launch, needsAgent, secretsOf } from '../kernel/launch.js';
import { withValues } from '../kernel/template.js';
import { type Clock, formatInstant } from '../kernel/time.js';
import { stopGraceSeconds } from './rules/start-credit.js';

/** Maximum number of documents cached in memory. Other documents are read from the database when needed. */
const MAX_CACHED = 20_000;
/** Maximum number of machines whose documents are read by one statement. */
const MAX_BATCH = 200;
/** Maximum number of attempts to write a machine's document while other processes are also writing it. */
const MAX_ATTEMPTS = 10;
/**
 * Maximum number of containers read per machine. This is more than a document can hold, so that no running container is
 * missed.
 */
const MAX_CONTAINERS_READ = 5_000;
const MB_PER_GB = 1_024;

interface HostRow {
  machineId: string;
  generation: bigint;
  document: DesiredInstance[];
  /** GPUs by index. Empty for a host that joined with an earlier version. */
  gpus: HostGpu[];
  numGpus: number;
  /** The agent's protocol version. */
  protocol: number;
  /** Whether the agent supports launches. */
  launches: boolean;
  /** Whether the agent can mount volumes. */
  supportsVolumes: boolean;
  /** Whether the agent can start containers as the user a launch specifies. */
  supportsUsers: boolean;
  containers: ContainerRow[];
}

interface ContainerRow extends KnownContainer {
  /** Seconds for which the last start sent to the agent ran, once it has ended. Null if it was never seen running. */
  ranSeconds: number | null;
  image: string;
  fromTemplate: boolean;
  /**
   * Null for a container that should not run, because a machine may have thousands of those. So are `env` and `launch`.
   */
  command: string[] | null;
  env: Record<string, string> | null;
  ports: number[];
  vcpus: number;
  ramGb: number;
  diskGb: number;
  launch: Launch | null;
  /** Whether the instance stops when idle. */
  stopsWhenIdle: boolean;
  /** Whether tokens were generated for the instance. */
  hasTokens: boolean;
  /** Volumes by path. Null if there are none. `lease` is the lease held by the instance. */
  volumes: { id: string; path: string; sizeGb: number; lease: number | null }[] | null;
}

/**
 * Each machine's desired state, as a numbered document. It is derived from the rentals and the observed containers, and
 * never written by the code that changes those. Instead, any process that learns of a change derives the document
 * again, and the first process to find a difference assigns the next number.
 */
export class DesiredStates {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #kept = new LRUCache<string, DesiredState>({ max: MAX_CACHED });
  readonly #waiters = new Map<string, Waiter>();
  readonly #loader: DataLoader<string, DesiredState | null>;
  /** Machines being read. If a machine changes during the read, the result is not cached. */
  readonly #reading = new Map<string, { isStale: boolean }>();
  #isClosed = false;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
    this.#loader = new DataLoader((ids) => this.#load(ids), {
      cache: false,
      maxBatchSize: MAX_BATCH,
      batchScheduleFn: (send) => setImmediate(send),
    });
    db.notices.subscribe({ onNotice: (notice) => this.#onNotice(notice), onLost: () => this.#forgetAll() });
  }

  /** Number of agent requests currently waiting. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /** Returns a machine's newest document. Returns null if the machine has no agent. */
  async current(machineId: string): Promise<DesiredState | null> {
    await this.#db.notices.ready();
    const kept = this.#kept.get(machineId);
    if (kept !== undefined && this.#db.notices.isListening) return kept;
    return this.#loader.load(machineId);
  }

  /**
   * Waits until the document's number differs from `after`, or until `isWanted` reports that there is something else to
   * send, and then returns the document. Returns null if neither happens within `waitMs`, or if the wait is ended by a
   * newer request from the same machine, by `signal` or by `close`.
   */
  async next(
    machineId: string,
    after: number,
    waitMs: number,
    signal: AbortSignal,
    isWanted: () => boolean = () => false,
  ): Promise<DesiredState | null> {
    const waiter = new Waiter(this.#isClosed ? 0 : waitMs, signal);
    this.#waiters.get(machineId)?.end();
    this.#waiters.set(machineId, waiter);
    try {
      for (;;) {
        waiter.listen();
        const state = await this.current(machineId);
        if (state === null || state.generation !== after || isWanted()) return state;
        if (!(await waiter.woken())) return null;
      }
    } finally {
      waiter.end();
      if (this.#waiters.get(machineId) === waiter) this.#waiters.delete(machineId);
    }
  }

  /** Wakes the machine's waiting request, which then checks for changes. */
  wake(machineId: string): void {
    this.#waiters.get(machineId)?.wake();
  }

  /** Ends all waits and makes later requests return immediately. */
  close(): void {
    this.#isClosed = true;
    for (const waiter of this.#waiters.values()) waiter.end();
  }

  #onNotice(notice: Notice): void {
    // The token may have been revoked, so a waiting agent must authenticate again.
    if (notice.table === 'host') this.#waiters.get(notice.machine)?.end();
    if (notice.table === 'instance' || notice.table === 'container' || notice.table === 'host')
      this.#forget(notice.machine);
    else if (notice.table === 'machine' && notice.ids !== undefined) for (const id of notice.ids) this.#forget(id);
    else if (notice.table === 'machine') this.#forgetAll();
  }

  #forget(machineId: string): void {
    this.#kept.delete(machineId);
    const reading = this.#reading.get(machineId);
    if (reading !== undefined) reading.isStale = true;
    this.#waiters.get(machineId)?.wake();
  }

  #forgetAll(): void {
    this.#kept.clear();
    for (const reading of this.#reading.values()) reading.isStale = true;
    for (const waiter of this.#waiters.values()) waiter.wake();
  }

  async #load(machineIds: readonly string[]): Promise<(DesiredState | null)[]> {
    const own = new Map(machineIds.map((id) => [id, { isStale: false }]));
    for (const [id, mark] of own) this.#reading.set(id, mark);
    try {
      const { rows } = await this.#db.pool.query<HostRow>({ name: 'hosts', text: HOSTS_SQL, values: [machineIds] });
      const found = new Map(rows.map((row) => [row.machineId, row]));
      const states = await Promise.all(
        machineIds.map(async (id) => {
          const row = found.get(id);
          return { id, state: row === undefined ? null : await this.#bringUpToDate(row) };
        }),
      );
      for (const { id, state } of states) {
        if (state !== null && own.get(id)?.isStale === false && this.#db.notices.isListening) this.#kept.set(id, state);
      }
      return states.map(({ state }) => state);
    } finally {
      for (const [id, mark] of own) if (this.#reading.get(id) === mark) this.#reading.delete(id);
    }
  }

  /** Returns the stored document if it is current. Otherwise writes and returns a new document with the next number. */
  async #bringUpToDate(row: HostRow): Promise<DesiredState> {
    let host = row;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const instances = documentOf(host);
      const gone = host.containers.filter(({ status, sentStart }) => status === 'DESTROYED' && sentStart === 0);
      if (gone.length === 0 && isDeepStrictEqual(instances, host.document))
        return { generation: Number(host.generation), instances };
      const generation = await this.#write(host, instances, gone);
      if (generation !== null) return { generation: Number(generation), instances };
      const { rows } = await this.#db.pool.query<HostRow>({
        name: 'hosts',
        text: HOSTS_SQL,
        values: [[host.machineId]],
      });
      if (rows[0] === undefined) break;
      host = rows[0];
    }
    throw new StaleReadError(`machine ${row.machineId}'s desired state keeps changing`);
  }

  /**
   * Writes a document. Returns null if another process wrote first. A container that was never sent to the agent is
   * removed as soon as it is no longer desired.
   */
  async #write(
    { machineId, generation }: HostRow,
    instances: readonly DesiredInstance[],
    gone: readonly ContainerRow[],
  ): Promise<bigint | null> {
    const running = instances.filter(({ phase }) => phase === 'running');
    const { rows } = await this.#db.pool.query<{ generation: bigint }>({
      name: 'write-desired',
      text: WRITE_SQL,
      values: [
        machineId,
        generation.toString(),
        JSON.stringify(instances),
        running.map(({ id }) => id),
        running.map(({ start }) => start),
        gone.map(({ instanceId }) => instanceId),
        formatInstant(this.#clock.now()),
      ],
    });
    return rows[0]?.generation ?? null;
  }
}

/**
 * A waiting request. `woken` resolves to true once `wake` has been called since the last `listen`, and to false after
 * `end`.
 */
class Waiter {
  #isWoken = false;
  #isEnded = false;
  #resolve: ((isWoken: boolean) => void) | null = null;
  readonly #timer: NodeJS.Timeout;

  constructor(waitMs: number, signal: AbortSignal) {
    this.#timer = setTimeout(() => this.end(), waitMs);
    if (signal.aborted) this.end();
    else signal.addEventListener('abort', () => this.end(), { once: true });
  }

  listen(): void {
    this.#isWoken = false;
  }

  woken(): Promise<boolean> {
    if (this.#isEnded || this.#isWoken) return Promise.resolve(!this.#isEnded);
    return new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  wake(): void {
    this.#isWoken = true;
    this.#settle(true);
  }

  end(): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
    this.#settle(false);
  }

  #settle(isWoken: boolean): void {
    this.#resolve?.(isWoken);
    this.#resolve = null;
  }
}

function documentOf(host: HostRow): DesiredInstance[] {
  const { containers, launches, supportsVolumes, supportsUsers } = host;
  const document: DesiredInstance[] = [];
  for (const [container, allowed] of desiredPhases(containers)) {
    if (document.length === MAX_INSTANCES) break;
    const isLacking =
      (!launches && wouldLackLaunch(container)) ||
      (!supportsVolumes && wouldLackVolumes(container)) ||
      (!supportsUsers && wouldLackUser(container)) ||
      wouldGetOtherGpus(host, container);
    const phase = allowed === 'running' && isLacking ? 'stopped' : allowed;
    if (phase === 'stopped' && container.sentStart === 0) continue;
    const {
      instanceId,
      status,
      gpuIntervals,
      sentStart,
      image,
      fromTemplate,
      command,
      env,
      ports,
      vcpus,
      ramGb,
      numGpus,
      diskGb,
      launch,
      hasTokens,
      stopsWhenIdle,
      ranSeconds,
      volumes,
    } = container;
    const isHeldBack = status === 'RUNNING' && phase === 'stopped';
    const variables = env === null ? {} : { ...env, GPU_INSTANCE_ID: instanceId, GPU_COUNT: String(numGpus) };
    // A template's command may reference variables, but a renter's own command is used verbatim.
    const isTemplates = launch?.command === undefined;
    document.push({
      id: instanceId,
      phase: phase satisfies DesiredPhase,
      start: isHeldBack ? sentStart : gpuIntervals,
      image,
      ...(fromTemplate && { fromTemplate }),
      command: command !== null && isTemplates ? withValues(command, variables) : command,
      env: variables,
      gpus: numGpus,
      ...gpuMembers(host, container),
      vcpus,
      memoryMb: ramGb * MB_PER_GB,
      diskGb,
      ports,
      ...(phase === 'stopped' && {
        stopSeconds: Math.min(Number(stopGraceSeconds(BigInt(ranSeconds ?? 0))), MAX_STOP_SECONDS),
      }),
      ...launchMembers(launch ?? {}, hasTokens),
      ...(phase === 'running' && stopsWhenIdle && { watchLoad: true }),
      ...(volumes !== null && { volumes }),
    });
  }
  return document;
}

/**
 * Whether the container would be given the wrong GPUs, because protocol 1 agents give each instance the host's first
 * GPUs.
 */
function wouldGetOtherGpus({ protocol, numGpus: hostGpus }: HostRow, { numGpus }: ContainerRow): boolean {
  return protocol === 1 && numGpus < hostGpus;
}

/** Returns the container's GPUs and the CPUs close to them, if the agent supports this and has reported them. */
function gpuMembers({ protocol, gpus }: HostRow, { firstGpu, numGpus }: ContainerRow): Partial<DesiredInstance> {
  if (protocol === 1 || gpus.length === 0) return {};
  const own = gpus.slice(firstGpu, firstGpu + numGpus);
  const cpus = own.flatMap((gpu) => gpu.cpus ?? []);
  // A container that has all of the GPUs uses all CPUs, so there is no need to list them.
  const isBound = numGpus < gpus.length && own.every((gpu) => gpu.cpus !== undefined && gpu.cpus.length > 0);
  return { gpuUuids: own.map(({ uuid }) => uuid), ...(isBound && { cpus }) };
}

/** Whether the agent, lacking support for launches, would start the container without parts of its launch. */
function wouldLackLaunch({ launch, hasTokens, phase, start, gpuIntervals }: ContainerRow): boolean {
  const runs = phase === 'RUNNING' && start === gpuIntervals;
  return (hasTokens || (launch !== null && needsAgent(launch))) && !runs;
}

/** Whether the agent, lacking support for volumes, would start the container without its volumes. */
function wouldLackVolumes({ volumes, phase, start, gpuIntervals }: ContainerRow): boolean {
  return volumes !== null && !(phase === 'RUNNING' && start === gpuIntervals);
}

/** Whether the agent would start the container as the image's user because it doesn't support other users. */
function wouldLackUser({ launch, phase, start, gpuIntervals }: ContainerRow): boolean {
  return launch?.user !== undefined && !(phase === 'RUNNING' && start === gpuIntervals);
}

/**
 * Returns the launch settings sent to an agent in addition to the container's row. They reveal whether there are
 * secrets, but not which ones.
 */
function launchMembers(launch: Launch, hasTokens: boolean): Partial<DesiredInstance> {
  const { entrypoint, user, restart } = launch;
  return {
    ...(entrypoint !== undefined && { entrypoint }),
    ...(user !== undefined && { user }),
    ...(restart !== undefined && restart !== 'ALWAYS' && { restart }),
    ...((hasTokens || secretsOf(launch).length > 0) && { secrets: true }),
  };
}

/** SQL for a `container`'s volumes, each with its size at the most recent start. */
const VOLUMES = `
  select json_agg(json_build_object('id', volume_id, 'path', path, 'sizeGb', attached.size_gb,
    'lease', case when lease_instance_id = container.instance_id then lease end) order by path)
  from volume_attachment attached join volume on volume.id = volume_id where attached.instance_id = container.instance_id`;

/**
 * Because a document's size is limited, running instances come first, then those that keep a disk, then those to erase.
 */
const HOSTS_SQL = `
  select host.machine_id as "machineId", host.generation, host.document, host.gpus, host.protocol,
    machine.num_gpus as "numGpus", launches, volumes as "supportsVolumes", users as "supportsUsers", coalesce((
      select json_agg(json_build_object('instanceId', instance_id, 'status', status, 'gpuIntervals', gpu_intervals,
        'firstGpu', first_gpu, 'numGpus', num_gpus, 'vcpus', vcpus, 'ramGb', ram_gb,
        'phase', phase, 'start', start, 'sentStart', told_start, 'image', image, 'fromTemplate', from_template,
        'command', case when status = 'RUNNING' then command end, 'env', case when status = 'RUNNING' then env end,
        'launch', case when status = 'RUNNING' then launch end, 'hasTokens', status = 'RUNNING' and exists (
          select from made_token where made_token.instance_id = container.instance_id),
        'ports', ports, 'diskGb', disk_gb, 'ranSeconds', ran_seconds,
        'stopsWhenIdle', stop_when_idle is not null, 'volumes', case when volume_gb > 0 then (${VOLUMES}) end) order by status, instance_id)
      from (
        select container.*, status, gpu_intervals, instance.disk_gb, instance.volume_gb, stop_when_idle, launch, instance.first_gpu,
          instance.num_gpus, block.vcpus, block.ram_gb,
          exists (select from template where template.image = container.image) as from_template, (
          select extract(epoch from used.ended_at - greatest(sent.running_at, used.started_at))::int
          from container_start sent join usage_interval used
            on used.instance_id = sent.instance_id and used.resource = 'GPU' and used.ordinal = sent.ordinal
          where sent.instance_id = container.instance_id and sent.ordinal = told_start and sent.running_at is not null
        ) as ran_seconds
        from container join instance on instance.id = container.instance_id
          join machine block on block.id = instance.machine_id
          left join instance_launch on instance_launch.instance_id = instance.id
        where container.machine_id = host.machine_id and erased_at is null
        order by status, container.instance_id limit ${MAX_CONTAINERS_READ}
      ) container
    ), '[]') as containers
  from machine_host host join machine on machine.id = host.machine_id where host.machine_id = any($1)`;

const WRITE_SQL = `
  with written as (
    update machine_host set generation = generation + 1, document = $3::jsonb
    where machine_id = $1 and generation = $2::bigint returning generation
  ), sent as (
    update container set told_start = greatest(told_start, running.start)
    from written, unnest($4::text[], $5::int[]) as running (id, start)
    where instance_id = running.id and told_start < running.start
  ), waited as (
    update container_start set waited_until = $7::timestamptz
    from written, unnest($4::text[], $5::int[]) as running (id, start)
    where instance_id = running.id and ordinal = running.start and waits_for_own and waited_until is null and not settled
  ), gone as (
    update container set phase = 'ERASED', erased_at = $7::timestamptz from written
    where instance_id = any($6::text[]) and erased_at is null
  )
  select generation from written`;
