import type { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { DomainError } from './errors.js';
import type { FileRecord } from './import.js';

const FORMULA = /^[=+\-@\t\r]/;
const NUMBER = /^-?\d+(\.\d+)?$/;

/** Prefixes CSV text with an apostrophe if a spreadsheet would interpret it as a formula. Numbers stay unchanged. */
export const CSV_CAST = {
  string: (text: string) => (FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text),
};

/** Streams the records of a CSV file that has a header. Error messages refer to the file as `name`. */
export async function* csvRecords(
  name: string,
  source: Readable,
  columns: readonly string[],
): AsyncGenerator<FileRecord> {
  const checkHeader = (header: string[]) => {
    const missing = columns.filter((column) => !header.includes(column));
    if (missing.length > 0)
      throw new DomainError('invalid_request', `${name} is missing the columns ${missing.join(', ')}`);
    return header;
  };
  const options = { columns: checkHeader, info: true, bom: true, trim: true, skip_empty_lines: true } as const;
  const rows = source.pipe(parse(options));
  source.on('error', (error) => rows.destroy(error));
  /** Number of lines to subtract, because the parser counts a CRLF inside quotes twice. */
  let countedTwice = 0;
  try {
    for await (const { record, info } of rows) {
      for (const value of Object.values<string>(record)) countedTwice += breaksOfTwo(value);
      yield { line: info.lines - countedTwice, fields: record };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new DomainError('invalid_request', `${name} can't be read: ${error.message}`);
  } finally {
    source.destroy();
  }
}

function breaksOfTwo(value: string): number {
  return value.includes('\r\n') ? value.split('\r\n').length - 1 : 0;
}
