import type { Logger } from 'pino';
import { formatInstant } from '../domain/kernel/time.js';
import type { RecheckEvent } from '../domain/market/recheck.js';

/** Logs each step of a market re-check. */
export function logRecheck(log: Logger): (event: RecheckEvent) => void {
  return (event) => {
    if (event.kind === 'failed') {
      const { kind: _, nextAttemptAt, fault, ...rest } = event;
      const next = nextAttemptAt === null ? null : formatInstant(nextAttemptAt);
      const level = fault === undefined ? 'warn' : 'error';
      log[level]({ ...rest, nextAttemptAt: next, ...(fault !== undefined && { err: fault }) }, MESSAGES.failed);
      return;
    }
    const { kind, ...rest } = event;
    log.info(rest, MESSAGES[kind]);
  };
}

const MESSAGES = {
  started: 'market re-check started',
  succeeded: 'market re-check succeeded',
  current: 'market re-check not needed: the price sheet is already current',
  failed: 'market re-check failed',
};
