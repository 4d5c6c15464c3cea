import type { DesiredInstance, ObservedInstance, Report } from '../../agent/protocol.js';
import { NOTIFY_IN_TRANSACTION } from '../../database/pool.js';
import { inTransaction, type Transaction } from '../../database/transaction.js';
import type { Deps } from '../deps.js';
import { emit } from '../outbox.js';
import { DomainError } from '../rules/errors.js';
import type { NewEvent } from '../rules/events.js';
import { type ContainerPhase, isLate } from '../rules/fleet.js';
import { missingOf } from '../rules/host-gpus.js';
import type { InstanceStatus } from '../rules/lifecycle.js';
import { formatInstant, type Instant } from '../rules/time.js';
import { checkSamples } from '../samples/check-samples.js';
import { takeVolumeReport } from '../volumes/leases.js';
import { endInstances } from './ended-commands.js';
import { noteGpus } from './hosts.js';
import { settleStarts } from './start-credits.js';

/** Past runs of an agent whose reports are known to be late. */
const PAST_SESSIONS = 8;

interface HostRow {
  session: string | null;
  sequence: bigint;
  pastSessions: string[];
  generation: bigint;
  document: DesiredInstance[];
  protocol: number;
  /** By place. */
  gpus: { uuid: string }[];
  missing: number[];
}

interface SeenContainer {
  instanceId: string;
  /** What is rented: the host, or a part of it. */
  machineId: string;
  accountId: string;
  status: InstanceStatus;
  gpuIntervals: number;
  toldStart: number;
  phase: ContainerPhase;
  start: number;
  pulledBytes: bigint | null;
  totalBytes: bigint | null;
  message: string | null;
  exitCode: number | null;
  restarts: number;
  erasedAt: Instant | null;
  imagePorts: number[];
  /** Whether this start was seen running, or failed, before. */
  runningStart: number | null;
  failedStart: number | null;
  /** Whether it is watched for idleness, and since when each report says that the start is not busy. */
  isWatched: boolean;
  quietStart: number | null;
  quietSince: Instant | null;
}

/** A container as reported, in the columns of its row. */
interface Step {
  instance_id: string;
  phase: ContainerPhase;
  start: number;
  pulled_bytes: number | null;
  total_bytes: number | null;
  message: string | null;
  exit_code: number | null;
  restarts: number;
  erased_at: string | null;
  image_ports: readonly number[];
}

/**
 * Writes down what an agent reports, where it is news. Refuses with invalid_request a report of instances that the
 * machine was never given, or of starts that never were; nothing is then changed.
 */
export async function takeReport(deps: Deps, machineId: string, report: Report): Promise<void> {
  const at = deps.clock.now();
  const { heard, heartbeats, onFault, writing } = deps.fleet;
  const { samples = [] } = report;
  checkSamples(report);
  if (heard.isRepeated(machineId, report)) {
    heartbeats.note(machineId, at);
    deps.samples.note(machineId, samples, at);
    return;
  }
  heard.forget(machineId);
  const seen = await writing.run(() =>
    inTransaction(deps.db.pool, (transaction) => observe(deps, transaction, machineId, report, at)),
  );
  if (seen === null) return;
  heartbeats.note(machineId, at);
  deps.samples.note(machineId, samples, at);
  deps.db.notices.publish(
    seen.steps.map(({ instanceId, accountId }) => {
      return { table: 'container' as const, id: instanceId, account: accountId, machine: machineId };
    }),
  );
  if (seen.hasOtherGpus) await noteGpus(deps, machineId, report);
  await takeVolumeReport(deps, machineId, report);
  heard.note(machineId, report);
  // What fails now is stopped at once; what can't be is by the watch.
  for (const accountId of seen.toSettle) await settleStarts(deps, accountId).catch(onFault);
  if (seen.haveEnded) await endInstances(deps).catch(onFault);
}

