import { z } from 'zod';
import { type Field, list, slug, wholeNumber } from './field.js';

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/** Inputs that several areas take. */
export const commonFields = {
  limit: { ...wholeNumber(1, 100, 'Maximum number of offers returned.'), default: 25 },
  gpus: list(slug, 'Slugs or names of GPU models. An offer matches if it has any of them; an empty list matches all.'),
  idempotencyKey: {
    schema: z.string().min(1).max(255).regex(VISIBLE_ASCII),
    must: 'a string of 1 to 255 visible ASCII characters',
    description:
      'A string of your choice that identifies this request. Repeating the request within 24 hours with the same key and input returns the first response and has no further effect.',
  },
  page: wholeNumber(1, 100, 'Entries per page.'),
} satisfies Record<string, Field<unknown>>;
