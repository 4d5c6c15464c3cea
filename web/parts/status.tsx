import { bytes } from '../figures/time.js';
import type { Instance } from '../state/account.js';
import { STATES } from '../state/history-filter.js';

const REASONS: Record<NonNullable<Instance['stopReason']>, string> = {
  USER: 'by you',
  PREEMPTED: 'its machine was rented on demand or reserved',
  BALANCE_EXHAUSTED: 'credit ran out',
  OPERATOR: 'by the operator',
  ACCOUNT_SUSPENDED: 'the account is suspended',
  START_FAILED: 'its container could not be started; given back if the machine was at fault',
  COMMAND_ENDED: 'its command ended',
  DEADLINE: 'its deadline was over',
  SPEND_LIMIT: 'a spend limit was reached',
  IDLE: 'nothing happened on it',
};

const PHASES: Record<NonNullable<Instance['runtime']>['phase'], string> = {
  WAITING: 'waiting for its machine',
  PULLING: 'pulling the image',
  RESTORING: 'bringing your volumes',
  STARTING: 'starting',
  RUNNING: 'container runs',
  STOPPING: 'stopping',
  SAVING: 'storing your volumes',
  STOPPED: 'container stopped',
  EXITED: 'command ended',
  FAILED: 'container failed',
  UNREACHABLE: 'machine not heard from',
  ERASED: 'erased',
};

/** The rental's state, in words and colour. */
export function Status({ instance }: { instance: Instance }) {
  const { status } = instance;
  const tone = status === 'RUNNING' ? 'good' : status === 'STOPPED' ? 'warn' : '';
  return (
    <span class={`badge ${tone}`}>
      <span class="dot" aria-hidden="true" />
      {STATES[status]}
    </span>
  );
}

export const stopReason = ({ stopReason }: Instance): string | null => stopReason && REASONS[stopReason];

/** What the container does, as its machine reports it. */
export function Runtime({ runtime }: { runtime: Instance['runtime'] }) {
  if (runtime === null) return null;
  const { phase, pulledBytes, totalBytes, reachable, exitCode } = runtime;
  const isFetching = phase === 'PULLING' || phase === 'RESTORING';
  const isKnown = isFetching && pulledBytes !== null && totalBytes !== null && totalBytes > 0;
  return (
    <span class="stack-tight">
      <span class={`small ${phase === 'FAILED' || !reachable ? 'bad' : 'quiet'}`}>
        {PHASES[phase]}
        {isKnown && `: ${bytes(pulledBytes)} of ${bytes(totalBytes)}`}
        {exitCode !== null && phase !== 'RUNNING' && `, exit code ${exitCode}`}
      </span>
      {isKnown && (
        <progress
          max={totalBytes}
          value={pulledBytes}
          aria-label={phase === 'PULLING' ? 'Image pulled' : 'Volumes restored'}
        />
      )}
    </span>
  );
}
