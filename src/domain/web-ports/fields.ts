import { z } from 'zod';
import { type Field, wholeNumber } from '../kernel/field.js';
import { isWebPath } from '../kernel/web-site.js';

export const webPortFields = {
  port: wholeNumber(1, 65_535, 'Port that a program in the container listens on.'),
  webPath: {
    schema: z.string().max(2_000).refine(isWebPath),
    must: 'a path of 1 to 2000 visible ASCII characters that starts with a single slash',
    description: 'Path, with its query, that the link opens.',
    default: '/',
  },
} satisfies Record<string, Field<unknown>>;
