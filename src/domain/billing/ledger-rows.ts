import type { PreparedStatement } from '../../database/transaction.js';
import type { MachineForAdmission } from '../kernel/admission.js';
import type {
  Account,
  Instance,
  LedgerEntry,
  NewVolume,
  RowChanges,
  UsageInterval,
  Volume,
  VolumeInterval,
} from '../kernel/lifecycle.js';
import { MACHINE_FOR_ADMISSION, MACHINE_ON_HOST, onHostOf, overlapping } from '../kernel/machine-condition.js';
import { HAS_ACTIVE_WEBHOOK } from '../kernel/outbox.js';
import type { LimitedKey } from '../kernel/spend-limit.js';
import { formatInstant, type Instant } from '../kernel/time.js';
import { DUE_AT, keySpend, recomputed } from './recompute.js';

/** SQL that the ledger uses to lock, read and write rows. Only ledger.ts may execute the writes. */

const ACCOUNT_FIELDS = [
  'id',
  'suspendedAt',
  'creditUnits',
  'spendUnits',
  'burnRate',
  'settledAt',
  'monthStartSpendUnits',
  'liveInstances',
  'liveVolumes',
  'deployedInstances',
  'exhaustedAt',
  'diskDeleteAt',
  'dueAt',
  'deadlineAt',
  'monthlyLimit',
  'limitReachedAt',
  'limitAt',
  'limitedKeys',
] as const satisfies (keyof Account)[];

/** Instance columns that can change after the deploy. */
const INSTANCE_UPDATES = [
  'status',
  'runningSince',
  'stoppedAt',
  'destroyedAt',
  'stopAt',
  'destroyAt',
  'spendLimit',
  'limitReachedAt',
  'stopWhenIdle',
  'labels',
  'volumeGb',
  'runKeyId',
  'stopReason',
  'gpuSeconds',
  'gpuIntervals',
  'reservedUntil',
  'earlyExitUnits',
  'minimumUntil',
  'minimumUnits',
] as const satisfies (keyof Instance)[];
const INSTANCE_FIELDS = [
  'id',
  'accountId',
  'sequence',
  'machineId',
  'hostId',
  'firstGpu',
  'gpu',
  'numGpus',
  'region',
  'template',
  'diskGb',
  'mode',
  'gpuRate',
  'diskRate',
  'onDemandRate',
  'createdAt',
  'keyId',
  ...INSTANCE_UPDATES,
] as const satisfies (keyof Instance)[];

const INTERVAL_FIELDS = [
  'instanceId',
  'resource',
  'ordinal',
  'rate',
  'startedAt',
  'endedAt',
  'minimumUntil',
  'keyId',
] as const satisfies (keyof UsageInterval)[];

/** Volume columns that can change and that affect charges. */
const VOLUME_UPDATES = ['sizeGb', 'deletedAt', 'deleteReason'] as const satisfies (keyof Volume)[];
const VOLUME_FIELDS = [
  'id',
  'accountId',
  'name',
  'gbRate',
  'keyId',
  'createdAt',
  ...VOLUME_UPDATES,
] as const satisfies (keyof Volume)[];

const SIZE_FIELDS = [
  'volumeId',
  'ordinal',
  'sizeGb',
  'rate',
  'startedAt',
  'endedAt',
  'keyId',
] as const satisfies (keyof VolumeInterval)[];

const KEY_FIELDS = [
  'id',
  'monthlyLimit',
  'spendUnits',
  'burnRate',
  'settledAt',
  'monthStartSpendUnits',
  'limitReachedAt',
  'limitAt',
] as const satisfies (keyof LimitedKey)[];

const ENTRY_FIELDS = ['id', 'accountId', 'kind', 'units', 'at', 'instanceId', 'reference', 'note'] as const;

/** Account columns that can change after the account is created. */
const ACCOUNT_UPDATES = ACCOUNT_FIELDS.filter((field) => field !== 'id');

export const ACCOUNT_COLUMNS = columns(ACCOUNT_FIELDS);
export const INSTANCE_COLUMNS = columns(INSTANCE_FIELDS);

/** A machine whose host is locked, together with the instances on that host. */
export interface MachineUnderLock extends MachineForAdmission<Instance> {
  hostId: string;
  region: string;
  /** Whether a host agent runs the machine's instances. */
  hasHost: boolean;
  /** All live instances on the machine's host, regardless of account. */
  liveInstances: Instance[];
  /**
   * End of the last second in which any of the machine's GPUs was sold to an instance that has since stopped. Null if
   * there is no such instance.
   */
  soldUntil: Instant | null;
}

type NamedStatement = Pick<PreparedStatement, 'name' | 'text'>;

/**
 * SQL for whether any webhook or email address receives the account's events. Most accounts have neither, so their
 * events don't need to be written.
 */
