import { GraphQLInt, GraphQLList, GraphQLObjectType, GraphQLSchema, GraphQLString, parse } from 'graphql';
import { expect, it, vi } from 'vitest';
import { OperationMeasures } from '../../../src/http/graphql/operation-measure.js';

const Entry: GraphQLObjectType = new GraphQLObjectType({
  name: 'Entry',
  fields: () => ({ name: { type: GraphQLString }, next: { type: Entry } }),
});
const query = new GraphQLObjectType({
  name: 'Query',
  fields: {
    open: { type: Entry },
    mine: { type: GraphQLString, extensions: { needsKey: true } },
    page: { type: new GraphQLList(Entry), args: { first: { type: GraphQLInt } } },
    few: { type: new GraphQLList(Entry), extensions: { mostEntries: 3 } },
  },
});
const schema = new GraphQLSchema({ query });

function measureOf(text: string) {
  return new OperationMeasures(schema).of({ document: parse(text) })!;
}

/** Returns the number of values that a response may have. */
function valuesOf(text: string, variables: Record<string, unknown> = {}): number {
  const measure = measureOf(text);
  return Array.from({ length: 1_000 }, (_, most) => most).find((most) => !measure.exceeds(most, variables))!;
}

it('an operation is measured once, and its document is not visited again', () => {
  const measures = new OperationMeasures(schema);
  const document = parse('query($n: Int, $no: Boolean!) { page(first: $n) { name } mine @skip(if: $no) }');
  const measure = measures.of({ document })!;
  const visits = vi.spyOn(query, 'getFields');
  for (const n of [1, 2]) {
    const again = measures.of({ document })!;
    expect(again).toBe(measure);
    expect([again.cost({ n, no: n > 1 }), again.rootFields({ n, no: n > 1 })]).toEqual(n > 1 ? [0, 1] : [1, 2]);
    expect([again.exceeds(2 * n + 1, { n }), again.exceeds(2 * n, { n })]).toEqual([false, true]);
  }
  expect(visits).not.toHaveBeenCalled();
});

it.each([
  ['{ open { name } }', {}, 2],
  ['{ open { name } mine }', {}, 3],
  ['{ few { name next { name } } }', {}, 12],
  ['{ page { name } }', {}, 50],
  ['{ page(first: 4) { name } }', {}, 8],
  ['{ page(first: 1000) { name } }', {}, 200],
  ['query($n: Int) { page(first: $n) { name } }', { n: 7 }, 14],
  ['query($n: Int) { page(first: $n) { name } }', { n: null }, 50],
  ['{ ...A ...A } fragment A on Query { few { name } }', {}, 12],
  ['query($no: Boolean!) { open @skip(if: $no) { name } }', { no: true }, 2],
])('%s with %j may return %i values', (text, variables, values) => {
  expect(valuesOf(text, variables)).toBe(values);
});

it('fragments that spread each other are measured once each', () => {
  const fragments = Array.from({ length: 100 }, (_, n) => `fragment F${n} on Query { ...F${n + 1} ...F${n + 1} }`);
  const measure = measureOf(`{ ...F0 } ${fragments.join(' ')} fragment F100 on Query { mine }`);
  expect([measure.depth, measure.rootFields(null), measure.cost({})]).toEqual([1, 2 ** 100, 2 ** 100]);
  expect(measure.exceeds(2 ** 99, {})).toBe(true);
});

it('documents that validation rejects are measured as well', () => {
  const measure = measureOf(
    '{ ...A ...Unknown none { open { name } } } fragment A on Query { open { ...B } ...A } fragment B on None { x ...B }',
  );
  expect([measure.depth, measure.rootFields(null)]).toEqual([3, 2]);
});
