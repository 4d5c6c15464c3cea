import { statusOf, TONES } from '../figures/status.js';
import { bytes } from '../figures/time.js';
import type { Instance } from '../state/account.js';
import { phases, reasons, states, texts } from '../texts/en/status.js';

/** Shows an instance's state in one word and colour. Details appear on hover. */
export function Status({ instance }: { instance: Instance }) {
  const word = statusOf(instance);
  const details = [stopReason(instance), instance.runtime && runtimeText(instance.runtime)];
  return (
    <span class={`badge ${TONES[word]}`} title={details.filter(Boolean).join(', ') || undefined}>
      <span class="dot" aria-hidden="true" />
      {states[word]}
    </span>
  );
}

export const reasonText = (reason: NonNullable<Instance['stopReason']>): string => reasons[reason];

export const stopReason = ({ stopReason }: Instance): string | null => stopReason && reasonText(stopReason);

type KnownRuntime = NonNullable<Instance['runtime']>;

/** Shows how much of the image or the volumes has been downloaded, if the machine reports it. */
export function Progress({ runtime }: { runtime: KnownRuntime }) {
  const progress = progressOf(runtime);
  if (progress === null) return null;
  return (
    <>
      <span class="small quiet figure">{texts.doneOf(bytes(progress.done), bytes(progress.total))}</span>
      <progress
        max={progress.total}
        value={progress.done}
        aria-label={runtime.phase === 'PULLING' ? texts.pulled : texts.restored}
      />
    </>
  );
}

/** Returns the progress of the current download in bytes. Returns null if there is none or its size is unknown. */
function progressOf({ phase, pulledBytes, totalBytes }: KnownRuntime): { done: number; total: number } | null {
  const isFetching = phase === 'PULLING' || phase === 'RESTORING';
  if (!isFetching || pulledBytes === null || totalBytes === null || totalBytes <= 0) return null;
  return { done: pulledBytes, total: totalBytes };
}

/** Returns the container's state as reported by its machine, with its progress or exit code. */
export function runtimeText(runtime: KnownRuntime): string {
  const { phase, exitCode } = runtime;
  const text = phases[phase];
  const progress = progressOf(runtime);
  if (progress !== null) return `${text}: ${texts.doneOf(bytes(progress.done), bytes(progress.total))}`;
  return exitCode !== null && phase !== 'RUNNING' ? texts.exited(text, exitCode) : text;
}
