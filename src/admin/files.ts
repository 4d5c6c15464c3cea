import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { csvRecords } from '../domain/kernel/csv.js';
import { DomainError } from '../domain/kernel/errors.js';
import type { FileRecord } from '../domain/kernel/import.js';

/** Maximum size of a JSON file, which is read all at once. A CSV file is streamed and has no size limit. */
const MAX_JSON_BYTES = 64 * 1024 * 1024;
const MAX_SHOWN = 100;

/**
 * Yields the records of a CSV file with a header, or of a JSON file with an array of objects. Throws for any other
 * file.
 */
export async function* recordsOf(file: string, columns: readonly string[]): AsyncGenerator<FileRecord> {
  try {
    yield* file.endsWith('.json') ? jsonRecords(file) : csvRecords(file, createReadStream(file), columns);
  } catch (error) {
    if (error instanceof SyntaxError) throw invalid(`${file} can't be read: ${error.message}`);
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall !== undefined) throw invalid(`${file} can't be read: ${code}`);
    throw error;
  }
}

/** Yields the records of a JSON file. A record's line number is its position in the array, starting at 1. */
async function* jsonRecords(file: string): AsyncGenerator<FileRecord> {
  const text = await readFile(file, 'utf8');
  if (text.length > MAX_JSON_BYTES) throw invalid(`${file} is larger than ${MAX_JSON_BYTES} bytes; use CSV`);
  const list: unknown = JSON.parse(text);
  if (!Array.isArray(list)) throw invalid(`${file} must contain an array of objects`);
  for (const [index, entry] of list.entries()) {
    const isObject = typeof entry === 'object' && entry !== null && !Array.isArray(entry);
    if (!isObject) throw invalid(`${file} must contain an array of objects; entry ${index + 1} is ${shown(entry)}`);
    yield { line: index + 1, fields: entry as Record<string, unknown> };
  }
}

/** Formats a value that isn't an object, for use in a message. */
function shown(value: unknown): string {
  return Array.isArray(value) ? 'an array' : JSON.stringify(value).slice(0, MAX_SHOWN);
}

function invalid(message: string): DomainError {
  return new DomainError('invalid_request', message);
}
