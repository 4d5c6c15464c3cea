import { activeAccount } from '../billing/active-account.js';
import type { LedgerDeps } from '../billing/deps.js';
import { type Write, write } from '../billing/ledger.js';
import { DomainError } from '../kernel/errors.js';
import { checkOptional } from '../kernel/field.js';
import { checkIdleWatch } from '../kernel/idle.js';
import { INSTANCE_ID, type Instance, setStopWhenIdle } from '../kernel/lifecycle.js';
import { readWith } from './as-of.js';
import { watchIdle } from './containers.js';
import { instanceFields } from './fields.js';
import { type InstanceRow, toRow } from './instance-row.js';
import { notFound } from './instances.js';

/**
 * Sets the number of idle minutes after which an instance stops. Null removes the setting. Time that was idle before
 * the change doesn't count. Throws invalid_request, not_found, or action_failed if the instance is destroyed.
 */
export async function changeStopWhenIdle(
  deps: LedgerDeps,
  accountId: string,
  id: string,
  wanted: number | null | undefined,
): Promise<InstanceRow> {
  const minutes = checkOptional('stopWhenIdle', instanceFields.stopWhenIdle, wanted) ?? null;
  if (!INSTANCE_ID.test(id)) throw notFound();
  return write(deps, { accountIds: [accountId], instanceId: id }, async (current) => {
    const account = activeAccount(current, accountId);
    const instance = current.instance(id);
    if (instance === undefined) throw notFound();
    if (instance.status === 'DESTROYED')
      throw new DomainError('action_failed', "a destroyed instance can't be stopped for idleness");
    if (minutes !== null) await checkMachine(current, instance, minutes);
    setStopWhenIdle(current.step(account), instance, minutes);
    if (minutes !== null) watchIdle(current, instance);
    return readWith(account, toRow(instance));
  });
}

/** Throws if the machine's agent doesn't report load. No lock is needed, because agents are only ever upgraded. */
async function checkMachine({ transaction }: Write, { id, machineId }: Instance, minutes: number): Promise<void> {
  const { rows } = await transaction.query(WATCHED_SQL, [id]);
  checkIdleWatch({ id: machineId, reportsLoad: rows.length > 0 }, minutes);
}

/** Selects the instance if it has a container and an unrevoked agent that reports load. */
const WATCHED_SQL = `
  select from container join machine_host using (machine_id) where instance_id = $1 and loads and revoked_at is null`;
