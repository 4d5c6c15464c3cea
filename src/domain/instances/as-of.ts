import type { Account } from '../kernel/lifecycle.js';
import { type Instant, latest } from '../kernel/time.js';
import { fromRow, type InstanceRow } from './instance-row.js';
import { seenAt } from './rules/usage.js';

/**
 * The second to which a row's account was settled when the row was read. A stop consumes the entire second in which it
 * happens, so an account can be settled to one second ahead of the clock. In that case, the figures of its other
 * instances refer to that second too.
 */
const settledAtOf = new WeakMap<InstanceRow, Instant>();

export function readWith<Row extends InstanceRow>({ settledAt }: Pick<Account, 'settledAt'>, row: Row): Row {
  settledAtOf.set(row, settledAt);
  return row;
}

/**
 * Returns the second that the row's figures refer to at `now`. It is never before the row's last change. For a
 * destroyed instance, it is the time of destruction.
 */
export function asOfNow(row: InstanceRow, now: Instant): Instant {
  return seenAt(fromRow(row), latest(now, settledAtOf.get(row) ?? now));
}
