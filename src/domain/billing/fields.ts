import { z } from 'zod';
import { type Field, text } from '../kernel/field.js';

const MONTH = 'a year and month, such as 2026-11';

export const billingFields = {
  note: text(1, 1_000, 'Reason for the movement.'),
  reference: text(1, 200, "Identifies a payment. Repeating a reference doesn't move money again."),
  month: {
    schema: z.string(MONTH).regex(/^\d{4}-(?:0[1-9]|1[0-2])$/, MONTH),
    must: MONTH,
    description: 'UTC month of a statement, such as 2026-11.',
  },
} satisfies Record<string, Field<unknown>>;
