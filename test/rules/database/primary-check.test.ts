import type pg from 'pg';
import { expect, it } from 'vitest';
import { isUnavailable } from '../../../src/database/faults.js';
import { PrimaryCheck } from '../../../src/database/primary-check.js';

/** A connection to a primary. The name of a file begins with the timeline. */
const primaryOn = (timeline: string, cluster = '1') =>
  serverWith(false, async () => ({ rows: [{ cluster, file: `${timeline}0000000000000003` }] }));
const serverWith = (isStandby: boolean, position: () => Promise<unknown>) =>
  ({
    query: ({ text }: { text: string }) =>
      text.includes('isStandby') ? Promise.resolve({ rows: [{ isStandby }] }) : position(),
  }) as unknown as pg.ClientBase;
const refusing = (code: string) => () => Promise.reject(Object.assign(new Error('refused'), { code }));

it('rejects a former primary once a newer one has been seen', async () => {
  const primary = new PrimaryCheck();
  await primary.check(primaryOn('00000009'));
  await primary.check(primaryOn('0000000A'));
  await primary.check(primaryOn('0000000A'));
  const refusal = await primary.check(primaryOn('00000009')).catch((error) => error);
  expect(refusal).toMatchObject({ message: 'the database server is a former primary (timeline 9, newest 10)' });
  expect(isUnavailable(refusal)).toBe(true);
});

it('accepts another cluster, whose timelines begin again', async () => {
  const primary = new PrimaryCheck();
  await primary.check(primaryOn('0000000A'));
  await primary.check(primaryOn('00000001', '2'));
  await expect(primary.check(primaryOn('00000002', '2'))).resolves.toBeUndefined();
});

it('waits for each answer as long as its caller allows', async () => {
  const limits: unknown[] = [];
  const server = primaryOn('00000001');
  const query = (each: { text: string; query_timeout: number }) => {
    limits.push(each.query_timeout);
    return server.query(each);
  };
  const client = { query } as unknown as pg.ClientBase;
  await new PrimaryCheck().check(client);
  await new PrimaryCheck().check(client, 20_000);
  expect(limits).toEqual([2_000, 2_000, 20_000, 20_000]);
});

it('rejects a standby', async () => {
  const standby = serverWith(true, refusing('55000'));
  const refusal = await new PrimaryCheck().check(standby).catch((error) => error);
  expect(refusal).toMatchObject({ message: 'the database server is a standby' });
  expect(isUnavailable(refusal)).toBe(true);
});

it('accepts a primary that hides its position, but no other error', async () => {
  const check = (code: string) => new PrimaryCheck().check(serverWith(false, refusing(code)));
  await expect(check('42501')).resolves.toBeUndefined();
  await expect(check('57014')).rejects.toThrow('refused');
});
