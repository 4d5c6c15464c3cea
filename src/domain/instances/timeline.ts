import type { KernelDeps } from '../kernel/deps.js';
import type { StopReason } from '../kernel/lifecycle.js';
import { type Micro, type Rate, shownSpend, type Units } from '../kernel/money.js';
import { formatInstant, type Instant } from '../kernel/time.js';
import type { InstanceRow } from './instance-row.js';
import { type CreditReason, kindOfRank, placeOfCursor, rankOf, type TimelineKind } from './rules/timeline.js';

/** A request made with an API key, as stored in `activity`. */
export interface CausingRequest {
  id: bigint;
  at: Instant;
  keyId: string;
  isSession: boolean;
  address: string;
  operation: string;
  targets: string[];
  /** Error code if the request was rejected, null if it succeeded. */
  code: string | null;
  times: number;
}

/** An event in an instance's timeline. Fields that don't apply to the kind of event are null. */
export interface TimelineEntry {
  at: Instant;
  kind: TimelineKind;
  about: string;
  /** For a start: the rate charged after it, including the disk. */
  rate: Rate | null;
  /** For a stop: the cost of the GPUs since the start. For a service credit: the amount credited. */
  amount: Micro | null;
  /** For a stop: the number of seconds since the start. For a service credit: the number of seconds credited. */
  seconds: bigint | null;
  reason: StopReason | null;
  /** For a service credit: the reason. */
  creditReason: CreditReason | null;
  /** For a failed start: whether the machine was at fault. */
  hostFault: boolean | null;
  volumeId: string | null;
  volumeName: string | null;
  sizeBytes: bigint | null;
  /** The request that caused the event. Null if no request caused it or if the request is no longer stored. */
  asked: CausingRequest | null;
}

export interface TimelinePage {
  /** Cursors that bound the page, which contains entries older than `after` and newer than `before`. */
  after?: string | null | undefined;
  before?: string | null | undefined;
  limit: number;
  /** Whether the oldest entry comes first. */
  inverted: boolean;
}

/**
 * Returns everything known to have happened to an instance: its billing, its host agent's reports, changes to its
 * volumes, and requests made with the account's keys. The newest entry comes first, or the oldest if the page is
 * inverted. The caller must have verified that the requester may see the instance.
 */
export async function timelineOf(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  instance: InstanceRow,
  page: TimelinePage,
): Promise<TimelineEntry[]> {
  const { after, before, limit, inverted } = page;
  const { rows } = await deps.db.pool.query<
    Omit<TimelineEntry, 'kind' | 'amount'> & { rank: number; units: Units | null }
  >({
    name: inverted ? 'timeline-oldest' : 'timeline-newest',
    text: inverted ? OLDEST : NEWEST,
    values: [
      instance.accountId,
      instance.id,
      formatInstant(deps.clock.now()),
      limit,
      ...(placeOfCursor(after) ?? NOWHERE),
      ...(placeOfCursor(before) ?? NOWHERE),
    ],
  });
  return rows.map(({ rank, units, asked, ...entry }) => ({
    ...entry,
    kind: kindOfRank(rank),
    amount: units === null ? null : shownSpend(units < 0n ? -units : units),
    asked: asked && { ...asked, id: BigInt(asked.id), at: BigInt(asked.at) },
  }));
}

const NOWHERE = [null, null, null] as const;

const rank = (kind: TimelineKind) => `${rankOf(kind)}`;

/**
 * The operations that cause each kind of event, for those kinds that are caused by requests. An event shows the request
 * for such an operation as its cause.
 */
const OPERATIONS: Partial<Record<TimelineKind, string>> = {
  RENTED: "'deploy', 'deployBest', 'moveInstance'",
  STARTED: "'start'",
  STOPPED: "'stop'",
  DESTROYED: "'destroy'",
};
const EFFECTS = "'deploy', 'deployBest', 'start', 'stop', 'destroy'";

/**
 * Returns the SELECT for one source, with the kind, time and subject of each event and any columns specific to the
 * kind.
 */
function source(
  kind: TimelineKind,
  columns: { at: string; about: string; from: string } & Partial<Record<(typeof MEMBERS)[number], string>>,
): string {
  const members = MEMBERS.map((name) => `${columns[name] ?? `null${NULLS[name]}`} as ${name}`).join(', ');
  return `select ${rank(kind)} as rank, ${columns.at} as at, ${columns.about} as about, ${members} from ${columns.from}`;
}

