import { type Field, text } from '../kernel/field.js';

export const billingFields = {
  note: text(1, 1_000, 'Reason for the movement.'),
  reference: text(1, 200, "Identifies a payment. Repeating a reference doesn't move money again."),
} satisfies Record<string, Field<unknown>>;
