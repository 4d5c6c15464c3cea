import type pg from 'pg';
import { expect, it } from 'vitest';
import { isUnavailable } from '../../../src/database/faults.js';
import { PrimaryCheck } from '../../../src/database/primary-check.js';

/** A connection to a primary on a timeline, of which PostgreSQL reports only the name of a file. */
const primaryOn = (timeline: string) =>
  ({ query: async () => ({ rows: [{ file: `${timeline}0000000000000003` }] }) }) as unknown as pg.ClientBase;

it('rejects a former primary once a newer one has been seen', async () => {
  const primary = new PrimaryCheck();
  await primary.check(primaryOn('00000009'));
  await primary.check(primaryOn('0000000A'));
  await primary.check(primaryOn('0000000A'));
  const refusal = await primary.check(primaryOn('00000009')).catch((error) => error);
  expect(refusal).toMatchObject({ message: 'the database server is a former primary (timeline 9, newest 10)' });
  expect(isUnavailable(refusal)).toBe(true);
});
