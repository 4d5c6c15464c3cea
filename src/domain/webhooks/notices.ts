import { DUE_WORK } from '../../database/notices.js';
import { only } from '../../database/only.js';
import { ACCOUNT_COLUMNS, INSTANCE_COLUMNS } from '../billing/ledger-rows.js';
import { balanceAt } from '../kernel/accrual.js';
import type { KernelDeps } from '../kernel/deps.js';
import { ACCOUNT_SUBJECT, type NewEvent, usdOf } from '../kernel/events.js';
import type { Account, Instance } from '../kernel/lifecycle.js';
import type { Micro } from '../kernel/money.js';
import { emit, HAS_ACTIVE_WEBHOOK } from '../kernel/outbox.js';
import { instanceLimitAt } from '../kernel/spend-limit.js';
import { formatInstant, type Instant, monthStartOf, SECONDS_PER_DAY } from '../kernel/time.js';
import { LONGEST_LEAD, leadAt } from './rules/webhook.js';

/** Maximum number of rows read per call. Rows that were already reported may be read again without effect. */
const MAX_ROWS = 5_000;

interface Ending {
  accountId: string;
  id: string;
  endsAt: Instant;
  does: 'stop' | 'destroy';
}

/** A running instance and the monthly limits that apply to it. */
interface Limited extends Instance {
  keyLimit: Micro | null;
  keyLimitAt: Instant | null;
  accountLimit: Micro | null;
  accountLimitAt: Instant | null;
}

/**
 * Emits the events caused merely by the passing of time, when an instance or the credit is about to end or the balance
 * is low. The times are derived from deadlines, rates and the ledger. Each event's `once` ensures that it is sent only
 * once, even if several gateways detect it. Returns when to call this function again: now, meaning at the next
 * interval, while time can change an account with an active webhook, and otherwise null.
 */
export async function emitTimedEvents(deps: Pick<KernelDeps, 'db' | 'clock'>): Promise<Instant | null> {
  const now = deps.clock.now();
  const { rows } = await deps.db.pool.query<{ isChanging: boolean | null }>({
    name: 'active-accounts',
    text: ACTIVE_ACCOUNTS,
  });
  const { isChanging } = only(rows);
  if (isChanging === null) return null;
  const again = isChanging ? now : null;
  const events = [...(await deadlines(deps, now)), ...(await limits(deps, now)), ...(await balances(deps, now))];
  if (events.length === 0) return again;
  const { text, values } = emit(events);
  const written = await deps.db.pool.query(text, [...values]);
  if (written.rowCount !== 0) deps.db.notices.publish([DUE_WORK]);
  return again;
}

async function deadlines({ db }: Pick<KernelDeps, 'db'>, now: Instant): Promise<NewEvent[]> {
  const { rows } = await db.pool.query<Ending>({
    name: 'deadlines-ahead',
    text: DEADLINES_AHEAD,
    values: [formatInstant(now), formatInstant(now + LONGEST_LEAD), MAX_ROWS],
  });
  return rows.flatMap(({ accountId, id, endsAt, does }) => {
    const lead = leadAt(endsAt, now);
    if (lead === null) return [];
    const once = `deadline/${formatInstant(endsAt)}`;
    return [endingOf({ accountId, id }, endsAt, lead, { cause: 'deadline', does }, once)];
  });
}

async function limits({ db }: Pick<KernelDeps, 'db'>, now: Instant): Promise<NewEvent[]> {
  const { rows } = await db.pool.query<Limited>({
    name: 'limits-ahead',
    text: LIMITS_AHEAD,
    values: [formatInstant(now + LONGEST_LEAD), MAX_ROWS],
  });
  return rows.flatMap((instance) => {
    const first = firstLimitOf(instance);
    const lead = first === null ? null : leadAt(first.at, now);
    if (first === null || lead === null) return [];
    const { of, usd, at } = first;
    // The time at which a monthly limit is reached moves whenever an instance under it starts or stops, so the limit is
    // reported only once per month.
    const once = of === 'instance' ? formatInstant(at) : `${usd}/${formatInstant(monthStartOf(at))}`;
    const data = { cause: 'limit', does: 'stop', limit_of: of, limit: usdOf(usd) };
    return [endingOf(instance, at, lead, data, `limit/${of}/${once}`)];
  });
}

/** Returns the limit that will stop the instance first. */
function firstLimitOf(instance: Limited): { of: string; usd: Micro; at: Instant } | null {
  const { spendLimit, keyLimit, keyLimitAt, accountLimit, accountLimitAt } = instance;
  const known = [
    { of: 'instance', usd: spendLimit, at: instanceLimitAt(instance) },
    { of: 'key', usd: keyLimit, at: keyLimitAt },
    { of: 'account', usd: accountLimit, at: accountLimitAt },
  ].flatMap(({ of, usd, at }) => (usd === null || at === null ? [] : [{ of, usd, at }]));
  return known.reduce<(typeof known)[0] | null>(
    (first, each) => (first !== null && first.at <= each.at ? first : each),
    null,
  );
}

