import { computed, signal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { visible } from '../figures/visible.js';
import { KeyNames } from '../graph/documents.js';
import { send } from '../graph/send.js';

type Key = NonNullable<ResultOf<typeof KeyNames>['apiKeys']>[number];

const keys = signal<readonly Key[] | null>(null);
let isRequested = false;

/** Labels of the account's keys by id: their names, else their last four characters. Empty until read. */
export const keyNames = computed(
  () => new Map(keys.value?.map(({ id, name, lastFour }) => [id, name === null ? `…${lastFour}` : visible(name)])),
);

/** Reads them when a screen opens. A key that may not list keys gets none, and the screen shows ids. */
export async function readKeyNames(): Promise<void> {
  if (isRequested) return;
  isRequested = true;
  try {
    keys.value = (await send(KeyNames, {})).apiKeys;
  } catch {
    // Earlier values stay valid.
  } finally {
    isRequested = false;
  }
}
