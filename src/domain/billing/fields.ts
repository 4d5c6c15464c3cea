import { z } from 'zod';
import { type Field, text } from '../kernel/field.js';
import { parseMonth } from '../kernel/time.js';

export const billingFields = {
  note: text(1, 1_000, 'Reason for the movement.'),
  reference: text(1, 200, "Identifies a payment. Repeating a reference doesn't move money again."),
  month: {
    schema: z.string().refine((month) => parseMonth(month) !== null),
    must: 'a UTC month from 1970-01 on, such as 2026-11',
    description: 'UTC month, such as 2026-11.',
  },
} satisfies Record<string, Field<unknown>>;
