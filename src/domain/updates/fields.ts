import { type Field, wholeNumber } from '../kernel/field.js';

export const updateFields = {
  logTail: { ...wholeNumber(0, 1_000, 'Number of last lines.'), default: 100 },
} satisfies Record<string, Field<unknown>>;
