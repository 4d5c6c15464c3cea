import { checkOptional, fields } from '../fields.js';
import type { DeadlineTexts } from '../kernel/deadline.js';

/** Deadlines as given by the caller. Each of them may be omitted or null. */
export type DeadlinesInput = Partial<DeadlineTexts>;

/** Reads and validates deadlines. Returns undefined if none is set. Throws invalid_request. */
export function readDeadlines({ stopAt, destroyAt }: DeadlinesInput): DeadlineTexts | undefined {
  const checked = {
    stopAt: checkOptional('stopAt', fields.stopAt, stopAt) ?? null,
    destroyAt: checkOptional('destroyAt', fields.destroyAt, destroyAt) ?? null,
  };
  return checked.stopAt === null && checked.destroyAt === null ? undefined : checked;
}
