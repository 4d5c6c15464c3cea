import { expect, it } from 'vitest';
import { readListing } from '../../../src/access/files/listing.js';

const MARK = '[0123456789abcdef0123456789abcdef]';
const read = (...lines: string[]) =>
  readListing(Buffer.from(`${lines.map((line) => `${MARK} ${line}\n`).join('')}${MARK}links`, 'latin1'), MARK);

it('a listing skips lines that a genuine stat would never print', async () => {
  const { entries } = await read(
    '81a4 7 0 0 1 -5 ./good',
    '81a4 many 0 0 1 2 ./no-number',
    '81a4 7 0 0 1 NaN ./no-time',
    `81a4 ${'9'.repeat(100_000)} 0 0 1 2 ./larger-than-every-disk`,
    `81a4 7 0 0 1 2 ./${'x'.repeat(256)}`,
    'zz 7 0 0 1 2 ./no-mode',
    '81a4 7 0 0 1 2 ./../above',
  );
  expect(entries).toEqual([{ name: Buffer.from('good'), kind: 'file', isLink: false, size: 7n, modifiedAt: -5n }]);
});
