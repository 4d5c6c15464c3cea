import { inTransaction } from '../../database/transaction.js';
import type { SettlingDeps } from '../billing/deps.js';
import type { InstanceRow } from '../instances/instance-row.js';
import { findInstance } from '../instances/instances.js';
import { DomainError } from '../kernel/errors.js';
import { check } from '../kernel/field.js';
import { formatInstant } from '../kernel/time.js';
import { webPortFields } from './fields.js';
import { MAX_OPEN_PORTS } from './rules/web-pass.js';

/** Returns one of the account's instances, unless it is destroyed. Throws not_found or action_failed. */
export async function liveInstance(deps: SettlingDeps, accountId: string, id: string): Promise<InstanceRow> {
  const instance = await findInstance(deps, accountId, id);
  if (instance === null) throw new DomainError('not_found', 'no such instance');
  if (instance.status === 'DESTROYED') throw new DomainError('action_failed', 'the instance has been destroyed');
  return instance;
}

/**
 * Opens a port to all visitors. Has no effect if it is already open. Throws if the instance already has 20 open ports.
 */
export async function openPort(deps: SettlingDeps, accountId: string, id: string, input: number): Promise<InstanceRow> {
  const port = check('port', webPortFields.port, input);
  const instance = await liveInstance(deps, accountId, id);
  const openedAt = formatInstant(deps.clock.now());
  const opened = await inTransaction(deps.db.pool, async (transaction) => {
    // Locks the instance's row before counting, so that two concurrent calls can't both open the twentieth port.
    await transaction.query('select 1 from instance where id = $1 for no key update', [id]);
    const { rowCount } = await transaction.query(
      `insert into open_port (instance_id, port, opened_at) select $1, $2, $3::timestamptz
       where (select count(*) from open_port where instance_id = $1 and port <> $2) < $4
       on conflict (instance_id, port) do update set port = excluded.port`,
      [id, port, openedAt, MAX_OPEN_PORTS],
    );
    if (rowCount === 1) deps.activity?.writeWith(transaction, deps.clock.now(), [`port:${port}`]);
    return rowCount === 1;
  });
  if (!opened)
    throw new DomainError(
      'action_failed',
      `the instance has ${MAX_OPEN_PORTS} open ports, the maximum; close one first`,
    );
  deps.activity?.committed();
  deps.db.notices.publish([{ table: 'open_port', id }]);
  return instance;
}

/**
 * Makes a port private again and closes the connections of visitors without a pass. Has no effect if it is already
 * private.
 */
export async function closePort(
  deps: SettlingDeps,
  accountId: string,
  id: string,
  input: number,
): Promise<InstanceRow> {
  const port = check('port', webPortFields.port, input);
  const instance = await liveInstance(deps, accountId, id);
  await deps.db.pool.query('delete from open_port where instance_id = $1 and port = $2', [id, port]);
  deps.activity?.add(`port:${port}`);
  deps.db.notices.publish([{ table: 'open_port', id }]);
  return instance;
}