/** Null for a late report: nothing is taken from it. */
async function observe(
  deps: Deps,
  transaction: Transaction,
  machineId: string,
  report: Report,
  at: Instant,
): Promise<{ steps: SeenContainer[]; toSettle: Set<string>; haveEnded: boolean; hasOtherGpus: boolean } | null> {
  if (!deps.db.notices.isListening) transaction.later(NOTIFY_IN_TRANSACTION);
  const [hosts, containers] = await transaction.run(
    { name: 'lock-host', text: LOCK_HOST, values: [machineId] },
    { name: 'containers-of-report', text: CONTAINERS, values: [machineId, idsOf(report)] },
  );
  const host = hosts![0] as HostRow | undefined;
  if (host === undefined) throw new DomainError('unauthorized', 'missing or unknown host token');
  if (isLate({ session: report.session, sequence: BigInt(report.sequence) }, host)) return null;
  const known = new Map((containers as SeenContainer[]).map((container) => [container.instanceId, container]));
  checkReport(report, known);

  const isNewest = BigInt(report.generation) >= host.generation;
  const told = new Map(host.document.map((entry) => [entry.id, entry]));
  const steps: SeenContainer[] = [];
  /** Accounts. */
  const toSettle = new Set<string>();
  const changes: Step[] = [];
  const observed = new Map(report.instances.map((entry) => [entry.id, entry]));
  for (const container of known.values()) {
    const entry = observed.get(container.instanceId);
    const step = keepFailure(
      container,
      entry === undefined ? stepOfMissing(container, isNewest, told, at) : stepOf(container, entry, isNewest, told, at),
    );
    if (step !== null && isChange(container, step)) {
      steps.push(container);
      changes.push(step);
    }
    if (entry !== undefined && failsNow(container, entry)) toSettle.add(container.accountId);
  }
  const haveEnded = changes.some(({ phase }) => phase === 'EXITED');
  const running = report.instances.filter((entry) => runsNow(known.get(entry.id)!, entry));
  const failed = report.instances.filter((entry) => failsNow(known.get(entry.id)!, entry));
  const loads = [...known.values()].filter(({ isWatched }) => isWatched);
  const quiet = loads.flatMap((container) => quietOf(container, observed.get(container.instanceId), at));
  const reopened = report.unknown.filter(
    (id) => known.get(id)?.status === 'DESTROYED' && known.get(id)!.erasedAt !== null,
  );
  const place = [
    machineId,
    report.session,
    report.sequence,
    pastSessionsOf(report, host),
    report.engine,
    report.unknown,
    String(report.launches === true),
    String(report.loads === true),
    String(report.volumes === true),
  ];
  transaction.later({ name: 'note-report', text: NOTE_REPORT, values: place });
  if (changes.length > 0)
    transaction.later({ name: 'note-containers', text: NOTE_CONTAINERS, values: [JSON.stringify(changes)] });
  if (quiet.length > 0) transaction.later({ name: 'note-loads', text: NOTE_LOADS, values: [JSON.stringify(quiet)] });
  if (running.length + failed.length > 0) {
    const starts = [running, failed].flatMap((list) => [
      list.map(({ id }) => id),
      list.map(({ start }) => String(start)),
    ]);
    const byHost = failed.map(({ fault }) => String(fault === 'host'));
    transaction.later({ name: 'note-starts', text: NOTE_STARTS, values: [...starts, byHost, formatInstant(at)] });
    if (running.length > 0) transaction.later(emit(running.map(({ id }) => runningEvent(known.get(id)!, at))));
  }
  if (reopened.length > 0) transaction.later({ name: 'reopen-containers', text: REOPEN, values: [reopened] });
  const hasOtherGpus = isOtherHost(host, report);
  return { steps: [...steps, ...reopened.map((id) => known.get(id)!)], toSettle, haveEnded, hasOtherGpus };
}

function isOtherHost(host: HostRow, { protocol, gpus }: Report): boolean {
  if (protocol !== host.protocol) return true;
  return gpus !== undefined && missingOf(host.gpus, gpus).join() !== host.missing.join();
}

function runningEvent({ accountId, instanceId, machineId }: SeenContainer, at: Instant): NewEvent {
  const data = { instance: instanceId, machine: machineId };
  return { accountId, type: 'instance.running', subject: instanceId, at, data };
}

function idsOf({ instances, unknown }: Report): string[] {
  return [...instances.map(({ id }) => id), ...unknown];
}

