import type { PreparedStatement } from '../../database/transaction.js';
import type { NewEvent } from './events.js';
import { randomId } from './random-id.js';
import { formatInstant } from './time.js';

const EVENT_ID_BYTES = 12;

/** SQL for whether an `account` has any active webhook. */
export const HAS_ACTIVE_WEBHOOK =
  'exists (select from webhook where webhook.account_id = account.id and paused_at is null)';

/**
 * Returns the statement that adds events to the outbox. Run it in the transaction that makes the events true:
 *
 *     transaction.later(emit([{ accountId, type: 'instance.stopped', subject: id, at, data: { instance: id } }]));
 *
 * Inside the ledger's `write`, call `current.emit(event)` instead. An event that occurs merely because time passes can
 * be detected by any gateway, so it has a `once` key and only the first write succeeds. Events that no webhook of the
 * account subscribes to are not written at all. Events with the same subject are delivered in row order, so the caller
 * must hold the lock on the instance's account or host. `at` is the second in which the event happened, even if it was
 * detected later.
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
    select new_event.*, webhook.id as webhook_id
    from jsonb_to_recordset($1::jsonb) as new_event (place int, id text, account_id text, type text, subject text, at timestamptz,
        data jsonb, once text)
      join webhook on webhook.account_id = new_event.account_id and paused_at is null
        and (not is_mail or confirmed_at is not null) and (events is null or new_event.type = any(events))
  ), made as (
    insert into event (id, account_id, type, subject, at, data, once, xid)
    select distinct on (place) id, account_id, type, subject, at, data, once, pg_current_xact_id()::text::bigint
    from wanted order by place
    on conflict (account_id, once) do nothing
    returning id, sequence
  )
  insert into webhook_delivery (webhook_id, sequence, subject, next_at)
  select webhook_id, sequence, subject, 'epoch' from wanted join made using (id)`;
