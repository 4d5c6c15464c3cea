import type { Account } from '../rules/lifecycle.js';
import { type Instant, latest } from '../rules/time.js';
import { seenAt } from '../rules/usage.js';
import { fromRow, type InstanceRow } from './instance-row.js';

/**
 * Up to when the account of a row was settled when the row was read. A stop takes the whole of its second, so the account
 * may be a second ahead of the clock: the figures of its other instances are then of that second too.
 */
const settledAtOf = new WeakMap<InstanceRow, Instant>();

export function readWith<Row extends InstanceRow>({ settledAt }: Pick<Account, 'settledAt'>, row: Row): Row {
  settledAtOf.set(row, settledAt);
  return row;
}

/** The second that its figures are of at `now`: never before its last change, and of a destroyed one its end. */
export function asOfNow(row: InstanceRow, now: Instant): Instant {
  return seenAt(fromRow(row), latest(now, settledAtOf.get(row) ?? now));
}
