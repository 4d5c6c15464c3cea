import { computed } from '@preact/signals';
import type { VariablesOf } from 'gql.tada';
import { startOfDay } from '../figures/day.js';
import type { Activity } from '../graph/documents.js';
import { query } from './location.js';

type Filter = NonNullable<VariablesOf<typeof Activity>['filter']>;

export const ACTIVITY_FILTERS = ['operation', 'key', 'outcome', 'about', 'from', 'to'] as const;
const DAY_MS = 86_400_000;

/** The activity filter from the URL. Values that the API would reject are ignored. */
export const activityFilter = computed<Filter>(() => {
  const parameters = query.value;
  const outcome = parameters.get('outcome');
  return {
    operation: parameters.get('operation') || null,
    keyId: parameters.get('key') || null,
    target: parameters.get('about')?.trim() || null,
    refused: outcome === 'refused' ? true : outcome === 'done' ? false : null,
    from: startOfDay(parameters.get('from'), 0),
    // The period includes the last day.
    to: startOfDay(parameters.get('to'), DAY_MS),
  };
});
