import { z } from 'zod';
import { nearestName } from '../../std/nearest-name.js';
import { required } from '../../std/required.js';
import { DEADLINE_TEXT, isDeadlineText, MAX_DAYS_AHEAD } from './deadline.js';
import { DomainError, type ErrorCode } from './errors.js';
import { inputFault, shortened } from './input-fault.js';
import { microNotAbove, microOfUsd } from './money.js';

/**
 * The single definition of an input. Its validation, GraphQL description and default, and OpenAPI schema are all
 * derived from it.
 */
export interface Field<T> {
  schema: z.ZodType<T>;
  /** The bounds as text, to complete "NAME must be …". */
  must: string;
  description: string;
  default?: T;
  /** Error codes that the API contract prescribes for missing and invalid values. Both default to invalid_request. */
  missing?: ErrorCode;
  refusal?: ErrorCode;
}

const MAX_PRICE_USD = 1_000_000;
/** Matches text without control characters. PostgreSQL can't store a NUL byte. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches exactly the characters to reject
const PRINTABLE = /^[^\u0000-\u001f\u007f]*$/;
/** Maximum number of entries in a list of strings or choices. */
export const MAX_LIST = 100;
const SLUG = 'must be a string of 1 to 64 characters';
export const slug = z.string(SLUG).min(1, SLUG).max(64, SLUG).regex(PRINTABLE, SLUG);

/**
 * Returns the value if it is within the field's bounds. Otherwise throws an error that states the field and its bounds.
 */
export function check<T>(name: string, field: Field<T>, value: unknown): T {
  const parsed = field.schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const message = inputFault(name, field.must, parsed.error.issues);
  throw new DomainError(field.refusal ?? 'invalid_request', message, { field: name });
}

/** Like `check`, but returns the default if the caller omitted the value or sent null. */
export function checkOptional<T>(name: string, field: Field<T> & { default: T }, value: unknown): T;
export function checkOptional<T>(name: string, field: Field<T>, value: unknown): T | undefined;
export function checkOptional<T>(name: string, field: Field<T>, value: unknown): T | undefined {
  return value === null || value === undefined ? field.default : check(name, field, value);
}

export function priceLimit(priceMax: number | undefined): bigint | null {
  return priceMax === undefined ? null : microNotAbove(priceMax);
}

export function deadline(description: string): Field<string> {
  return {
    schema: z.string().refine(isDeadlineText),
    must: `${DEADLINE_TEXT}, later than now and at most ${MAX_DAYS_AHEAD} days ahead`,
    description: `${description} Format: ${DEADLINE_TEXT}.`,
  };
}

export function limit(description: string): Field<number> {
  return {
    schema: z
      .number()
      .min(0)
      .max(MAX_PRICE_USD)
      .refine((usd) => microOfUsd(usd) !== null),
    must: `a number from 0 to ${MAX_PRICE_USD} with at most 6 decimals`,
    description,
  };
}

/** Converts a validated limit in USD to micro-USD. Null means no limit. */
export function limitOf(usd: number | undefined): bigint | null {
  return usd === undefined ? null : required(microOfUsd(usd), 'limit in micro-USD');
}

export function wholeNumber(min: number, max: number, description: string): Field<number> {
  return { schema: z.int().min(min).max(max), must: `a whole number from ${min} to ${max}`, description };
}

export function price(description: string): Field<number> {
  const schema = z.number().min(0).max(MAX_PRICE_USD);
  return { schema, must: `a number from 0 to ${MAX_PRICE_USD}`, description };
}

export function list(entry: z.ZodType<string>, description: string): Field<string[]> {
  const must = `a list of at most ${MAX_LIST} strings of 1 to 64 characters`;
  return { schema: z.array(entry).max(MAX_LIST), must, description };
}

/** Schema for a string in a list. Errors refer to the string by its index. */
export function entryText(form: RegExp, must: string): z.ZodString {
  return z.string(`must be ${must}`).regex(form, `must be ${must}`);
}

/** Schema for an object in a list. Rejects unknown properties, because ignoring one could change the meaning. */
export function entry<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return `must be an object with ${known.join(', ')}`;
      const [unknown = ''] = issue.keys;
      const near = nearestName(unknown, known);
      const hint = near === null ? `known: ${known.join(', ')}` : `did you mean ${near}?`;
      return `has an unknown member ${shortened(unknown)}; ${hint}`;
    },
  });
}

/** Rejects a list in which two entries have the same value of `member`. */
export function once<Member extends string>(member: Member) {
  return (list: readonly Readonly<Record<Member, string>>[], context: z.RefinementCtx): void => {
    const first = new Map<string, number>();
    list.forEach((each, index) => {
      const before = first.get(each[member]);
      if (before === undefined) first.set(each[member], index);
      else
        context.addIssue({
          code: 'custom',
          path: [index, member],
          message: `must differ from the one in entry ${before}`,
        });
    });
  };
}

/** Whether the text can be a process variable or argument and can be stored as JSON in PostgreSQL. */
export function isProcessText(text: string): boolean {
  return !/[\0\p{Surrogate}]/u.test(text);
}

export function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, each) => sum + Buffer.byteLength(each), 0);
}

export function choices<const T extends string>(values: readonly T[], what: string, description: string): Field<T[]> {
  const schema = z.array(z.enum(values)).max(MAX_LIST);
  return { schema, must: `a list of at most ${MAX_LIST} ${what}`, description };
}

export function text(min: number, max: number, description: string): Field<string> {
  const schema = z.string().min(min).max(max).regex(PRINTABLE);
  return { schema, must: `a string of ${min} to ${max} characters`, description };
}
