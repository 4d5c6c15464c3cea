import { every, type Sweep } from '../kernel/background.js';
import { DomainError } from '../kernel/errors.js';
import type { Instant } from '../kernel/time.js';
import type { ProofDeps } from './deps.js';
import { appendIfDue, hourOf } from './log.js';
import { pushRoots } from './push-roots.js';

/** The longest time that a root is made after a full hour. */
const CHECK_EVERY_MS = 10_000;

/**
 * Makes and pushes a root after each full hour. After a start, makes one if the current hour has none, and pushes those
 * that remain. `onUnsigned` is called once with the reason if this service can't sign.
 */
export function startLog(
  deps: ProofDeps,
  onUnsigned: (reason: string) => void,
  onFault: (error: unknown) => void,
): Sweep {
  let doneHour: Instant | null = null;
  let isReported = false;
  /** Returns whether the next attempt is after the next full hour. */
  const append = async (): Promise<boolean> => {
    try {
      const result = await appendIfDue(deps);
      isReported = false;
      // The gateway that is appending may fail.
      return result !== 'busy';
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      if (!isReported) onUnsigned(error.message);
      isReported = true;
      return true;
    }
  };
  return every(
    CHECK_EVERY_MS,
    async () => {
      const hour = hourOf(deps.clock.now());
      if (hour === doneHour) return;
      if (!(await append())) return;
      doneHour = hour;
      await pushRoots(deps);
    },
    onFault,
  );
}
