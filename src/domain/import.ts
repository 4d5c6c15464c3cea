import type { z } from 'zod';
import { DomainError } from './rules/errors.js';

/** One record of an operator's file: its line, and its fields as text (CSV) or as JSON values. */
export interface FileRecord {
  line: number;
  fields: Record<string, unknown>;
}

/** What an import did, or would do in a dry run. */
export interface ImportReport {
  created: number;
  updated: number;
}

const MAX_LISTED_FAULTS = 20;
const BATCH = 1_000;

/** A file with faults: the message has one line for each. */
export class FileRefused extends DomainError {}

/** Collects the faults of a file by line. An import with a fault changes nothing. */
export class FileFaults {
  readonly #listed: string[] = [];
  #count = 0;

  add(line: number, reason: string): void {
    this.#count += 1;
    if (this.#listed.length < MAX_LISTED_FAULTS) this.#listed.push(`line ${line}: ${reason}`);
  }

  throwIfAny(): void {
    if (this.#count === 0) return;
    const more = this.#count - this.#listed.length;
    const tail = more > 0 ? [`and ${more} more`] : [];
    throw new FileRefused('invalid_request', ['nothing was changed:', ...this.#listed, ...tail].join('\n'));
  }
}

/** Parses records in batches, so that a file of any size takes the same memory. */
export async function* readBatches<T>(
  records: AsyncIterable<FileRecord>,
  schema: z.ZodType<T>,
  faults: FileFaults,
): AsyncGenerator<{ line: number; row: T }[]> {
  let batch: { line: number; row: T }[] = [];
  for await (const { line, fields } of records) {
    const parsed = schema.safeParse(fields);
    if (parsed.success) batch.push({ line, row: parsed.data });
    else for (const { path, message } of parsed.error.issues) faults.add(line, `${path.join('.')} ${message}`);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Thrown to roll back the transaction of a dry run. */
export class DryRun extends Error {}

export function endOfDryRun(error: unknown): void {
  if (!(error instanceof DryRun)) throw error;
}
