import { z } from 'zod';
import { type Field, wholeNumber } from '../kernel/field.js';
import { INSTANT_TEXT, parseInstant } from '../kernel/time.js';
import { DEFAULT_POINTS, MAX_POINTS } from './rules/samples.js';

export const sampleFields = {
  metricsFrom: instant('Start of the period, inclusive. By default, an hour before the end.'),
  metricsTo: instant('End of the period, exclusive. By default, or if it is in the future, now.'),
  points: {
    ...wholeNumber(1, MAX_POINTS, 'Maximum number of points. If the period has more, adjacent points are merged.'),
    default: DEFAULT_POINTS,
  },
} satisfies Record<string, Field<unknown>>;

/** Defines a field for a point in time in the past. */
function instant(description: string): Field<string> {
  return {
    schema: z.string().refine((text) => parseInstant(text) !== null),
    must: INSTANT_TEXT,
    description: `${description} Format: an instant such as 2026-11-23T18:00:00Z.`,
  };
}