/** Returns the event for an instance that is about to end. It is unique for each `once` and lead time. */
function endingOf(
  { accountId, id }: Pick<Instance, 'accountId' | 'id'>,
  endsAt: Instant,
  lead: bigint,
  data: object,
  once: string,
): NewEvent {
  return {
    accountId,
    type: 'instance.ending',
    subject: id,
    at: endsAt - lead,
    data: { instance: id, ends_at: formatInstant(endsAt), seconds_before: Number(lead), ...data },
    once: `ending/${id}/${once}/${lead}`,
  };
}

async function balances({ db }: Pick<KernelDeps, 'db'>, now: Instant): Promise<NewEvent[]> {
  const { rows } = await db.pool.query<Account & { belowMicro: bigint | null }>({
    name: 'balances-ahead',
    text: BALANCES_AHEAD,
    values: [formatInstant(now), formatInstant(now + LONGEST_LEAD), MAX_ROWS],
  });
  return rows.flatMap((account) => [...exhaustionOf(account, now), ...lowOf(account, now)]);
}

/**
 * Returns the event for credit that is about to run out. It is sent once per credit per day, even if changes to the
 * burn rate move the exact second.
 */
function exhaustionOf({ id, dueAt, exhaustedAt, creditUnits }: Account, now: Instant): NewEvent[] {
  const lead = dueAt === null || exhaustedAt !== null ? null : leadAt(dueAt, now);
  if (dueAt === null || lead === null) return [];
  const data = { cause: 'credit', ends_at: formatInstant(dueAt), seconds_before: Number(lead) };
  const once = `credit/${lead}/${creditUnits}/${dueAt / SECONDS_PER_DAY}`;
  return [{ accountId: id, type: 'balance.ending', subject: ACCOUNT_SUBJECT, at: now, data, once }];
}

function lowOf(account: Account & { belowMicro: bigint | null }, now: Instant): NewEvent[] {
  const { id, belowMicro, creditUnits, exhaustedAt } = account;
  const balance = balanceAt(account, now > account.settledAt ? now : account.settledAt);
  if (belowMicro === null || exhaustedAt !== null || balance > belowMicro) return [];
  const data = { balance: usdOf(balance), below: usdOf(belowMicro) };
  return [
    {
      accountId: id,
      type: 'balance.low',
      subject: ACCOUNT_SUBJECT,
      at: now,
      data,
      once: `low/${creditUnits}/${belowMicro}`,
    },
  ];
}

/** SQL for whether time can change any account with an active webhook. Yields null if there is no such account. */
const ACTIVE_ACCOUNTS = `
  select bool_or(burn_rate <> 0 or deadline_at is not null or (due_at is not null and exhausted_at is null)) as "isChanging"
  from account where ${HAS_ACTIVE_WEBHOOK}`;

/** SQL for the accounts that have an active webhook and a deadline or limit that ends something by the given time. */
const accountsUntil = (instant: string) => `
  select account.id from account where deadline_at <= ${instant}::timestamptz
    and ${HAS_ACTIVE_WEBHOOK}`;

const LIMITS_AHEAD = `
  select ${INSTANCE_COLUMNS},
    (select monthly_limit from key_limit where key_limit.id = run_key_id) as "keyLimit",
    (select limit_at from key_limit where key_limit.id = run_key_id) as "keyLimitAt",
    (select monthly_limit from account where account.id = instance.account_id) as "accountLimit",
    (select limit_at from account where account.id = instance.account_id) as "accountLimitAt"
  from instance where status = 'RUNNING' and account_id in (${accountsUntil('$1')})
  limit $2`;

const DEADLINES_AHEAD = `
  select account_id as "accountId", instance.id, ends_at as "endsAt", does
  from instance cross join lateral (values ('stop', case when status = 'RUNNING' then stop_at end), ('destroy', destroy_at)) as ending (does, ends_at)
  where status <> 'DESTROYED' and ends_at > $1::timestamptz and ends_at <= $2::timestamptz
    and account_id in (${accountsUntil('$2')})
  limit $3`;

const BALANCES_AHEAD = `
  select ${ACCOUNT_COLUMNS}, below_micro as "belowMicro" from account
    left join balance_notice on balance_notice.account_id = account.id
  where ${HAS_ACTIVE_WEBHOOK}
    and (below_micro is not null or (due_at > $1::timestamptz and due_at <= $2::timestamptz and exhausted_at is null))
  limit $3`;
