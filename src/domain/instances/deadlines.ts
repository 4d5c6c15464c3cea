import type { DeadlineTexts } from '../kernel/deadline.js';
import { checkOptional } from '../kernel/field.js';
import { instanceFields } from './fields.js';

/** Deadlines as given by the caller. Each of them may be omitted or null. */
export type DeadlinesInput = Partial<DeadlineTexts>;

/** Reads and validates deadlines. Returns undefined if none is set. Throws invalid_request. */
export function readDeadlines({ stopAt, destroyAt }: DeadlinesInput): DeadlineTexts | undefined {
  const checked = {
    stopAt: checkOptional('stopAt', instanceFields.stopAt, stopAt) ?? null,
    destroyAt: checkOptional('destroyAt', instanceFields.destroyAt, destroyAt) ?? null,
  };
  return checked.stopAt === null && checked.destroyAt === null ? undefined : checked;
}
