import type { DesiredInstance, Report } from '../../agent-protocol/protocol.js';
import { NOTIFY_IN_TRANSACTION } from '../../database/pool.js';
import { inTransaction, type PreparedStatement, type Transaction } from '../../database/transaction.js';
import type { LedgerDeps } from '../billing/deps.js';
import { missingOf } from '../inventory/rules/host-gpus.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import type { NewEvent } from '../kernel/events.js';
import { isLate } from '../kernel/fleet.js';
import { emit } from '../kernel/outbox.js';
import { formatInstant, type Instant } from '../kernel/time.js';
import { checkSamples } from '../samples/check-samples.js';
import { takeVolumeReport } from '../volumes/leases.js';
import type { FleetDeps } from './deps.js';
import { endInstances } from './ended-commands.js';
import { recordGpus } from './hosts.js';
import { changesOf, type ReportChanges, type SeenContainer } from './report-changes.js';
import { settleStarts } from './start-credits.js';

/** Maximum number of an agent's past runs whose late reports are recognized. */
const MAX_PAST_SESSIONS = 8;

interface HostRow {
  session: string | null;
  sequence: bigint;
  pastSessions: string[];
  generation: bigint;
  document: DesiredInstance[];
  protocol: number;
  /** GPUs by index. */
  gpus: { uuid: string }[];
  missing: number[];
}

/**
 * Records everything new in an agent's report. If the report contains instances that were never assigned to the
 * machine, or starts that never existed, throws invalid_request without changing anything.
 */
export async function recordReport(
  deps: LedgerDeps & Pick<FleetDeps, 'fleet' | 'samples'>,
  machineId: string,
  report: Report,
): Promise<void> {
  const at = deps.clock.now();
  const { received, heartbeats, onFault, writing } = deps.fleet;
  const { samples = [] } = report;
  checkSamples(report);
  if (received.isRepeated(machineId, report)) {
    heartbeats.record(machineId, at);
    deps.samples.add(machineId, samples, at);
    return;
  }
  received.forget(machineId);
  const seen = await writing.run(() =>
    inTransaction(deps.db.pool, (transaction) => observe(deps, transaction, machineId, report, at)),
  );
  if (seen === null) return;
  heartbeats.record(machineId, at);
  deps.samples.add(machineId, samples, at);
  deps.db.notices.publish(
    seen.containers.map(({ instanceId, accountId }) => {
      return { table: 'container' as const, id: instanceId, account: accountId, machine: machineId };
    }),
  );
  if (seen.hasOtherGpus) await recordGpus(deps, machineId, report);
  await takeVolumeReport(deps, machineId, report);
  received.record(machineId, report);
  // Failed starts are stopped immediately. If that fails, the fleet watch stops them later.
  for (const accountId of seen.toSettle) await settleStarts(deps, accountId).catch(onFault);
  if (seen.haveEnded) await endInstances(deps).catch(onFault);
}

interface Seen {
  /** Containers that have changed. */
  containers: SeenContainer[];
  /** Accounts with a start that has just failed. */
  toSettle: Set<string>;
  haveEnded: boolean;
  hasOtherGpus: boolean;
}

/** Records a report. Returns null for a late report, which is ignored. */
async function observe(
  deps: Pick<KernelDeps, 'db'>,
  transaction: Transaction,
  machineId: string,
  report: Report,
  at: Instant,
): Promise<Seen | null> {
  if (!deps.db.notices.isListening) transaction.later(NOTIFY_IN_TRANSACTION);
  const [hosts, containers] = await transaction.run(
    { name: 'lock-host', text: LOCK_HOST, values: [machineId] },
    { name: 'containers-of-report', text: CONTAINERS, values: [machineId, idsOf(report)] },
  );
  const host = hosts[0] as HostRow | undefined;
  if (host === undefined) throw new DomainError('unauthorized', 'missing or unknown host token');
  if (isLate({ session: report.session, sequence: BigInt(report.sequence) }, host)) return null;
  const changes = changesOf(report, host, containers as SeenContainer[], at);
  transaction.later(reportUpdate(machineId, report, host), ...changeStatements(changes, at));
  return {
    containers: [...changes.steps.map(({ container }) => container), ...changes.reopened],
    toSettle: new Set(changes.failed.map(({ container }) => container.accountId)),
    haveEnded: changes.steps.some(({ step }) => step.phase === 'EXITED'),
    hasOtherGpus: isOtherHost(host, report),
  };
}

function reportUpdate(machineId: string, report: Report, host: HostRow): PreparedStatement {
  const { session, sequence, engine, unknown } = report;
  const can = [report.launches, report.loads, report.volumes, report.users, report.fuse].map((value) =>
    String(value === true),
  );
  const values = [machineId, session, sequence, pastSessionsOf(report, host), engine, unknown, ...can];
  return { name: 'note-report', text: RECORD_REPORT, values };
}

