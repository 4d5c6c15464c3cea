import { expect, it } from 'vitest';
import { CSV_CAST } from '../../src/domain/kernel/csv.js';
import { visible, visibleButColours, visibleJson } from '../../src/std/visible.js';

const ODD = 'a\u001b[31mb\u009b31mc\u202ed\u2066e\u061cf\u2028g\u007fh\ni\u200fj';
const SHOWN = 'a\\u001b[31mb\\u009b31mc\\u202ed\\u2066e\\u061cf\\u2028g\\u007fh\\u000ai\\u200fj';

it('control sequences that a terminal would execute are escaped', () => {
  expect(visible(ODD)).toBe(SHOWN);
  expect(visible(SHOWN)).toBe(SHOWN);
  expect(visible('Zoë 数 \u{1f600} \u200d')).toBe('Zoë 数 \u{1f600} \u200d');
});

it("a log's colours and tabs are kept", () => {
  expect(visibleButColours('\u001b[1;31mred\u001b[0m\t\u001b[2J\u009b2J\u202e\u{1f600}')).toBe(
    '\u001b[1;31mred\u001b[0m\t\\u001b[2J\\u009b2J\\u202e\u{1f600}',
  );
});

it('escaped JSON remains equivalent', () => {
  const json = visibleJson(JSON.stringify({ odd: ODD }));
  expect(json).toMatch(/^[\x20-\x7e]+$/);
  expect(JSON.parse(json)).toEqual({ odd: ODD });
});

it('a CSV cell that would be a formula is prefixed with an apostrophe', () => {
  for (const text of ['=1+1', '+1+1', '-1+1', '@SUM(A1)', '\t=1', '\r=1', '-', '--2', '-2.5x', '-2.'])
    expect(CSV_CAST.string(text), text).toBe(`'${text}`);
  for (const text of ['', '-2.5', '-2', '2', 'a=1', "'=1", ' =1', 'x-1'])
    expect(CSV_CAST.string(text), text).toBe(text);
});
