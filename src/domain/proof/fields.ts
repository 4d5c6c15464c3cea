import { z } from 'zod';
import { type Field, text } from '../kernel/field.js';

const MAX_ADDRESS = 500;
const MAX_ADDRESS_LINES = 10;

export const proofFields = {
  month: {
    schema: z.string().regex(/^\d{4}-(?:0[1-9]|1[0-2])$/),
    must: 'a UTC month such as 2026-11',
    description: 'UTC month, such as 2026-11.',
  },
  billingName: text(0, 200, 'Name of the customer on invoices.'),
  billingAddress: {
    schema: z
      .string()
      .max(MAX_ADDRESS)
      .regex(/^[^\p{Cc}\p{Surrogate}]*(?:\n[^\p{Cc}\p{Surrogate}]*)*$/u)
      .refine((address) => address.split('\n').length <= MAX_ADDRESS_LINES),
    must: `at most ${MAX_ADDRESS} characters in at most ${MAX_ADDRESS_LINES} lines`,
    description: 'Address of the customer on invoices, in lines.',
  },
  billingReference: text(0, 100, 'Reference of the customer on invoices, such as an order number.'),
} satisfies Record<string, Field<unknown>>;
