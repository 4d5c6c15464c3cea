import { expect, it } from 'vitest';
import { alignColumns } from '../../src/std/columns.js';

it('columns are as wide as their widest cell, and the last one is not padded', () => {
  expect(
    alignColumns([
      ['a', 'bbb', 'c '],
      ['aa', 'b', ''],
    ]),
  ).toEqual(['a   bbb  c ', 'aa  b    ']);
});

it('a right-aligned column is padded on the left, even at the end of a line', () => {
  expect(
    alignColumns(
      [
        ['a', '1'],
        ['', '100'],
      ],
      { right: [false, true] },
    ),
  ).toEqual(['a    1', '   100']);
});

it('the last cell of a shorter line may be longer than its column', () => {
  expect(alignColumns([['a', 'b', 'c'], ['', 'longer'], ['']])).toEqual(['a  b  c', '   longer', '']);
});

it('cells are coloured after they are padded', () => {
  const paint = (cell: string, line: number, column: number) => `<${cell}${line}${column}>`;
  expect(
    alignColumns(
      [
        ['a', 'b'],
        ['aa', 'b'],
      ],
      { paint },
    ),
  ).toEqual(['<a 00>  <b01>', '<aa10>  <b11>']);
});
