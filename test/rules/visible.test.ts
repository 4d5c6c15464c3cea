import { expect, it } from 'vitest';
import { CSV_CAST } from '../../src/admin/output.js';
import { visible, visibleButColours, visibleJson } from '../../src/std/visible.js';

const ODD = 'a\u001b[31mb\u009b31mc\u202ed\u2066e\u061cf\u2028g\u007fh\ni\u200fj';
const SHOWN = 'a\\u001b[31mb\\u009b31mc\\u202ed\\u2066e\\u061cf\\u2028g\\u007fh\\u000ai\\u200fj';

it('escapes control sequences that a terminal would execute', () => {
  expect(visible(ODD)).toBe(SHOWN);
  expect(visible(SHOWN)).toBe(SHOWN);
  expect(visible('Zoë 数 \u{1f600} \u200d')).toBe('Zoë 数 \u{1f600} \u200d');
});

it('keeps a log’s colours and tabs', () => {
  expect(visibleButColours('\u001b[1;31mred\u001b[0m\t\u001b[2J\u009b2J\u202e\u{1f600}')).toBe(
    '\u001b[1;31mred\u001b[0m\t\\u001b[2J\\u009b2J\\u202e\u{1f600}',
  );
});

it('keeps JSON equivalent', () => {
  const json = visibleJson(JSON.stringify({ odd: ODD }));
  expect(json).toMatch(/^[\x20-\x7e]+$/);
  expect(JSON.parse(json)).toEqual({ odd: ODD });
});

it('prefixes a CSV cell with an apostrophe if it would be a formula', () => {
  for (const text of ['=1+1', '+1+1', '-1+1', '@SUM(A1)', '\t=1', '\r=1', '-', '--2', '-2.5x', '-2.'])
    expect(CSV_CAST.string(text), text).toBe(`'${text}`);
  for (const text of ['', '-2.5', '-2', '2', 'a=1', "'=1", ' =1', 'x-1'])
    expect(CSV_CAST.string(text), text).toBe(text);
});
