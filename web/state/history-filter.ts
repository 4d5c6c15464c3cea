import { computed } from '@preact/signals';
import type { VariablesOf } from 'gql.tada';
import type { InstanceHistory } from '../graph/documents.js';
import type { Instance } from './account.js';
import { query } from './location.js';

type Filter = NonNullable<VariablesOf<typeof InstanceHistory>['filter']>;

export const HISTORY_FILTERS = ['status', 'reason', 'model', 'mode', 'from', 'to'] as const;

export const STATES: Record<Instance['status'], string> = {
  RUNNING: 'running',
  STOPPED: 'stopped',
  DESTROYED: 'destroyed',
};

/** Short, to choose from. */
export const STOP_REASONS: Record<NonNullable<Instance['stopReason']>, string> = {
  USER: 'by you',
  PREEMPTED: 'preempted',
  BALANCE_EXHAUSTED: 'credit ran out',
  OPERATOR: 'by the operator',
  ACCOUNT_SUSPENDED: 'account suspended',
  START_FAILED: 'did not start',
  COMMAND_ENDED: 'command ended',
  DEADLINE: 'deadline over',
  SPEND_LIMIT: 'spend limit reached',
  IDLE: 'idle',
};

const MODES = { ON_DEMAND: true, INTERRUPTIBLE: true, RESERVED: true } as const;
const DAY_MS = 86_400_000;

/** What the address asks of the history. A value that the API would refuse is as if absent. */
export const historyFilter = computed<Filter>(() => {
  const asked = query.value;
  const one = <Key extends string>(name: string, known: Record<Key, unknown>): Key[] | null => {
    const value = asked.get(name) ?? '';
    return value in known ? [value as Key] : null;
  };
  const model = asked.get('model');
  return {
    statuses: one('status', STATES),
    stopReasons: one('reason', STOP_REASONS),
    modes: one('mode', MODES),
    gpus: model === null ? null : [model],
    createdFrom: startOf(asked.get('from'), 0),
    // The day that is named counts.
    createdTo: startOf(asked.get('to'), DAY_MS),
  };
});

/** The first second of a UTC day, or of a later day; null for what is no day. */
function startOf(day: string | null, laterMs: number): string | null {
  if (day === null || !/^(19[7-9]|20)\d/.test(day)) return null;
  const at = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(at) ? null : new Date(at + laterMs).toISOString();
}