/** Returns the statements that record a report's changes. */
function changeStatements(
  { steps, quiet, running, failed, reopened }: ReportChanges,
  at: Instant,
): PreparedStatement[] {
  const notes: PreparedStatement[] = [];
  if (steps.length > 0)
    notes.push({
      name: 'note-containers',
      text: RECORD_CONTAINERS,
      values: [JSON.stringify(steps.map(({ step }) => step))],
    });
  if (quiet.length > 0) notes.push({ name: 'note-loads', text: RECORD_LOADS, values: [JSON.stringify(quiet)] });
  if (running.length + failed.length > 0) {
    const starts = [running, failed].flatMap((list) => [
      list.map(({ entry }) => entry.id),
      list.map(({ entry }) => String(entry.start)),
    ]);
    const byHost = failed.map(({ entry }) => String(entry.fault === 'host'));
    notes.push({ name: 'note-starts', text: RECORD_STARTS, values: [...starts, byHost, formatInstant(at)] });
  }
  if (running.length > 0) notes.push(emit(running.map(({ container }) => runningEvent(container, at))));
  const ids = reopened.map(({ instanceId }) => instanceId);
  if (ids.length > 0) notes.push({ name: 'reopen-containers', text: REOPEN, values: [ids] });
  return notes;
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

function pastSessionsOf({ session }: Report, host: HostRow): string[] {
  if (host.session === null || host.session === session) return host.pastSessions;
  return [host.session, ...host.pastSessions].slice(0, MAX_PAST_SESSIONS);
}

const LOCK_HOST = `
  select session, sequence, past_sessions as "pastSessions", generation, document, protocol, missing,
    case when gpus = '[]' then hardware -> 'gpus' else gpus end as gpus from machine_host
  where machine_id = $1 and revoked_at is null for update`;

/** All containers that may still exist, and those named in the report. */
const CONTAINERS = `
  select instance_id as "instanceId", instance.machine_id as "machineId", account_id as "accountId", status, gpu_intervals as "gpuIntervals",
    told_start as "sentStart", phase, container.start, pulled_bytes as "pulledBytes", total_bytes as "totalBytes", message,
    exit_code as "exitCode", restarts, erased_at as "erasedAt", image_ports as "imagePorts",
    (select max(ordinal) from container_start s where s.instance_id = instance.id and running_at is not null) as "runningStart",
    (select max(ordinal) from container_start s where s.instance_id = instance.id and failed_at is not null) as "failedStart",
    idle_watch.instance_id is not null as "isWatched", idle_watch.start as "quietStart", quiet_since as "quietSince"
  from container join instance on instance.id = instance_id left join idle_watch using (instance_id)
  where container.machine_id = $1 and (erased_at is null or instance_id = any($2::text[]))`;

const RECORD_REPORT = `
  update machine_host set session = $2, sequence = $3::bigint, past_sessions = $4::text[], engine = $5, "unknown" = $6::text[],
    launches = $7::boolean, loads = $8::boolean,
    volumes = $9::boolean, users = $10::boolean, fuse = $11::boolean
  where machine_id = $1`;

const RECORD_CONTAINERS = `
  update container set phase = step.phase, start = step.start, pulled_bytes = step.pulled_bytes,
    total_bytes = step.total_bytes, message = step.message, exit_code = step.exit_code, restarts = step.restarts,
    erased_at = step.erased_at, image_ports = step.image_ports
  from jsonb_populate_recordset(null::container, $1::jsonb) step where container.instance_id = step.instance_id`;

const RECORD_LOADS = `
  update idle_watch set start = seen.start, quiet_since = seen.quiet_since
  from jsonb_to_recordset($1::jsonb) as seen (instance_id text, start int, quiet_since timestamptz)
  where idle_watch.instance_id = seen.instance_id`;

/** A settled start no longer changes, except that a running one can still fail after earning its credit. */
const RECORD_STARTS = `
  with running as (
    update container_start set running_at = $6::timestamptz from unnest($1::text[], $2::text[]) as seen (id, start)
    where instance_id = id and ordinal = start::int and running_at is null and not settled
  )
  update container_start set failed_at = $6::timestamptz, host_fault = by_host::boolean, settled = false
  from unnest($3::text[], $4::text[], $5::text[]) as seen (id, start, by_host)
  where instance_id = id and ordinal = start::int and failed_at is null and (not settled or exists (
    select from instance where instance.id = instance_id and status = 'RUNNING' and gpu_intervals = ordinal))`;

/** These containers were recorded as erased, but the host still has them, so they must be erased again. */
const REOPEN = `
  update container set phase = 'STOPPED', start = greatest(told_start, 1), told_start = greatest(told_start, 1), erased_at = null
  where instance_id = any($1::text[]) and erased_at is not null`;
