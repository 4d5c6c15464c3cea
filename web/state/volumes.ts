import type { ResultOf } from 'gql.tada';
import { Volumes } from '../graph/documents.js';
import { accountChanges } from './account.js';
import { useRead } from './read.js';

/** Default path of an instance's first volume. */
export const FIRST_PATH = '/workspace';

export type Volume = NonNullable<ResultOf<typeof Volumes>['volumes']>[number];

/** Reads the account's volumes, oldest first, and the price of a new one. Both are null until known. */
export function useVolumes(isSignedIn = true) {
  const { data, error, again } = useRead(Volumes, isSignedIn ? {} : null, accountChanges);
  return {
    volumes: data.value?.volumes ?? null,
    pricePerGbHour: data.value?.pricing.volumePricePerGbHour ?? null,
    error: error.value,
    again,
  };
}
