import type pg from 'pg';
import { expect, it } from 'vitest';
import { isUnavailable } from '../../../src/database/faults.js';
import { PrimaryCheck } from '../../../src/database/primary-check.js';

/** A connection to a server that reports the file it writes to. */
const serverWith = (file: string | null) => ({ query: async () => ({ rows: [{ file }] }) }) as unknown as pg.ClientBase;
/** A connection to a primary. The name of a file begins with the timeline. */
const primaryOn = (timeline: string) => serverWith(`${timeline}0000000000000003`);

it('rejects a former primary once a newer one has been seen', async () => {
  const primary = new PrimaryCheck();
  await primary.check(primaryOn('00000009'));
  await primary.check(primaryOn('0000000A'));
  await primary.check(primaryOn('0000000A'));
  const refusal = await primary.check(primaryOn('00000009')).catch((error) => error);
  expect(refusal).toMatchObject({ message: 'the database server is a former primary (timeline 9, newest 10)' });
  expect(isUnavailable(refusal)).toBe(true);
});

it('rejects a standby', async () => {
  const refusal = await new PrimaryCheck().check(serverWith(null)).catch((error) => error);
  expect(refusal).toMatchObject({ message: 'the database server is a standby' });
  expect(isUnavailable(refusal)).toBe(true);
});