function checkReport({ instances }: Report, known: ReadonlyMap<string, SeenContainer>): void {
  const seen = new Set<string>();
  for (const { id, start } of instances) {
    const container = known.get(id);
    if (container === undefined) throw refusal(`instance ${id} was never given to this machine`);
    if (start > container.gpuIntervals)
      throw refusal(`instance ${id} has had ${container.gpuIntervals} starts, not ${start}`);
    if (seen.has(id)) throw refusal(`instance ${id} is named twice`);
    seen.add(id);
  }
}

/** A start that runs, or ran and is started again after it ended by itself, and was not seen running before. */
function runsNow({ runningStart }: SeenContainer, { phase, start, restarts }: ObservedInstance): boolean {
  return start > 0 && (phase === 'RUNNING' || phase === 'EXITED' || restarts > 0) && runningStart !== start;
}

/** A start that was not known to have failed. */
function failsNow({ failedStart }: SeenContainer, { phase, start }: ObservedInstance): boolean {
  return start > 0 && phase === 'FAILED' && failedStart !== start;
}

/** What changes of since when it is not busy. Of what is not known of a start it is taken that it is. */
function quietOf(
  { instanceId, status, gpuIntervals, quietStart, quietSince }: SeenContainer,
  entry: ObservedInstance | undefined,
  at: Instant,
): { instance_id: string; start: number; quiet_since: string | null }[] {
  const isUp = entry?.phase === 'RUNNING' || entry?.phase === 'EXITED';
  const isQuiet = status === 'RUNNING' && isUp && entry.start === gpuIntervals && entry.busy === false;
  const wasQuiet = quietSince !== null && quietStart === gpuIntervals;
  if (isQuiet === wasQuiet) return [];
  return [{ instance_id: instanceId, start: gpuIntervals, quiet_since: isQuiet ? formatInstant(at) : null }];
}

function stepOf(
  container: SeenContainer,
  entry: ObservedInstance,
  isNewest: boolean,
  told: ReadonlyMap<string, DesiredInstance>,
  at: Instant,
): Step | null {
  if (container.erasedAt !== null) return null;
  const { id, phase, pulledBytes, totalBytes, message, exitCode, restarts } = entry;
  // What stands still under the newest document stands still for good, whichever start it was.
  const isSettled = isNewest && told.get(id)?.phase !== 'running' && ['STOPPED', 'FAILED', 'ERASED'].includes(phase);
  const isErased = phase === 'ERASED' && container.status === 'DESTROYED';
  return {
    instance_id: id,
    phase,
    start: isSettled ? Math.max(entry.start, container.toldStart) : entry.start,
    pulled_bytes: pulledBytes,
    total_bytes: totalBytes,
    message,
    exit_code: exitCode,
    restarts,
    erased_at: isErased ? formatInstant(at) : null,
    image_ports: entry.imagePorts ?? container.imagePorts,
  };
}

/** An agent that acts on the newest document and does not report a container has none. */
function stepOfMissing(
  container: SeenContainer,
  isNewest: boolean,
  told: ReadonlyMap<string, DesiredInstance>,
  at: Instant,
): Step | null {
  const { instanceId, toldStart, exitCode, message, restarts, erasedAt, imagePorts } = container;
  const wanted = told.get(instanceId)?.phase;
  if (!isNewest || erasedAt !== null || wanted === undefined || wanted === 'running') return null;
  const isErased = wanted === 'absent';
  return {
    instance_id: instanceId,
    phase: isErased ? 'ERASED' : 'STOPPED',
    start: toldStart,
    pulled_bytes: null,
    total_bytes: null,
    message,
    exit_code: exitCode,
    restarts,
    erased_at: isErased ? formatInstant(at) : null,
    image_ports: imagePorts,
  };
}

/** What made a start fail stays to be read: that nothing runs after it is no news. The next start or a destroy ends it. */
function keepFailure({ phase, start, status, message, exitCode }: SeenContainer, step: Step | null): Step | null {
  const isOver = phase !== 'FAILED' || status === 'DESTROYED' || step === null || step.start > start;
  if (isOver || (step.phase !== 'STOPPING' && step.phase !== 'STOPPED')) return step;
  return { ...step, phase, message: step.message ?? message, exit_code: step.exit_code ?? exitCode };
}

