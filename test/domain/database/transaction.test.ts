import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createPool } from '../../../src/database/pool.js';
import { inLongTransaction, inTransaction, type PreparedStatement } from '../../../src/database/transaction.js';
import { createTestDatabase } from '../../support/database.js';

let pool: pg.Pool;

beforeAll(async () => {
  pool = createPool(await createTestDatabase(), 'within');
  await pool.query('create table thing (id text primary key, number bigint, names text[])');
});
afterAll(() => pool?.end());

const put = (id: string, number: bigint | number | null = null, names: readonly string[] | null = null) => ({
  name: 'put',
  text: 'insert into thing (id, number, names) values ($1, $2, $3)',
  values: [id, number, names],
});
const get = (id: string): PreparedStatement => ({
  name: 'get',
  text: 'select id, number, names from thing where id = $1',
  values: [id],
});

/** Returns the text of each message that `work` sends. */
async function messagesOf(work: () => Promise<unknown>): Promise<string[]> {
  const spy = vi.spyOn(pg.Client.prototype, 'query');
  await work();
  const texts = spy.mock.calls.map(([query]) => {
    const given = query as unknown as string | pg.QueryConfig;
    return typeof given === 'string' ? given : given.text;
  });
  spy.mockRestore();
  return texts;
}

describe('values', () => {
  it.each([
    `it's`,
    `'; drop table thing; --`,
    'back\\slash',
    `\\'; drop table thing; --`,
    '$1 $$ "quoted" E\'x\'',
    'two\nlines\r\n\ttab',
    'Übergröße 🚀 \u2028',
    '',
    'null',
    '{a,b}',
  ])('arrive unchanged: %j', async (text) => {
    const id = `value ${text}`;
    const rows = await inTransaction(pool, async (transaction) => {
      transaction.later(put(id, -(2n ** 63n), [text, '', 'null', 'a,b']));
      return transaction.run(get(id));
    });
    expect(rows).toEqual([[{ id, number: -(2n ** 63n), names: [text, '', 'null', 'a,b'] }]]);
  });

  it('can be null, numbers and empty lists', async () => {
    const rows = await inTransaction(pool, (transaction) =>
      transaction.run(put('none'), get('none'), put('some', 7, []), get('some'), get('missing')),
    );
    expect(rows).toEqual([
      [],
      [{ id: 'none', number: null, names: null }],
      [],
      [{ id: 'some', number: 7n, names: [] }],
      [],
    ]);
  });

  it('with a zero byte are rejected without making the connection unusable', async () => {
    await expect(inTransaction(pool, (transaction) => transaction.run(put('zero\0byte')))).rejects.toThrow('NUL byte');
    expect((await pool.query(`select from thing where id like 'zero%'`)).rowCount).toBe(0);
  });
});

describe('messages', () => {
  it('combine BEGIN with the first statements and COMMIT with the last', async () => {
    const work = () =>
      inTransaction(pool, async (transaction) => {
        await transaction.run(get('first'));
        transaction.later(put(`last ${Math.random()}`), put(`last ${Math.random()}`));
      });
    await work();
    const messages = await messagesOf(work);
    expect(messages.map((text) => text.match(/BEGIN|SET|EXECUTE|COMMIT/g))).toEqual([
      ['BEGIN', 'SET', 'EXECUTE'],
      ['EXECUTE', 'EXECUTE', 'COMMIT'],
    ]);
  });

  it('send deferred statements before a separate query', async () => {
    const found = await inTransaction(pool, async (transaction) => {
      await transaction.run(get('begun'));
      transaction.later(put('waiting'));
      return transaction.query(`select id from thing where id = 'waiting'`);
    });
    expect(found.rowCount).toBe(1);
  });

  it('are not sent for an empty transaction', async () => {
    expect(await messagesOf(() => inTransaction(pool, async () => {}))).toEqual([]);
  });
});

it('a statement sees changes committed while the previous one was waiting for a lock', async () => {
  await pool.query(`insert into thing values ('lock', 1), ('read', 1)`);
  const other = await pool.connect();
  await other.query(
    `begin; select from thing where id = 'lock' for update; update thing set number = 2 where id = 'read'`,
  );
  const lock = { name: 'lock', text: `select id from thing where id = $1 for update`, values: ['lock'] };
  const waiting = inTransaction(pool, (transaction) => transaction.run(lock, get('read')));
  await sleep(200);
  await other.query('commit');
  other.release();
  expect((await waiting)[1]).toEqual([{ id: 'read', number: 2n, names: null }]);
});

describe('when a statement fails,', () => {
  it.each(['with COMMIT', 'before COMMIT'])('the transaction has no effect if it was sent %s', async (when) => {
    const id = `failed ${when}`;
    const work = inTransaction(pool, async (transaction) => {
      transaction.later(put(id), put(id));
      if (when === 'before COMMIT') await transaction.run(get(id));
    });
    await expect(work).rejects.toMatchObject({ code: '23505' });
    expect(await inTransaction(pool, (transaction) => transaction.run(get(id)))).toEqual([[]]);
  });

  it('its connection is not reused if it failed while being prepared', async () => {
    const good = { name: 'half-known', text: 'select 1 as one', values: [] };
    const bad = { name: 'bad', text: 'select missing from thing', values: [] };
    const one = new pg.Pool({ ...pool.options, max: 1 });
    // The connection may still be closing when the database is dropped.
    one.on('error', () => {});
    try {
      await expect(inTransaction(one, (transaction) => transaction.run(good, bad))).rejects.toThrow('missing');
      expect(await inTransaction(one, (transaction) => transaction.run(good))).toEqual([[{ one: 1 }]]);
    } finally {
      await one.end();
    }
  });
});

it('long transactions have longer timeouts, which are reset afterwards', async () => {
  const limits = ['statement_timeout', 'idle_in_transaction_session_timeout', 'lock_timeout'];
  const current: PreparedStatement = {
    name: 'limits',
    text: `select current_setting(name) as value from unnest($1::text[]) with ordinality as given(name, place) order by place`,
    values: [limits],
  };
  const valuesIn = async (run: typeof inLongTransaction) =>
    (await run(pool, (transaction) => transaction.run(current)))[0]!.map(({ value }) => value);
  expect(await valuesIn(inLongTransaction)).toEqual(['10min', '10min', '1min']);
  expect(await valuesIn(inTransaction)).toEqual(['15s', '15s', '5s']);
});
