import { computed, signal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { visible } from '../figures/visible.js';
import { KeyNames } from '../graph/documents.js';
import { send } from '../graph/send.js';

type Key = NonNullable<ResultOf<typeof KeyNames>['apiKeys']>[number];

const keys = signal<readonly Key[] | null>(null);
let isAsked = false;

/** What the keys of the account are called, by id: their names, else their last four characters. Empty until it is read. */
export const keyNames = computed(
  () => new Map(keys.value?.map(({ id, name, lastFour }) => [id, name === null ? `…${lastFour}` : visible(name)])),
);

/** Reads them, for a screen that is opened. A key that may not list keys is shown none: their ids stand for them. */
export async function readKeyNames(): Promise<void> {
  if (isAsked) return;
  isAsked = true;
  try {
    keys.value = (await send(KeyNames, {})).apiKeys;
  } catch {
    // What was read before is still right.
  } finally {
    isAsked = false;
  }
}