const HAS_ACTIVE_WEBHOOK_COLUMN = `${HAS_ACTIVE_WEBHOOK} as "hasActiveWebhook"`;
export interface LockedAccount extends Account {
  hasActiveWebhook: boolean;
}
export const LOCK_ACCOUNTS: NamedStatement = {
  name: 'lock-accounts',
  text: `select ${ACCOUNT_COLUMNS}, ${HAS_ACTIVE_WEBHOOK_COLUMN} from account
         where id = any($1::text[] || array(
           select account_id from machine wanted join machine other using (host_id) join instance on machine_id = other.id
           where wanted.id = $2 and status = 'RUNNING' and ${overlapping('wanted', 'other')}))
         order by id for no key update`,
};
/** Inserts an account without credit, because money is moved only by ledger entries. */
export const INSERT_ACCOUNT: NamedStatement = {
  name: 'insert-account',
  text: 'insert into account (id, name, demo, created_at, settled_at, signed_up_at) values ($1, $2, $3, $4, $4, $5)',
};
/** Recomputes a locked account's running totals from its ledger entries and usage intervals. */
export const RECOMPUTE_TOTALS: NamedStatement = {
  name: 'recompute-totals',
  text: `select credit_units as "creditUnits", spend_units as "spendUnits", burn_rate as "burnRate",
           month_start_spend_units as "monthStartSpendUnits", live_instances as "liveInstances", live_volumes as "liveVolumes",
           deployed_instances as "deployedInstances", ${DUE_AT} as "dueAt"
         from (${recomputed('(select * from account where id = $1)')}) fresh`,
};
export const TRY_ACCOUNT: NamedStatement = {
  name: 'try-account',
  text: `select ${ACCOUNT_COLUMNS}, ${HAS_ACTIVE_WEBHOOK_COLUMN} from account where id = $1 for no key update skip locked`,
};
/**
 * Locks a machine's entire host, because a host's machines overlap. This statement reads nothing else: after waiting
 * for the lock, it would still see other rows, such as those of the machine and the host's agent, as they were before
 * the wait.
 */
export const LOCK_MACHINE: NamedStatement = {
  name: 'lock-machine',
  text: `select from machine host join machine on machine.host_id = host.id
         where machine.id = $1 for no key update of host`,
};
/**
 * Instances don't have to be locked separately, because they are changed only by the holder of their account's lock.
 */
const LIVE_INSTANCES_ON_HOST = instancesWhere('live-on-host', `${onHostOf('= $1')} and status <> 'DESTROYED'`);
export const INSTANCE_OF_ACCOUNT = instancesWhere('instance-of-account', 'account_id = $1 and id = $2');
export const LIVE_INSTANCES_OF_ACCOUNT = instancesWhere('live-of-account', `account_id = $1 and status <> 'DESTROYED'`);
/** Locks and returns the account's volumes, each with the interval for its most recent size. */
const VOLUMES = `
  select ${columns(VOLUME_FIELDS)}, sizes, "sizedAt", "sizeKeyId"
  from volume cross join lateral (
    select ordinal as sizes, started_at as "sizedAt", volume_interval.key_id as "sizeKeyId"
    from volume_interval where volume_id = volume.id order by ordinal desc limit 1
  ) last where account_id = $1`;
export const VOLUME_OF_ACCOUNT: NamedStatement = {
  name: 'volume-of-account',
  text: `${VOLUMES} and id = $2 for no key update of volume`,
};
export const LIVE_VOLUMES_OF_ACCOUNT: NamedStatement = {
  name: 'live-volumes-of-account',
  text: `${VOLUMES} and deleted_at is null order by created_at, id for no key update of volume`,
};
/** The account's keys whose limits count spend now or may do so later. */
export const READ_LIMITED_KEYS: NamedStatement = {
  name: 'read-limited-keys',
  text: `select ${columns(KEY_FIELDS)} from key_limit
         where account_id = $1 and monthly_limit is not null
           and (burn_rate > 0 or exists (select from api_key where id = key_limit.id and revoked_at is null)) order by id`,
};
/** Locks the same keys, in the same order as all other statements. */
export const LIMITED_KEYS: NamedStatement = {
  name: 'limited-keys',
  text: `${READ_LIMITED_KEYS.text} for no key update`,
};
/** Computes how much key `$2` of account `$1` spent from the start of `$3`'s month up to `$3`, and the key's burn. */
export const RECOMPUTE_KEY: NamedStatement = {
  name: 'recompute-key',
  text: keySpend('$1', '$2', '$3::timestamptz'),
};

/**
 * Returns machine `$1` with its model's on-demand rate per GPU-hour from the newest snapshot, and the end of the last
 * second in which its GPUs were sold. The stops of all earlier instances on these GPUs are already committed, because
 * stopping an instance locks its account or the machine.
 */
