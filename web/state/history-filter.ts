import { computed } from '@preact/signals';
import type { VariablesOf } from 'gql.tada';
import { startOfDay } from '../figures/day.js';
import type { InstanceHistory } from '../graph/documents.js';
import { shortReasons, states } from '../texts/en/status.js';
import type { Instance } from './account.js';
import { query } from './location.js';

type Filter = NonNullable<VariablesOf<typeof InstanceHistory>['filter']>;

export const HISTORY_FILTERS = ['status', 'reason', 'model', 'mode', 'from', 'to', 'labels'] as const;

export const STATES: Record<Instance['status'], string> = {
  RUNNING: states.running,
  STOPPED: states.stopped,
  DESTROYED: states.destroyed,
};

/** The stop reasons to choose from, with short labels. */
export const STOP_REASONS: Record<NonNullable<Instance['stopReason']>, string> = shortReasons;

const MODES = { ON_DEMAND: true, INTERRUPTIBLE: true, RESERVED: true } as const;
const DAY_MS = 86_400_000;

/** The history filter from the URL. Values that the API would reject are ignored. */
export const historyFilter = computed<Filter>(() => {
  const parameters = query.value;
  const one = <Key extends string>(name: string, known: Record<Key, unknown>): Key[] | null => {
    const value = parameters.get(name) ?? '';
    return value in known ? [value as Key] : null;
  };
  const model = parameters.get('model');
  return {
    statuses: one('status', STATES),
    stopReasons: one('reason', STOP_REASONS),
    modes: one('mode', MODES),
    gpus: model === null ? null : [model],
    labels: parameters.get('labels'),
    createdFrom: startOfDay(parameters.get('from'), 0),
    // The period includes the last day.
    createdTo: startOfDay(parameters.get('to'), DAY_MS),
  };
});
