import type { ToolAnnotations } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Settings } from '../settings.js';
import type { Quotes } from './quotes.js';

/** The dependencies of one MCP server. */
export interface Service {
  settings: Settings;
  /** The account's maximum hourly cost after a deploy or start, in USD, or null if only the calls' own caps apply. */
  maxPerHour: number | null;
  identity: string | undefined;
  quotes: Quotes;
  /** Runs paid calls sequentially, so that the hourly cost is checked before each rental. */
  inTurn<Result>(paid: () => Promise<Result>): Promise<Result>;
}

/** A tool's response: one sentence for people, and the data. */
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
  /** Whether a call occupies a process while it runs. */
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

/** Defines a tool that rejects unknown arguments, because a misspelled cap must not be ignored. */
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

/** Thrown to reject a call in this program before anything is sent to the service. */
export class Refused extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Annotations for tools that don't change anything. */
export const READS = { readOnlyHint: true, openWorldHint: false } as const;

export const ID = z.string().max(64).describe('Instance id: `i-` and 8 hex characters.');
export const USD_PER_HOUR = z.number().min(0).max(1_000_000);
export const IDEMPOTENCY_KEY = z
  .string()
  .max(255)
  .optional()
  .describe('Identifies this request. Within 24 hours, a call with the same key returns the first response.');