const LOCKED_MACHINE: NamedStatement = {
  name: 'locked-machine',
  text: `select ${MACHINE_FOR_ADMISSION}, agent.machine_id is not null as "hasHost",
         (select on_demand_rate from gpu_price where gpu_price.gpu = machine.gpu
           order by snapshot_date desc limit 1) as "ratePerGpu",
         (select max(last.stopped_at) from machine other, lateral (
             select max(stopped_at) as stopped_at from instance where machine_id = other.id
           ) last where other.host_id = machine.host_id and ${overlapping('machine', 'other')}) as "soldUntil"
         from ${MACHINE_ON_HOST} where machine.id = $1`,
};

function instancesWhere(name: string, condition: string): NamedStatement {
  return { name, text: `select ${INSTANCE_COLUMNS} from instance where ${condition} order by sequence, id` };
}

/** Returns statements that lock a machine's host and then read everything needed to decide on the machine. */
export function machineStatements(machineId: string): PreparedStatement[] {
  return [LOCK_MACHINE, LIVE_INSTANCES_ON_HOST, LOCKED_MACHINE].map((statement) => ({
    ...statement,
    values: [machineId],
  }));
}

export function machineRows([, live, machines]: readonly object[][]) {
  const row = machines?.[0] as Omit<MachineUnderLock, 'liveInstances'> | undefined;
  return { row, liveInstances: live as Instance[] };
}

/**
 * Returns the statements that write the changes. A small number of rows is written by one combined statement, and a
 * larger number by one statement per row.
 */
export function writesOf({
  accounts,
  keys,
  created,
  updated,
  opened,
  closed,
  createdVolumes,
  updatedVolumes,
  openedSizes,
  closedSizes,
  entries,
}: RowChanges): PreparedStatement[] {
  const ofInstances = statementsOf([
    ...Array.from(accounts, (row) => rowsFor(UPDATE_ACCOUNT, [row])),
    ...Array.from(keys, (row) => rowsFor(UPDATE_KEY, [row])),
    ...Array.from(updated, (row) => rowsFor(UPDATE_INSTANCE, [row])),
    rowsFor(INSERT_INSTANCE, [...created]),
    rowsFor(OPEN_INTERVALS, opened),
    ...closed.map((row) => rowsFor(CLOSE_INTERVAL, [row])),
    rowsFor(INSERT_ENTRIES, entries),
  ]);
  // Volumes get separate statements, so that the numbers of possible combinations aren't multiplied together.
  const ofVolumes = statementsOf([
    ...Array.from(updatedVolumes, (row) => rowsFor(UPDATE_VOLUME, [row])),
    rowsFor(INSERT_VOLUME, [...createdVolumes]),
    ...closedSizes.map((row) => rowsFor(CLOSE_SIZE, [row])),
    rowsFor(OPEN_SIZES, openedSizes),
  ]);
  return [...ofInstances, ...ofVolumes];
}

/** Defines how to write rows of one kind. */
interface RowWrite<T> {
  name: string;
  fields: readonly (keyof T & string)[];
  /** SQL that writes `rows` rows, with their fields passed as parameters starting at number `first`. */
  text(rows: number, first: number): string;
}

const UPDATE_ACCOUNT = updateOf<Account>('account', ACCOUNT_UPDATES);
const UPDATE_KEY = updateOf<LimitedKey>(
  'key_limit',
  KEY_FIELDS.filter((field) => field !== 'id'),
);
const UPDATE_INSTANCE = updateOf<Instance>('instance', INSTANCE_UPDATES);
const INSERT_INSTANCE = insertOf<Instance>('instance', INSTANCE_FIELDS);
const OPEN_INTERVALS = insertOf<UsageInterval>('usage_interval', INTERVAL_FIELDS);
const CLOSE_INTERVAL: RowWrite<UsageInterval> = {
  name: 'close interval',
  fields: ['endedAt', 'stopReason', 'instanceId', 'resource', 'ordinal'],
  text: (_, first) => `
    update usage_interval set ended_at = $${first}, stop_reason = $${first + 1}
    where instance_id = $${first + 2} and resource = $${first + 3} and ordinal = $${first + 4} and ended_at is null`,
};
const UPDATE_VOLUME = updateOf<Volume>('volume', VOLUME_UPDATES);
const INSERT_VOLUME = insertOf<NewVolume>('volume', [
  ...VOLUME_FIELDS,
  'sealedPassword',
  'sealingKeyId',
  'copyOf',
  'headSnapshotId',
]);
const OPEN_SIZES = insertOf<VolumeInterval>('volume_interval', SIZE_FIELDS);
const CLOSE_SIZE: RowWrite<VolumeInterval> = {
  name: 'close size',
  fields: ['endedAt', 'volumeId', 'ordinal'],
  text: (_, first) => `
    update volume_interval set ended_at = $${first}
    where volume_id = $${first + 1} and ordinal = $${first + 2} and ended_at is null`,
};
const INSERT_ENTRIES = insertOf<LedgerEntry>('ledger_entry', ENTRY_FIELDS);

