import type { Instance } from '../state/account.js';

/** An instance's state in one word. */
export type Status = 'starting' | 'running' | 'ended' | 'stopping' | 'stopped' | 'unreachable' | 'failed' | 'destroyed';

type Phase = NonNullable<Instance['runtime']>['phase'];

/** The state of a running rental by its container's phase. An old container's phase precedes a new start. */
const WHILE_RUNNING: Record<Phase, Status> = {
  WAITING: 'starting',
  PULLING: 'starting',
  RESTORING: 'starting',
  STARTING: 'starting',
  RUNNING: 'running',
  EXITED: 'ended',
  STOPPING: 'stopping',
  SAVING: 'stopping',
  STOPPED: 'starting',
  ERASED: 'starting',
  FAILED: 'failed',
  UNREACHABLE: 'unreachable',
};

/** Phases in which the container of a stopped rental still occupies its machine. */
const IS_ENDING: ReadonlySet<Phase> = new Set(['PULLING', 'RESTORING', 'STARTING', 'RUNNING', 'STOPPING', 'SAVING']);

/**
 * Merges the states of the rental and its container. The rental decides what is billed, so it takes precedence once it
 * is stopped or destroyed.
 */
export function statusOf({ status, stopReason, runtime }: Pick<Instance, 'status' | 'stopReason' | 'runtime'>): Status {
  if (status === 'DESTROYED') return 'destroyed';
  if (status === 'STOPPED') {
    if (stopReason === 'START_FAILED') return 'failed';
    return runtime?.reachable && IS_ENDING.has(runtime.phase) ? 'stopping' : 'stopped';
  }
  // Without a host agent, the rental is only a record.
  if (runtime === null) return 'running';
  return runtime.reachable ? WHILE_RUNNING[runtime.phase] : 'unreachable';
}

/** Returns instances in the same order, except that running ones come first. */
export const runningFirst = (instances: readonly Instance[]): Instance[] =>
  instances.toSorted((one, other) => Number(other.status === 'RUNNING') - Number(one.status === 'RUNNING'));

/**
 * The badge's colour by state: green works, blue changes automatically, amber costs without working, red needs you, and
 * grey is over.
 */
export const TONES: Record<Status, 'final' | 'off' | 'good' | 'pending' | 'warn' | 'bad'> = {
  starting: 'pending',
  running: 'good',
  ended: 'warn',
  stopping: 'pending',
  stopped: 'off',
  unreachable: 'bad',
  failed: 'bad',
  destroyed: 'final',
};
