import { z } from 'zod';
import { type Field, text, wholeNumber } from '../kernel/field.js';

/** Maximum length of a config.json. A typical one has two thousand characters. */
const MAX_CONFIG = 64_000;
const WEIGHT_BITS = [4, 8, 16] as const;
const [MIN_BILLIONS, MAX_BILLIONS] = [0.001, 100_000];

export const modelFields = {
  model: text(1, 300, 'The model: `owner/name`, or its URL on the hub.'),
  config: {
    schema: z.string().min(2).max(MAX_CONFIG),
    must: `the text of a config.json, of 2 to ${MAX_CONFIG} characters`,
    description: "The text of the model's config.json. With it, the hub isn't read.",
  },
  contextLength: wholeNumber(
    1,
    10_000_000,
    "Tokens per request, prompt and answer together. At most the model's maximum. By default 8192, or that maximum if it is lower.",
  ),
  concurrency: {
    ...wholeNumber(1, 10_000, 'Number of requests of this length that are in progress at the same time.'),
    default: 4,
  },
  parametersInBillions: {
    schema: z.number().min(MIN_BILLIONS).max(MAX_BILLIONS),
    must: `a number from ${MIN_BILLIONS} to ${MAX_BILLIONS}`,
    description: "Number of parameters in billions, if the formula doesn't cover the model's layers.",
  },
  weightBits: {
    schema: z.literal([...WEIGHT_BITS]),
    must: `one of ${WEIGHT_BITS.join(', ')}`,
    description: 'Bits per parameter: 16, or 8 or 4 for a quantised model. By default as the config.json states.',
  },
} satisfies Record<string, Field<unknown>>;