function insertOf<T>(table: string, fields: RowWrite<T>['fields']): RowWrite<T> {
  const row = (first: number) => `(${fields.map((_, index) => `$${first + index}`).join(', ')})`;
  const text = (rows: number, first: number) => `
    insert into ${table} (${fields.map(columnOf).join(', ')})
    values ${Array.from({ length: rows }, (_, index) => row(first + index * fields.length)).join(', ')}`;
  return { name: `insert ${table}`, fields, text };
}

/** Builds an update of a table that changes one row at a time. */
function updateOf<T extends { id: string }>(table: string, fields: RowWrite<T>['fields']): RowWrite<T> {
  const text = (_: number, first: number) => `
    update ${table} set ${fields.map((field, index) => `${columnOf(field)} = $${first + index}`).join(', ')}
    where id = $${first + fields.length}`;
  return { name: `update ${table}`, fields: [...fields, 'id'], text };
}

/** Rows to write, with their values. */
interface Rows {
  write: Pick<RowWrite<unknown>, 'name' | 'text'>;
  /** Number of parameters per row. */
  width: number;
  count: number;
  values: PreparedStatement['values'];
}

function rowsFor<T>(write: RowWrite<T>, rows: readonly T[]): Rows {
  const values = rows.flatMap((row) => write.fields.map((field) => columnValue(field, row[field])));
  return { write, width: write.fields.length, count: rows.length, values };
}

/**
 * Maximum number of rows written by one combined statement. A single decision never changes more rows than this, but
 * settlement can change thousands.
 */
const MAX_ROWS_TOGETHER = 8;
/**
 * Combined statements, indexed by the kinds and numbers of rows they write. With MAX_ROWS_TOGETHER and 7 kinds, there
 * are at most about 6,400 combinations, plus 500 for the 4 kinds of volume rows.
 */
const writeStatements = new Map<string, NamedStatement>();

/**
 * Combines the writes of a few rows into one statement, which is cheaper than running a separate statement for each.
 */
function statementsOf(rows: readonly Rows[]): PreparedStatement[] {
  const nonEmpty = rows.filter(({ count }) => count > 0);
  const total = nonEmpty.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return [];
  if (total <= MAX_ROWS_TOGETHER) return [statementOf(nonEmpty)];
  return nonEmpty.flatMap(({ write, width, count, values }) =>
    Array.from({ length: count }, (_, index) => {
      return statementOf([{ write, width, count: 1, values: values.slice(index * width, (index + 1) * width) }]);
    }),
  );
}

function statementOf(rows: readonly Rows[]): PreparedStatement {
  const key = rows.map(({ write, count }) => `${count} ${write.name}`).join(' ');
  let statement = writeStatements.get(key);
  if (statement === undefined) {
    let first = 1;
    const parts = rows.map(({ write, count, values }, index) => {
      const text = write.text(count, first);
      first += values.length;
      return `part_${index} as (${text})`;
    });
    statement = { name: `write-${writeStatements.size}`, text: `with ${parts.join(', ')} select` };
    writeStatements.set(key, statement);
  }
  return { ...statement, values: rows.flatMap(({ values }) => values) };
}

const INSTANTS: ReadonlySet<string> = new Set([
  'suspendedAt',
  'settledAt',
  'exhaustedAt',
  'diskDeleteAt',
  'dueAt',
  'deadlineAt',
  'limitReachedAt',
  'limitAt',
  'stopAt',
  'destroyAt',
  'createdAt',
  'runningSince',
  'stoppedAt',
  'destroyedAt',
  'deletedAt',
  'reservedUntil',
  'minimumUntil',
  'startedAt',
  'endedAt',
  'at',
]);

/** Converts a value to a statement parameter. Instants are sent in RFC 3339 format. */
function columnValue(field: string, value: unknown): string | number | bigint | null {
  if (typeof value === 'bigint' && INSTANTS.has(field)) return formatInstant(value);
  if (field === 'labels' && value !== null) return JSON.stringify(value);
  return value as string | number | bigint | null;
}

function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function columns(fields: readonly string[]): string {
  // Instances created before slices existed don't have a host_id.
  const read = (field: string) => (field === 'hostId' ? 'coalesce(host_id, machine_id)' : columnOf(field));
  return fields.map((field) => `${read(field)} as "${field}"`).join(', ');
}
