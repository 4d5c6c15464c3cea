import { visible } from '../std/visible.js';
import { hostClock, pauseMs } from './clock.js';

const TRIES = 3;
const MAX_PAUSE_MS = 4_000;

/** Runs `attempt` up to three times, with the attempt's number starting at 0, and reports each temporary failure. */
export async function withRetries<T>(
  attempt: (tried: number) => Promise<T>,
  isTemporary: (error: unknown) => boolean,
  report: (message: string) => void = reportOnStderr,
): Promise<T> {
  for (let tried = 0; ; tried += 1) {
    try {
      return await attempt(tried);
    } catch (error) {
      if (tried + 1 >= TRIES || !isTemporary(error)) throw error;
      report(`${(error as Error).message}; retrying (attempt ${tried + 2} of ${TRIES})`);
      await hostClock.sleep(pauseMs(tried, MAX_PAUSE_MS));
    }
  }
}

function reportOnStderr(message: string): void {
  process.stderr.write(`gpu-agent: ${visible(message)}\n`);
}
