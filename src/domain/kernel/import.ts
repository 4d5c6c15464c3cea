import type { z } from 'zod';
import { DomainError } from './errors.js';

/** One record of an operator's file: its line number, and its fields as strings (from CSV) or as JSON values. */
export interface FileRecord {
  line: number;
  fields: Record<string, unknown>;
}

/** The result of an import or a dry run. */
export interface ImportReport {
  created: number;
  updated: number;
}

/** Maximum number of faults listed for each kind. */
const MAX_LISTED_FAULTS = 20;
const BATCH = 1_000;

interface FaultsOfKind {
  count: number;
  listed: { line: number; reason: string }[];
}

/**
 * Thrown for a file with faults. For each kind of fault, the message lists the first 20 and summarizes the rest on one
 * line.
 */
export class FileRefused extends DomainError {}

/** Collects a file's faults. A file with any fault is not imported. */
export class FileFaults {
  readonly #kinds = new Map<string, FaultsOfKind>();

  /** Adds a fault. `kind` is the reason without its line-specific parts, which keeps the number of kinds small. */
  add(line: number, reason: string, kind = reason): void {
    const faults = this.#kinds.get(kind) ?? { count: 0, listed: [] };
    this.#kinds.set(kind, faults);
    faults.count += 1;
    if (faults.listed.length < MAX_LISTED_FAULTS) faults.listed.push({ line, reason });
  }

  throwIfAny(): void {
    if (this.#kinds.size === 0) return;
    const listed = [...this.#kinds.values()].flatMap((faults) => faults.listed);
    const rest = [...this.#kinds]
      .filter(([, faults]) => faults.count > faults.listed.length)
      .map(([kind, faults]) => `and ${faults.count - faults.listed.length} more: ${kind}`);
    const lines = listed
      .sort((one, other) => one.line - other.line)
      .map(({ line, reason }) => `line ${line}: ${reason}`);
    throw new FileRefused('invalid_request', ['nothing was changed:', ...lines, ...rest].join('\n'));
  }
}

/**
 * Parses records in batches, so that memory use doesn't depend on the file's size. `alsoCheck` receives each record
 * exactly as it is in the file, even if it is invalid, so that all faults are reported together.
 */
export async function* readBatches<T>(
  records: AsyncIterable<FileRecord>,
  schema: z.ZodType<T>,
  faults: FileFaults,
  alsoCheck: (record: FileRecord) => void = () => {},
): AsyncGenerator<{ line: number; row: T }[]> {
  let batch: { line: number; row: T }[] = [];
  for await (const { line, fields } of records) {
    const parsed = schema.safeParse(fields, { error: typeFault });
    if (parsed.success) batch.push({ line, row: parsed.data });
    else {
      for (const { path, message } of parsed.error.issues)
        faults.add(line, `${path.join('.')} ${message}`, `${String(path[0] ?? '')} ${message}`);
    }
    alsoCheck({ line, fields });
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Returns the message for a value of the wrong type if the schema doesn't define one. */
function typeFault(issue: { code?: string; input?: unknown; expected?: unknown }): string | undefined {
  if (issue.code !== 'invalid_type') return undefined;
  return issue.input == null ? 'is missing' : `must be of type ${String(issue.expected)}`;
}

/** Thrown to roll back a dry run's transaction. Carries a report of what an import would have done. */
export class DryRun extends Error {
  constructor(readonly report: ImportReport) {
    super('dry run');
  }
}

export function reportOfDryRun(error: unknown): ImportReport {
  if (error instanceof DryRun) return error.report;
  throw error;
}
