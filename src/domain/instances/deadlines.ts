import { checkOptional, fields } from '../fields.js';
import type { DeadlineTexts } from '../rules/deadline.js';

/** As the caller gives them; each may be left out or null. */
export type DeadlinesInput = Partial<DeadlineTexts>;

/** Undefined for none at all. Refuses with invalid_request. */
export function readDeadlines({ stopAt, destroyAt }: DeadlinesInput): DeadlineTexts | undefined {
  const checked = {
    stopAt: checkOptional('stopAt', fields.stopAt, stopAt) ?? null,
    destroyAt: checkOptional('destroyAt', fields.destroyAt, destroyAt) ?? null,
  };
  return checked.stopAt === null && checked.destroyAt === null ? undefined : checked;
}