const MEMBERS = [
  ...(['rate', 'seconds', 'reason', 'credit_reason', 'host_fault', 'volume_id', 'size_bytes', 'entry'] as const),
  'note',
] as const;
const NULLS: Record<(typeof MEMBERS)[number], string> = {
  rate: '::bigint',
  seconds: '::bigint',
  reason: '::stop_reason',
  credit_reason: '::text',
  host_fault: '::boolean',
  volume_id: '::text',
  size_bytes: '::bigint',
  entry: '::text',
  note: '::bigint',
};

/** SQL condition that selects the host's outages during the instance's lifetime. */
const DURING = (at: string) => `${at} >= created_at and ${at} < coalesce(destroyed_at, 'infinity')`;
const OUTAGES = 'one join machine_outage outage on outage.machine_id = one.host';

const SOURCES = [
  source('RENTED', { at: 'created_at', about: "'1'", rate: 'gpu_rate + disk_rate', from: 'one' }),
  source('STARTED', {
    at: 'started_at',
    about: 'ordinal::text',
    rate: 'rate + disk_rate',
    from: "one join usage_interval run on instance_id = one.id and resource = 'GPU' and ordinal > 1",
  }),
  source('RUNNING', {
    at: 'running_at',
    about: 'ordinal::text',
    from: 'container_start where instance_id = $2 and running_at is not null',
  }),
  source('FAILED', {
    at: 'failed_at',
    about: 'ordinal::text',
    host_fault: 'host_fault',
    from: 'container_start where instance_id = $2 and failed_at is not null',
  }),
  // Destroying a running instance also stops it, but the renter sees both as one event.
  source('STOPPED', {
    at: 'ended_at',
    about: 'ordinal::text',
    seconds: 'extract(epoch from ended_at - started_at)::bigint',
    reason: 'coalesce(run.stop_reason, case when ordinal = gpu_intervals then one.stop_reason end)',
    entry: "one.id || '/gpu/' || ordinal",
    from: `one join usage_interval run on instance_id = one.id and resource = 'GPU'
      where ended_at is not null and not (one.ends_running and ordinal = gpu_intervals)`,
  }),
  source('DESTROYED', {
    at: 'destroyed_at',
    about: "'1'",
    seconds: 'case when ends_running then extract(epoch from run.ended_at - run.started_at)::bigint end',
    reason: 'coalesce(disk.stop_reason, case when ends_running then one.stop_reason end)',
    entry: "case when ends_running then one.id || '/gpu/' || gpu_intervals end",
    from: `one join usage_interval disk on disk.instance_id = one.id and disk.resource = 'DISK'
      left join usage_interval run on run.instance_id = one.id and run.resource = 'GPU' and run.ordinal = gpu_intervals
      where destroyed_at is not null`,
  }),
  source('UNREACHABLE', {
    at: 'outage.started_at',
    about: 'extract(epoch from outage.started_at)::bigint::text',
    from: `${OUTAGES} where ${DURING('outage.started_at')}`,
  }),
  source('REACHABLE', {
    at: 'outage.ended_at',
    about: 'extract(epoch from outage.started_at)::bigint::text',
    from: `${OUTAGES} where ${DURING('outage.started_at')} and ${DURING('outage.ended_at')}`,
  }),
  source('GPU_MISSING', {
    at: 'started_at',
    about: 'extract(epoch from started_at)::bigint::text',
    from: 'gpu_loss where instance_id = $2',
  }),
  // A GPU loss also ends when its instance does, but then no GPU has come back.
  source('GPU_BACK', {
    at: 'ended_at',
    about: 'extract(epoch from started_at)::bigint::text',
    from: `one join gpu_loss on instance_id = one.id
      where ended_at is not null and ended_at is distinct from stopped_at and ended_at is distinct from destroyed_at`,
  }),
  source('VOLUME_STORED', {
    at: "date_trunc('second', stored.at)",
    about: "stored.volume_id || ':' || left(stored.id, 64)",
    volume_id: 'stored.volume_id',
    size_bytes: 'size_bytes',
    from: `volume_attachment attached join volume_snapshot stored on stored.volume_id = attached.volume_id and stored.instance_id = $2
      where attached.instance_id = $2 and dropped_at is null`,
  }),
  source('VOLUME_LOST', {
    at: 'lost_since',
    about: 'volume_id',
    volume_id: 'volume_id',
    from: 'volume_attachment where instance_id = $2 and lost_since is not null',
  }),
  source('CHANGED', { at: 'at', about: 'id::text', note: 'id', from: 'changed' }),
  source('IDLE', {
    at: 'warned_at',
    about: 'extract(epoch from warned_at)::bigint::text',
    from: 'idle_watch where instance_id = $2 and warned_at is not null',
  }),
  source('LIMIT_REACHED', {
    at: 'limit_reached_at',
    about: "'1'",
    from: 'one where limit_reached_at <= $3::timestamptz',
  }),
  source('CREDITED', {
    at: 'entry.at',
    about: 'ordinal::text',
    seconds: 'extract(epoch from ended_at - started_at)::bigint',
    // Versions up to 1.1.0 recorded a slow start as START.
    credit_reason: "case service_gap.reason when 'START' then 'SLOW_START' else service_gap.reason::text end",
    entry: "$2 || '/service/' || ordinal",
    from: `service_gap join ledger_entry entry on entry.id = $2 || '/service/' || ordinal
      where service_gap.instance_id = $2`,
  }),
];

