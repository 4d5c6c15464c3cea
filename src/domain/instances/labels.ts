import { activeAccount } from '../billing/active-account.js';
import type { LedgerDeps } from '../billing/deps.js';
import { write } from '../billing/ledger.js';
import { check } from '../kernel/field.js';
import { INSTANCE_ID, setLabels } from '../kernel/lifecycle.js';
import { readWith } from './as-of.js';
import { instanceFields } from './fields.js';
import { type InstanceRow, toRow } from './instance-row.js';
import { notFound } from './instances.js';
import type { Labels } from './rules/labels.js';

/** Replaces an instance's labels, even if it is destroyed. Throws invalid_request or not_found. */
export async function changeLabels(
  deps: LedgerDeps,
  accountId: string,
  id: string,
  wanted: Labels,
): Promise<InstanceRow> {
  const labels = check('labels', instanceFields.labels, wanted);
  if (!INSTANCE_ID.test(id)) throw notFound();
  return write(deps, { accountIds: [accountId], instanceId: id }, (current) => {
    const account = activeAccount(current, accountId);
    const instance = current.instance(id);
    if (instance === undefined) throw notFound();
    setLabels(current.step(account), instance, labels);
    return readWith(account, toRow(instance));
  });
}
