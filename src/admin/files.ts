import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { CsvError, parse } from 'csv-parse';
import type { FileRecord } from '../domain/import.js';
import { DomainError } from '../domain/rules/errors.js';

/** A JSON file is read whole; a CSV, which has no such bound, is streamed. */
const MAX_JSON_BYTES = 64 * 1024 * 1024;

/** The records of a CSV file with a header, or of a JSON file with an array of objects. Refuses a file that is neither. */
export async function* recordsOf(file: string, columns: readonly string[]): AsyncGenerator<FileRecord> {
  try {
    yield* file.endsWith('.json') ? jsonRecords(file) : csvRecords(file, columns);
  } catch (error) {
    if (error instanceof CsvError || error instanceof SyntaxError)
      throw invalid(`${file} can't be read: ${error.message}`);
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall !== undefined) throw invalid(`${file} can't be read: ${code}`);
    throw error;
  }
}

async function* csvRecords(file: string, columns: readonly string[]): AsyncGenerator<FileRecord> {
  const checkHeader = (header: string[]) => {
    const missing = columns.filter((name) => !header.includes(name));
    if (missing.length > 0) throw invalid(`${file} lacks the columns ${missing.join(', ')}`);
    return header;
  };
  const options = { columns: checkHeader, info: true, bom: true, trim: true, skip_empty_lines: true } as const;
  const source = createReadStream(file);
  const rows = source.pipe(parse(options));
  source.on('error', (error) => rows.destroy(error));
  for await (const { record, info } of rows) yield { line: info.lines, fields: record };
}

/** The line of a JSON record is its place in the array, from 1. */
async function* jsonRecords(file: string): AsyncGenerator<FileRecord> {
  const text = await readFile(file, 'utf8');
  if (text.length > MAX_JSON_BYTES) throw invalid(`${file} is larger than ${MAX_JSON_BYTES} bytes; use CSV`);
  const list: unknown = JSON.parse(text);
  if (!Array.isArray(list)) throw invalid(`${file} must hold an array of objects`);
  for (const [index, fields] of list.entries()) yield { line: index + 1, fields: fields as Record<string, unknown> };
}

function invalid(message: string): DomainError {
  return new DomainError('invalid_request', message);
}