/**
 * Builds the statement. Its parameters are the account, the instance, the current time, the limit, and two positions
 * (second, rank and subject) between which all entries must lie. Because an account can have a large amount of
 * activity, a page's entries are read in index order until the page is full, and the request that caused an entry is
 * searched for only within a few seconds of it. Adding or removing an SSH key that opens all of an account's instances
 * counts as a change to each of them.
 */
function statement(direction: 'asc' | 'desc'): string {
  const beyond = (place: number, sign: '<' | '>', entry = '(at, rank, about)') =>
    `($${place}::bigint is null or ${entry} ${sign} (to_timestamp($${place}), $${place + 1}::int, $${place + 2}::text))`;
  const changed = `(at, ${rank('CHANGED')}, id::text collate "C")`;
  const kinds = Object.entries(OPERATIONS).map(
    ([kind, operations]) => `rank = ${rank(kind as TimelineKind)} and operation in (${operations})`,
  );
  return `
    with one as (
      select instance.*, coalesce(host_id, machine_id) as host, status = 'DESTROYED' and stopped_at = destroyed_at as ends_running
      from instance where account_id = $1 and id = $2
    ), mentioned as not materialized (
      select * from activity where account_id = $1 and at >= (select created_at from one)
        and at <= coalesce((select destroyed_at from one), 'infinity')
        and (targets @> array[$2] or operation in ('addSshKey', 'removeSshKey') and not exists (
          select from unnest(targets) about where about ~ '^i-[0-9a-f]{8}$'))
    ), changed as (
      select * from mentioned where not (code is null and operation in (${EFFECTS}))
        and not (code is null and operation = 'moveInstance' and targets[1] <> $2)
        and at <= coalesce(to_timestamp($5::bigint), 'infinity') and at >= coalesce(to_timestamp($8::bigint), '-infinity')
        and ${beyond(5, '<', changed)} and ${beyond(8, '>', changed)}
      order by at ${direction}, id::text collate "C" ${direction} limit $4
    ), happened as (
      ${SOURCES.join('\n      union all\n      ')}
    ), page as (
      select * from (select rank, at, about collate "C" as about, ${MEMBERS.join(', ')} from happened) happened
      where ${beyond(5, '<')} and ${beyond(8, '>')}
      order by at ${direction}, rank ${direction}, about ${direction} limit $4
    )
    select rank, page.at, about, rate, seconds, reason, credit_reason as "creditReason", host_fault as "hostFault", volume_id as "volumeId",
      volume.name as "volumeName", size_bytes as "sizeBytes", entry.units,
      case when asked.id is not null then jsonb_build_object('id', asked.id::text, 'at', extract(epoch from asked.at)::bigint::text,
        'keyId', asked.key_id, 'isSession', asked.is_session, 'address', asked.address, 'operation', asked.operation,
        'targets', asked.targets, 'code', asked.code, 'times', asked.times) end as asked
    from page left join volume on volume.id = volume_id
      left join ledger_entry entry on entry.id = page.entry
      left join lateral (
        select * from activity where account_id = $1 and id = page.note
        union all (
          select * from mentioned where page.note is null and code is null and (${kinds.join(' or ')})
            and at between page.at - interval '2 seconds' and page.at + interval '1 second'
          order by id desc limit 1)
      ) asked on true
    order by page.at ${direction}, rank ${direction}, about ${direction}`;
}

const NEWEST = statement('desc');
const OLDEST = statement('asc');
