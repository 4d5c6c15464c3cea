import { computed, signal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { visible } from '../figures/visible.js';
import { KeyNames } from '../graph/documents.js';
import { send } from '../graph/send.js';

type Key = NonNullable<ResultOf<typeof KeyNames>['apiKeys']>[number];

const keys = signal<readonly Key[] | null>(null);
let isRequested = false;

/**
 * Labels for the account's keys, by id. A label is the key's name or, if it has none, its last four characters. Empty
 * until the keys have been read.
 */
export const keyNames = computed(
  () => new Map(keys.value?.map(({ id, name, lastFour }) => [id, name === null ? `…${lastFour}` : visible(name)])),
);

/** Id of the session's key, once the keys have been read. */
export const ownKeyId = computed(() => keys.value?.find(({ isCurrent }) => isCurrent)?.id ?? null);

/**
 * Reads the keys when a screen opens. If the session's key may not list keys, no names are read and the screen shows
 * ids.
 */
export async function readKeyNames(): Promise<void> {
  if (isRequested) return;
  isRequested = true;
  try {
    keys.value = (await send(KeyNames, {})).apiKeys;
  } catch {
    // The earlier values remain valid.
  } finally {
    isRequested = false;
  }
}
