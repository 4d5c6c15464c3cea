import { activeAccount } from '../billing/active-account.js';
import type { LedgerDeps } from '../billing/deps.js';
import { write } from '../billing/ledger.js';
import { check, checkOptional } from '../kernel/field.js';
import { INSTANCE_ID, type Labels, setLabels } from '../kernel/lifecycle.js';
import { readWith } from './as-of.js';
import { instanceFields } from './fields.js';
import { type InstanceRow, toRow } from './instance-row.js';
import { notFound } from './instances.js';

export interface LabelsInput {
  id: string;
  /** Labels to add or change. */
  labels?: Labels | null;
  /** Keys of labels to remove. Unknown keys are ignored. */
  remove?: readonly string[] | null;
}

/**
 * Changes an instance's labels, even if it is destroyed. The others stay, so that concurrent changes don't overwrite each
 * other. Throws invalid_request or not_found.
 */
export async function changeLabels(deps: LedgerDeps, accountId: string, input: LabelsInput): Promise<InstanceRow> {
  const { id, remove } = input;
  const added = checkOptional('labels', instanceFields.labels, input.labels) ?? {};
  const removed = new Set(checkOptional('remove', instanceFields.labelKeys, remove));
  if (!INSTANCE_ID.test(id)) throw notFound();
  return write(deps, { accountIds: [accountId], instanceId: id }, (current) => {
    const account = activeAccount(current, accountId);
    const instance = current.instance(id);
    if (instance === undefined) throw notFound();
    const kept = Object.entries(instance.labels ?? {}).filter(([key]) => !removed.has(key));
    const labels = check('labels', instanceFields.labels, { ...Object.fromEntries(kept), ...added });
    setLabels(current.step(account), instance, labels);
    return readWith(account, toRow(instance));
  });
}
