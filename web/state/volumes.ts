import type { ResultOf } from 'gql.tada';
import { Volumes } from '../graph/documents.js';
import { accountChanges } from './account.js';
import { useRead } from './read.js';

export type Volume = NonNullable<ResultOf<typeof Volumes>['volumes']>[number];

/** The account's volumes, oldest first, and what a new one costs; null until they are known. */
export function useVolumes(isSignedIn = true) {
  const { data, error, again } = useRead(Volumes, isSignedIn ? {} : null, accountChanges);
  return {
    volumes: data.value?.volumes ?? null,
    pricePerGbHour: data.value?.pricing.volumePricePerGbHour ?? null,
    error: error.value,
    again,
  };
}
