import { z } from 'zod';
import { type Field, text, wholeNumber } from '../kernel/field.js';

const MAX_ADDRESS = 500;
const MAX_ADDRESS_LINES = 10;

/** Largest value of GraphQL's Int. */
const MAX_INT = 2 ** 31 - 1;

export const proofFields = {
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
  after: {
    ...wholeNumber(0, MAX_INT, 'Number of the root after which to begin. The first root has number 1.'),
    default: 0,
  },
  first: wholeNumber(0, MAX_INT, 'Size of the older tree.'),
  second: wholeNumber(0, MAX_INT, 'Size of the newer tree: at most the size in the newest root.'),
} satisfies Record<string, Field<unknown>>;
