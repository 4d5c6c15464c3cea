import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CsvError, parse } from 'csv-parse';
import type { FileRecord } from './import.js';
import { DomainError } from './rules/errors.js';

const PIECE_BYTES = 16_384;

/** Streams the records of a CSV file with a header. `name` stands for the file in refusals. */
export async function* csvRecords(
  name: string,
  source: Readable,
  columns: readonly string[],
): AsyncGenerator<FileRecord> {
  const checkHeader = (header: string[]) => {
    const missing = columns.filter((column) => !header.includes(column));
    if (missing.length > 0) throw new DomainError('invalid_request', `${name} lacks the columns ${missing.join(', ')}`);
    return header;
  };
  const options = { columns: checkHeader, info: true, bom: true, trim: true, skip_empty_lines: true } as const;
  const pieces = Readable.from(piecesOf(source), { objectMode: false });
  const rows = pieces.pipe(parse(options));
  pieces.on('error', (error) => rows.destroy(error));
  /** The parser counts a line break of two characters within quotes as two lines. */
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

/** Small enough that parsing one takes a few milliseconds: the process does other work in between. */
async function* piecesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
      yield chunk.subarray(start, start + PIECE_BYTES);
      await nextTurn();
    }
  }
}

function breaksOfTwo(value: string): number {
  return value.includes('\r\n') ? value.split('\r\n').length - 1 : 0;
}
