import type pg from 'pg';
import { only } from '../../database/only.js';
import type { Transaction } from '../../database/transaction.js';
import type { Account } from '../kernel/lifecycle.js';
import type { Units } from '../kernel/money.js';
import { formatInstant, type Instant } from '../kernel/time.js';
import { CHARGED, MOVED, secondsBefore } from './recompute.js';

/** Number of instances between consecutive checkpoints. */
const STEP = 25;
/** Maximum number of checkpoints created while preparing one statement. The next statement creates more. */
const MAX_PER_CALL = 400;
/**
 * Number of seconds until settled time is final. No entry is ever dated further back than this before the account's
 * last settlement.
 */
const SETTLED_FOR_SECONDS = 60n;

/** A point from which an account's history can be read, with the totals of everything before it. */
export interface Checkpoint {
  /** The checkpoint's time in RFC 3339 format. */
  at: string;
  spendUnits: Units;
  creditUnits: Units;
  /**
   * Instances that weren't destroyed before `at`. All other relevant instances have a sequence number above `sequence`.
   */
  openInstances: string[];
  sequence: number;
  /** Upper bound on the sequence numbers of instances created within the period. */
  lastSequence: number;
}

/**
 * SQL for the instances that may have been charged within a period, given the columns of a Checkpoint. These are the
 * instances open at the checkpoint and those created since. `until` is the end of the period. The intervals are joined
 * one instance at a time, no matter how many rows the planner expects.
 */
export function usedSince(
  account: string,
  { open, sequence, lastSequence, until }: Record<'open' | 'sequence' | 'lastSequence' | 'until', string>,
): string {
  return `(
    select * from instance where id = any(${open})
    union all
    select * from instance
    where account_id = ${account} and sequence > ${sequence} and sequence <= ${lastSequence} and created_at < ${until}
  ) used cross join lateral (select * from usage_interval where instance_id = used.id offset 0) usage_interval`;
}

/**
 * SQL for the volume sizes that may have been charged between two instants (given as SQL), joined with their volumes.
 * Volumes don't need checkpoints, because at most 100 exist at a time and deleted volumes are found by their deletion
 * time.
 */
export function sizesWithin(account: string, from: string, until: string): string {
  return `(
    select id, created_at from volume
    where account_id = ${account} and (deleted_at is null or deleted_at > ${from}) and created_at < ${until}
  ) kept join volume_interval on volume_id = kept.id and started_at < ${until} and coalesce(ended_at > ${from}, true)`;
}

/** Returns the last checkpoint at or before `from`, for reading a period that ends at `to`. */
export async function checkpointBefore(
  transaction: Transaction,
  accountId: string,
  from: Instant,
  to: Instant,
): Promise<Checkpoint> {
  const { rows } = await transaction.query<Checkpoint>({
    name: 'checkpoint-before',
    text: BEFORE_SQL,
    values: [accountId, formatInstant(from), formatInstant(to)],
  });
  return only(rows);
}

/** Returns spend and credit before `from`, computed as the checkpoint's totals plus everything after it. */
export async function openingOf(
  transaction: Transaction,
  accountId: string,
  checkpoint: Checkpoint,
  from: Instant,
): Promise<{ spentBefore: Units; creditBefore: Units }> {
  const { at, openInstances, sequence, lastSequence, spendUnits, creditUnits } = checkpoint;
  const { rows } = await transaction.query<{ spent: Units; credit: Units }>({
    name: 'statement-opening',
    text: OPENING_SQL,
    values: [accountId, at, formatInstant(from), openInstances, sequence, lastSequence],
  });
  return { spentBefore: spendUnits + only(rows).spent, creditBefore: creditUnits + only(rows).credit };
}

/** Creates the missing checkpoints of a long history. A history shorter than two steps doesn't need checkpoints. */
export async function makeCheckpoints(pool: pg.Pool, account: Readonly<Account>): Promise<void> {
  if (account.deployedInstances < 2 * STEP) return;
  const { rows } = await pool.query<{ sequence: number }>({
    name: 'newest-checkpoint',
    text: NEWEST_SQL,
    values: [account.id],
  });
  if (account.deployedInstances - only(rows).sequence < 2 * STEP) return;
  const until = formatInstant(account.settledAt - SETTLED_FOR_SECONDS);
  for (let made = 0; made < MAX_PER_CALL; made += 1) {
    const { rowCount } = await pool.query({ name: 'make-checkpoint', text: MAKE_SQL, values: [account.id, until] });
    if (rowCount === 0) return;
  }
}

