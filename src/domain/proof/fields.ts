import { type Field, wholeNumber } from '../kernel/field.js';

/** Largest value of GraphQL's Int. */
const MAX_INT = 2 ** 31 - 1;

export const proofFields = {
  after: {
    ...wholeNumber(0, MAX_INT, 'Number of the root after which to begin. The first root has number 1.'),
    default: 0,
  },
  first: wholeNumber(0, MAX_INT, 'Size of the older tree.'),
  second: wholeNumber(0, MAX_INT, 'Size of the newer tree: at most the size in the newest root.'),
} satisfies Record<string, Field<unknown>>;
