import type { ToolAnnotations } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Settings } from '../settings.js';
import type { Quotes } from './quotes.js';

/** What one server of the protocol works with. */
export interface Service {
  settings: Settings;
  /** The most that the account may pay per hour after a deploy or start, in USD; null: no limit but the caps of the calls. */
  maxPerHour: number | null;
  identity: string | undefined;
  quotes: Quotes;
  /** One after the other: what is paid per hour is looked at before more is rented. */
  inTurn<Result>(paid: () => Promise<Result>): Promise<Result>;
}

/** What a tool answers: one sentence for people, and data. */
export interface Answer {
  summary: string;
  [data: string]: unknown;
}

export interface Tool {
  name: string;
  title: string;
  description: string;
  input: z.ZodObject;
  annotations: ToolAnnotations;
  /** It has a process of its own for as long as it runs. */
  isLong: boolean;
  run(service: Service, args: unknown, signal: AbortSignal): Promise<Answer>;
}

interface Definition<Shape extends z.ZodRawShape> {
  name: string;
  title: string;
  description: string;
  input: Shape;
  annotations: ToolAnnotations;
  isLong?: boolean;
  run(service: Service, args: z.output<z.ZodObject<Shape>>, signal: AbortSignal): Promise<Answer>;
}

/** An argument that the tool does not know is refused: a cap that is misspelt must not be left out. */
export function tool<Shape extends z.ZodRawShape>(definition: Definition<Shape>): Tool {
  const { input, run, isLong = false, ...rest } = definition;
  const schema = z.strictObject(input);
  return {
    ...rest,
    isLong,
    input: schema,
    run: (service, args, signal) => run(service, schema.parse(args) as z.output<z.ZodObject<Shape>>, signal),
  };
}

/** Refused here, before the service is asked. */
export class Refused extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Of the tools that change nothing. */
export const READS = { readOnlyHint: true, openWorldHint: false } as const;

export const ID = z.string().max(64).describe('Instance id: `i-` and 8 hex characters.');
export const USD_PER_HOUR = z.number().min(0).max(1_000_000);
export const IDEMPOTENCY_KEY = z
  .string()
  .max(255)
  .optional()
  .describe('Names this request. Sent again with the same key within 24 hours, it repeats the first answer.');
