import type { Logger } from 'pino';

const LOG_AGAIN_MS = 10_000;
/** Maximum number of reasons to remember. */
const MAX_REASONS = 20;

/** Returns a function that logs the reason for an outage, but the same reason at most once every ten seconds. */
export function createOutageLog(log: Logger, message: string): (reason: string) => void {
  const loggedAtMs = new Map<string, number>();
  return (reason) => {
    const now = performance.now();
    if (now - (loggedAtMs.get(reason) ?? Number.NEGATIVE_INFINITY) < LOG_AGAIN_MS) return;
    if (loggedAtMs.size >= MAX_REASONS) loggedAtMs.clear();
    loggedAtMs.set(reason, now);
    log.warn({ reason }, message);
  };
}
