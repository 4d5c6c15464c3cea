import { ACCOUNT_COLUMNS } from '../billing/ledger-rows.js';
import type { Deps } from '../deps.js';
import { emit } from '../outbox.js';
import { balanceAt } from '../rules/accrual.js';
import { type NewEvent, OF_ACCOUNT, usdOf } from '../rules/events.js';
import type { Account } from '../rules/lifecycle.js';
import { formatInstant, type Instant, SECONDS_PER_DAY } from '../rules/time.js';
import { LONGEST_LEAD, leadAt } from '../rules/webhook.js';

/** Rows that one look reads; those that were told of are read again, and tell nothing. */
const MAX_ROWS = 5_000;

interface Ending {
  accountId: string;
  id: string;
  endsAt: Instant;
  does: 'stop' | 'destroy';
}

/**
 * Tells what only time makes true: that an instance or the credit is about to end, and that the balance is low. The second is derived
 * from deadlines, rates and ledger, and each is told once by `once`, whichever gateways look.
 */
export async function noticeWhatEnds(deps: Deps): Promise<void> {
  const now = deps.clock.now();
  const events = [...(await deadlines(deps, now)), ...(await balances(deps, now))];
  if (events.length === 0) return;
  const { text, values } = emit(events);
  await deps.db.pool.query(text, [...values]);
}

async function deadlines({ db }: Deps, now: Instant): Promise<NewEvent[]> {
  const { rows } = await db.pool.query<Ending>({
    name: 'deadlines-ahead',
    text: DEADLINES_AHEAD,
    values: [formatInstant(now), formatInstant(now + LONGEST_LEAD), MAX_ROWS],
  });
  return rows.flatMap(({ accountId, id, endsAt, does }) => {
    const lead = leadAt(endsAt, now);
    return lead === null ? [] : [endingOf(accountId, id, 'deadline', endsAt, lead, { does })];
  });
}

/** That an instance ends by itself; `limits` tell of theirs by it too. One for each end, cause and time before. */
export function endingOf(
  accountId: string,
  instanceId: string,
  cause: 'deadline' | 'limit',
  endsAt: Instant,
  lead: bigint,
  data: object,
): NewEvent {
  const ends = formatInstant(endsAt);
  return {
    accountId,
    type: 'instance.ending',
    subject: instanceId,
    at: endsAt - lead,
    data: { instance: instanceId, cause, ends_at: ends, seconds_before: Number(lead), ...data },
    once: `ending/${instanceId}/${cause}/${ends}/${lead}`,
  };
}

async function balances({ db }: Deps, now: Instant): Promise<NewEvent[]> {
  const { rows } = await db.pool.query<Account & { belowMicro: bigint | null }>({
    name: 'balances-ahead',
    text: BALANCES_AHEAD,
    values: [formatInstant(now), formatInstant(now + LONGEST_LEAD), MAX_ROWS],
  });
  return rows.flatMap((account) => [...exhaustionOf(account, now), ...lowOf(account, now)]);
}

/** Told once between two credits and a day, however often the burn moves the second. */
function exhaustionOf({ id, dueAt, exhaustedAt, creditUnits }: Account, now: Instant): NewEvent[] {
  const lead = dueAt === null || exhaustedAt !== null ? null : leadAt(dueAt, now);
  if (dueAt === null || lead === null) return [];
  const data = { cause: 'credit', ends_at: formatInstant(dueAt), seconds_before: Number(lead) };
  const once = `credit/${lead}/${creditUnits}/${dueAt / SECONDS_PER_DAY}`;
  return [{ accountId: id, type: 'balance.ending', subject: OF_ACCOUNT, at: now, data, once }];
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
      subject: OF_ACCOUNT,
      at: now,
      data,
      once: `low/${creditUnits}/${belowMicro}`,
    },
  ];
}

const DEADLINES_AHEAD = `
  select account_id as "accountId", instance.id, ends_at as "endsAt", does
  from instance cross join lateral (values ('stop', case when status = 'RUNNING' then stop_at end), ('destroy', destroy_at)) as ending (does, ends_at)
  where status <> 'DESTROYED' and ends_at > $1::timestamptz and ends_at <= $2::timestamptz
    and account_id in (select account.id from account where deadline_at <= $2::timestamptz
      and exists (select from webhook where webhook.account_id = account.id and paused_at is null))
  limit $3`;

const BALANCES_AHEAD = `
  select ${ACCOUNT_COLUMNS}, below_micro as "belowMicro" from account
    left join balance_notice on balance_notice.account_id = account.id
  where exists (select from webhook where webhook.account_id = account.id and paused_at is null)
    and (below_micro is not null or (due_at > $1::timestamptz and due_at <= $2::timestamptz and exhausted_at is null))
  limit $3`;
