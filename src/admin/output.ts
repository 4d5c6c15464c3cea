import type { ImportReport } from '../domain/kernel/import.js';
import { formatUsd } from '../domain/kernel/money.js';
import { formatInstant, type Instant, instantOf } from '../domain/kernel/time.js';
import { alignColumns } from '../std/columns.js';
import { visible, visibleJson } from '../std/visible.js';

/** A command's output format: a table for people or JSON for scripts. */
export interface Output {
  json?: boolean;
}

/** A table column, with its heading and a function that returns a row's cell. */
export type Column<T> = readonly [heading: string, cell: (row: T) => string];

export function print<T>(rows: readonly T[], columns: readonly Column<T>[]): void {
  const lines = alignColumns([
    columns.map(([heading]) => heading),
    ...rows.map((row) => columns.map(([, cell]) => visible(cell(row)))),
  ]);
  for (const line of lines) process.stdout.write(`${line.trimEnd()}\n`);
}

export function printJson(value: unknown): void {
  process.stdout.write(`${visibleJson(JSON.stringify(value))}\n`);
}

export function usd(micro: bigint): string {
  return formatUsd(micro);
}

export function time(value: Instant | Date | null): string {
  return value === null ? '-' : formatInstant(value instanceof Date ? instantOf(value) : value);
}

export function timeOrNull(value: Instant | Date | null): string | null {
  return value === null ? null : time(value);
}

/** Runs `work`. On a terminal, shows how many records it has read so far. */
export async function withProgress<T>(
  things: string,
  work: (onProgress?: (count: number) => void) => Promise<T>,
): Promise<T> {
  if (!process.stderr.isTTY) return work();
  try {
    return await work((count) => process.stderr.write(`\r${count} ${things} read`));
  } finally {
    process.stderr.write('\r\x1b[K');
  }
}

export function printImport(
  things: string,
  { created, updated }: ImportReport,
  options: Output & { dryRun?: boolean },
): void {
  if (options.json) printJson({ created, updated, dry_run: options.dryRun ?? false });
  else
    process.stdout.write(`${options.dryRun ? 'would have ' : ''}created ${created} and updated ${updated} ${things}\n`);
}