const NEWEST_SQL = `
  select coalesce((select sequence from account_checkpoint where account_id = $1 order by at desc limit 1), 0) as sequence`;

/** The checkpoint that precedes all history. */
const GENESIS = `timestamptz 'epoch' as at, 0 as sequence, 0::bigint as spend_units, 0::bigint as credit_units, '{}'::text[] as open_instances`;

const BEFORE_SQL = `
  select to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at, spend_units as "spendUnits", credit_units as "creditUnits",
    open_instances as "openInstances", sequence,
    coalesce((
      select sequence from account_checkpoint where account_id = $1 and at >= $3::timestamptz order by at limit 1
    ), 2147483647) as "lastSequence"
  from (
    (select at, sequence, spend_units, credit_units, open_instances from account_checkpoint
     where account_id = $1 and at <= $2::timestamptz order by at desc limit 1)
    union all select ${GENESIS}
  ) before order by at desc limit 1`;

const UNITS_WITHIN = `rate * (${secondsBefore('$3::timestamptz')} - ${secondsBefore('$2::timestamptz')})`;
const OPENING_SQL = `
  select ((
    select coalesce(sum(${UNITS_WITHIN}), 0)
    from ${usedSince('$1', { open: '$4::text[]', sequence: '$5', lastSequence: '$6', until: '$3::timestamptz' })}
  ) + (
    select coalesce(sum(${UNITS_WITHIN}), 0) from ${sizesWithin('$1', '$2::timestamptz', '$3::timestamptz')}
  ) + coalesce(-sum(units) filter (where ${CHARGED}), 0))::bigint as spent,
    coalesce(sum(units) filter (where ${MOVED}), 0)::bigint as credit
  from ledger_entry where account_id = $1 and at >= $2::timestamptz and at < $3::timestamptz`;

/**
 * Creates the checkpoint that follows the newest one. It is placed one second after the deploy that is one step further
 * on. Sequence numbers follow the clock to within a few seconds, so later numbers, up to the first instance created
 * more than a minute after the checkpoint, are searched for instances created before it.
 */
const MAKE_SQL = `
  with base as (
    (select at, sequence, spend_units, credit_units, open_instances from account_checkpoint
     where account_id = $1 order by at desc limit 1)
    union all select ${GENESIS}
    order by at desc limit 1
  ), next as (
    select instance.created_at + interval '1 second' as at, instance.sequence from base join instance
      on account_id = $1 and instance.sequence = base.sequence + ${STEP} and created_at < $2::timestamptz
  ), last as (
    select at, (
      select max(sequence) from instance where account_id = $1 and created_at < next.at and sequence >= next.sequence
        and sequence <= coalesce((
          select sequence from instance where account_id = $1 and instance.sequence > next.sequence
            and created_at > next.at + interval '1 minute' order by sequence limit 1
        ), 2147483647)
    ) as sequence from next
  ), spent as (
    select sum(rate * (${secondsBefore('last.at')} - ${secondsBefore('base.at')})) as units
    from base, last, lateral ${usedSince('$1', {
      open: 'base.open_instances',
      sequence: 'base.sequence',
      lastSequence: 'last.sequence',
      until: 'last.at',
    })}
  ), stored as (
    select sum(rate * (${secondsBefore('last.at')} - ${secondsBefore('base.at')})) as units
    from base, last, lateral (select rate, started_at, ended_at from ${sizesWithin('$1', 'base.at', 'last.at')}) size
  ), booked as (
    select sum(units) filter (where ${MOVED}) as credit, -sum(units) filter (where ${CHARGED}) as charged
    from base, last, ledger_entry
    where account_id = $1 and ledger_entry.at >= base.at and ledger_entry.at < last.at
  )
  insert into account_checkpoint (account_id, at, sequence, spend_units, credit_units, open_instances)
  select $1, last.at, last.sequence, base.spend_units + coalesce(spent.units, 0) + coalesce(stored.units, 0) + coalesce(charged, 0),
    base.credit_units + coalesce(credit, 0), array(
      select id from (
        select id, destroyed_at from instance where id = any(base.open_instances)
        union all
        select id, destroyed_at from instance
        where account_id = $1 and instance.sequence > base.sequence and instance.sequence <= last.sequence
      ) candidate where destroyed_at is null or destroyed_at >= last.at
    )
  from base, last, spent, stored, booked
  on conflict do nothing`;
