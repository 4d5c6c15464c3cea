import type { Account } from '../rules/lifecycle.js';
import { type Instant, latest } from '../rules/time.js';
import { seenAt } from '../rules/usage.js';
import { fromRow, type InstanceRow } from './instance-row.js';

/**
 * Second up to which a row's account was settled when the row was read. A stop takes the whole second in which it
 * happens, so the account can be a second ahead of the clock. The figures of its other instances then refer to that
 * second too.
 */
const settledAtOf = new WeakMap<InstanceRow, Instant>();

export function readWith<Row extends InstanceRow>({ settledAt }: Pick<Account, 'settledAt'>, row: Row): Row {
  settledAtOf.set(row, settledAt);
  return row;
}

/**
 * Returns the second to which the row's figures refer at `now`: never before its last change, and its end if it is
 * destroyed.
 */
export function asOfNow(row: InstanceRow, now: Instant): Instant {
  return seenAt(fromRow(row), latest(now, settledAtOf.get(row) ?? now));
}
