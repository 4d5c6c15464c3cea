import { bytes } from '../figures/time.js';
import type { Instance } from '../state/account.js';
import { phases, reasons, states, texts } from '../texts/en/status.js';

/** The rental's state, in words and colour. */
export function Status({ instance }: { instance: Instance }) {
  const { status } = instance;
  const tone = status === 'RUNNING' ? 'good' : status === 'STOPPED' ? 'warn' : '';
  return (
    <span class={`badge ${tone}`}>
      <span class="dot" aria-hidden="true" />
      {states[status]}
    </span>
  );
}

export const reasonWords = (reason: NonNullable<Instance['stopReason']>): string => reasons[reason];

export const stopReason = ({ stopReason }: Instance): string | null => stopReason && reasonWords(stopReason);

/** What the container does, as its machine reports it. */
export function Runtime({ runtime }: { runtime: Instance['runtime'] }) {
  if (runtime === null) return null;
  const { phase, pulledBytes, totalBytes, reachable } = runtime;
  const isFetching = phase === 'PULLING' || phase === 'RESTORING';
  const isKnown = isFetching && pulledBytes !== null && totalBytes !== null && totalBytes > 0;
  return (
    <span class="stack-tight">
      <span class={`small ${phase === 'FAILED' || !reachable ? 'bad' : 'quiet'}`}>{runtimeWords(runtime)}</span>
      {isKnown && (
        <progress
          max={totalBytes}
          value={pulledBytes}
          aria-label={phase === 'PULLING' ? texts.pulled : texts.restored}
        />
      )}
    </span>
  );
}

function runtimeWords({ phase, pulledBytes, totalBytes, exitCode }: NonNullable<Instance['runtime']>): string {
  const words = phases[phase];
  if ((phase === 'PULLING' || phase === 'RESTORING') && pulledBytes !== null && totalBytes !== null && totalBytes > 0)
    return texts.progress(words, bytes(pulledBytes), bytes(totalBytes));
  return exitCode !== null && phase !== 'RUNNING' ? texts.exited(words, exitCode) : words;
}
