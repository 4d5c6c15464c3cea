import { computed } from '@preact/signals';
import type { VariablesOf } from 'gql.tada';
import { startOfDay } from '../figures/day.js';
import type { Activity } from '../graph/documents.js';
import { serverNow } from './clock.js';
import { query } from './location.js';

type Filter = NonNullable<VariablesOf<typeof Activity>['filter']>;

export const ACTIVITY_FILTERS = ['operation', 'key', 'outcome', 'about', 'period', 'from', 'to'] as const;
const DAY_MS = 86_400_000;
const HOUR_SECONDS = 3_600;
/** Lengths of the periods that end now, in days. */
const PERIODS: Readonly<Record<string, number>> = { day: 1, week: 7, days30: 30 };

/** Start of the current hour in Unix milliseconds, so that a period that ends now changes only once per hour. */
const hour = computed(() => Math.floor(serverNow.value / HOUR_SECONDS) * HOUR_SECONDS * 1_000);

/** The period from the URL: one that ends now, `custom` for days that the user enters, or empty. */
export const activityPeriod = computed(() => {
  const period = query.value.get('period') ?? '';
  if (period in PERIODS) return period;
  return period === 'custom' || query.value.has('from') || query.value.has('to') ? 'custom' : '';
});

/** The activity filter from the URL. Values that the API would reject are ignored. */
export const activityFilter = computed<Filter>(() => {
  const parameters = query.value;
  const outcome = parameters.get('outcome');
  const days = PERIODS[activityPeriod.value];
  return {
    operation: parameters.get('operation') || null,
    keyId: parameters.get('key') || null,
    target: parameters.get('about')?.trim() || null,
    refused: outcome === 'refused' ? true : outcome === 'done' ? false : null,
    from:
      days === undefined ? startOfDay(parameters.get('from'), 0) : new Date(hour.value - days * DAY_MS).toISOString(),
    // The period includes the last day.
    to: days === undefined ? startOfDay(parameters.get('to'), DAY_MS) : null,
  };
});