function isChange(container: SeenContainer, step: Step): boolean {
  const bytes = (value: number | null) => (value === null ? null : BigInt(value));
  return (
    container.phase !== step.phase ||
    container.start !== step.start ||
    container.pulledBytes !== bytes(step.pulled_bytes) ||
    container.totalBytes !== bytes(step.total_bytes) ||
    container.message !== step.message ||
    container.exitCode !== step.exit_code ||
    container.restarts !== step.restarts ||
    container.imagePorts.join() !== step.image_ports.join() ||
    step.erased_at !== null
  );
}

function pastSessionsOf({ session }: Report, host: HostRow): string[] {
  if (host.session === null || host.session === session) return host.pastSessions;
  return [host.session, ...host.pastSessions].slice(0, PAST_SESSIONS);
}

function refusal(message: string): DomainError {
  return new DomainError('invalid_request', message);
}

const LOCK_HOST = `
  select session, sequence, past_sessions as "pastSessions", generation, document, protocol, missing,
    case when gpus = '[]' then hardware -> 'gpus' else gpus end as gpus from machine_host
  where machine_id = $1 and revoked_at is null for update`;

/** All that may still be there, and what the report names. */
const CONTAINERS = `
  select instance_id as "instanceId", instance.machine_id as "machineId", account_id as "accountId", status, gpu_intervals as "gpuIntervals",
    told_start as "toldStart", phase, container.start, pulled_bytes as "pulledBytes", total_bytes as "totalBytes", message,
    exit_code as "exitCode", restarts, erased_at as "erasedAt", image_ports as "imagePorts",
    (select max(ordinal) from container_start s where s.instance_id = instance.id and running_at is not null) as "runningStart",
    (select max(ordinal) from container_start s where s.instance_id = instance.id and failed_at is not null) as "failedStart",
    idle_watch.instance_id is not null as "isWatched", idle_watch.start as "quietStart", quiet_since as "quietSince"
  from container join instance on instance.id = instance_id left join idle_watch using (instance_id)
  where container.machine_id = $1 and (erased_at is null or instance_id = any($2::text[]))`;

const NOTE_REPORT = `
  update machine_host set session = $2, sequence = $3::bigint, past_sessions = $4::text[], engine = $5, "unknown" = $6::text[],
    launches = $7::boolean, loads = $8::boolean,
    volumes = $9::boolean
  where machine_id = $1`;

const NOTE_CONTAINERS = `
  update container set phase = step.phase, start = step.start, pulled_bytes = step.pulled_bytes,
    total_bytes = step.total_bytes, message = step.message, exit_code = step.exit_code, restarts = step.restarts,
    erased_at = step.erased_at, image_ports = step.image_ports
  from jsonb_populate_recordset(null::container, $1::jsonb) step where container.instance_id = step.instance_id`;

const NOTE_LOADS = `
  update idle_watch set start = seen.start, quiet_since = seen.quiet_since
  from jsonb_to_recordset($1::jsonb) as seen (instance_id text, start int, quiet_since timestamptz)
  where idle_watch.instance_id = seen.instance_id`;

/**
 * Nothing changes of a start that is settled, but that one which still goes on may fail: what it gave back was earned.
 */
const NOTE_STARTS = `
  with running as (
    update container_start set running_at = $6::timestamptz from unnest($1::text[], $2::text[]) as seen (id, start)
    where instance_id = id and ordinal = start::int and running_at is null and not settled
  )
  update container_start set failed_at = $6::timestamptz, host_fault = by_host::boolean, settled = false
  from unnest($3::text[], $4::text[], $5::text[]) as seen (id, start, by_host)
  where instance_id = id and ordinal = start::int and failed_at is null and (not settled or exists (
    select from instance where instance.id = instance_id and status = 'RUNNING' and gpu_intervals = ordinal))`;

/** The host still has what was thought erased: it is to be erased again. */
const REOPEN = `
  update container set phase = 'STOPPED', start = greatest(told_start, 1), told_start = greatest(told_start, 1), erased_at = null
  where instance_id = any($1::text[]) and erased_at is not null`;
