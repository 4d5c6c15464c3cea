import type { PreparedStatement } from '../database/transaction.js';
import { randomId } from './random-id.js';
import type { NewEvent } from './rules/events.js';
import { formatInstant } from './rules/time.js';

const EVENT_ID_BYTES = 12;

/** SQL for whether anybody is told of the events of an `account`. */
export const IS_TOLD = 'exists (select from webhook where webhook.account_id = account.id and paused_at is null)';

/**
 * The statement that puts events into the outbox. Run it in the transaction that makes them true:
 *
 *     transaction.later(emit([{ accountId, type: 'instance.stopped', subject: id, at, data: { instance: id } }]));
 *
 * Inside `write` of the ledger call `current.emit(event)`. Events that only time makes true, which any gateway may notice, have `once`: the
 * first to write it tells, all others write nothing. An event that no webhook of the account asks for is not written at all.
 * Events of one subject are delivered in the order of their rows, so whoever emits for an instance holds the lock of its account, or
 * of its host. `at` is the second that it is true of, whoever notices when.
 */
export function emit(events: readonly NewEvent[]): PreparedStatement {
  const rows = events.map(({ accountId, type, subject, at, data, once }, place) => ({
    place,
    id: randomId('evt', EVENT_ID_BYTES),
    account_id: accountId,
    type,
    subject,
    at: formatInstant(at),
    data,
    once: once ?? null,
  }));
  return { name: 'emit-events', text: EMIT, values: [JSON.stringify(rows)] };
}

const EMIT = `
  with wanted as (
    select given.*, webhook.id as webhook_id
    from jsonb_to_recordset($1::jsonb) as given (place int, id text, account_id text, type text, subject text, at timestamptz,
        data jsonb, once text)
      join webhook on webhook.account_id = given.account_id and paused_at is null
        and (not is_mail or confirmed_at is not null) and (events is null or given.type = any(events))
  ), made as (
    insert into event (id, account_id, type, subject, at, data, once, xid)
    select distinct on (place) id, account_id, type, subject, at, data, once, pg_current_xact_id()::text::bigint
    from wanted order by place
    on conflict (account_id, once) do nothing
    returning id, sequence
  )
  insert into webhook_delivery (webhook_id, sequence, subject, next_at)
  select webhook_id, sequence, subject, 'epoch' from wanted join made using (id)`;
