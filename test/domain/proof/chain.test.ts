import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adjustAccount } from '../../../src/domain/accounts/accounts.js';
import { audit } from '../../../src/domain/billing/audit.js';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import { chainHistory } from '../../../src/domain/proof/chain-history.js';
import { createVolume, deleteVolume, growVolume } from '../../../src/domain/volumes/volumes.js';
import { withoutTriggers } from '../../support/after-change.js';
import type { TestDomain } from '../../support/domain.js';
import { type Chain, chainOf } from '../../support/proofs/chain.js';
import { openSigningDomain } from '../../support/proofs/history.js';

let domain: TestDomain;
beforeAll(async () => {
  domain = await openSigningDomain();
});
afterAll(() => domain.close());

const sql = async (text: string, values: unknown[] = []) => (await domain.db.pool.query(text, values)).rows;

async function expectChained(account: string, entries?: number): Promise<Chain['records']> {
  const { links, expected, length, head, expectedHead, isComplete, records } = await chainOf(sql, account);
  expect(links).toEqual(expected);
  expect(links).toHaveLength(entries ?? records.size);
  expect({ length, head, isComplete }).toEqual({ length: records.size, head: expectedHead, isComplete: true });
  return records;
}

/** Removes the chains of all accounts, as in a database of a version before chains. */
const unchain = (where = 'true') =>
  withoutTriggers(domain, (transaction) =>
    transaction.query(`delete from chain_link where ${where}; delete from account_chain where ${where}`),
  );

/** Writes this number of credits in one statement. */
const writeCredits = (account: string, count: number, prefix = 'credit', at = 'now()') =>
  sql(
    `insert into ledger_entry (id, account_id, kind, units, at) select $3 || n, $1, 'CREDIT', n, ${at} - n * interval '1 hour' from generate_series(1, $2::int) n`,
    [account, count, `${prefix}-${account}-`],
  );

const NOTES = [
  'two "quotes" and a \\ backslash / slash',
  `${Array.from({ length: 31 }, (_, index) => String.fromCharCode(index + 1)).join('')}\u007f\u0080\u009f`,
  'emoji 🙂👩‍👩‍👧 and 日本語 ÿ \u2028\u2029\ufeff\uffff',
  '<script>&amp;</script> %00 {"at":1}',
  '',
];

describe('the chain of an account', () => {
  let renter: string;

  test('has the documented hash for every kind of entry and any text', async () => {
    renter = await domain.account('300');
    const other = await domain.account();
    const machineId = await domain.machine('l4');
    const rent = async (who: string, mode: 'ON_DEMAND' | 'RESERVED' | 'INTERRUPTIBLE', on = machineId) =>
      (await deploy(domain, who, { machineId: on, mode, diskGb: 7 })).instance.id;
    await rent(other, 'INTERRUPTIBLE');
    domain.clock.advance(100);
    const id = await rent(renter, 'ON_DEMAND');
    domain.clock.advance(10);
    await act(domain, renter, { id, action: 'STOP' });
    domain.clock.advance(10);
    await act(domain, renter, { id, action: 'START' });
    const reserved = await rent(renter, 'RESERVED', await domain.machine('l4'));
    const owner = { accountId: renter, keyId: null };
    const { volume } = await createVolume(domain, owner, { name: 'work', sizeGb: 5 });
    domain.clock.advance(3_601);
    await growVolume(domain, owner, { id: volume.id, sizeGb: 6 });
    domain.clock.advance(5);
    await deleteVolume(domain, owner, { id: volume.id });
    await act(domain, renter, { id: reserved, action: 'DESTROY' });
    await act(domain, renter, { id, action: 'DESTROY' });
    await adjustAccount(domain, renter, { amountMicro: -7n, reference: 'R "1"', note: 'späte Korrektur' });
    for (const [index, note] of NOTES.entries()) {
      await sql(
        `insert into ledger_entry (id, account_id, kind, units, at, instance_id, reference, note)
         values ($1, $2, 'SERVICE_CREDIT', 3, now(), $3, $4, $4)`,
        [`${id}/service/${index + 1}`, renter, id, note],
      );
    }
    const records = [...(await expectChained(renter)).values()];
    const kinds = 'ADJUSTMENT CREDIT DISK_USAGE EARLY_EXIT GPU_USAGE PREEMPTION_MINIMUM SERVICE_CREDIT VOLUME_USAGE';
    expect([...new Set(records.map(({ kind }) => kind))].sort().join(' ')).toBe(kinds);
  });

  test('is the same, in order of time and id, when it is made afterwards', async () => {
    await unchain();
    const faults: unknown[] = [];
    expect(await chainHistory(domain, (error) => faults.push(error))).toBe(true);
    expect(faults).toEqual([]);
    const records = await expectChained(renter);
    const links = await sql('select entry_id from chain_link where account_id = $1 order by number', [renter]);
    const ordered = await sql('select id from ledger_entry where account_id = $1 order by at, id', [renter]);
    expect(links.map(({ entry_id }) => entry_id)).toEqual(ordered.map(({ id }) => id));
    expect(records.size).toBeGreaterThan(10);
  });

  test('has no gap after 20 concurrent writes', async () => {
    const account = await domain.account();
    const write = (_: unknown, n: number) =>
      adjustAccount(domain, account, { amountMicro: BigInt(n + 1), reference: `r-${n}-${account}`, note: 'n' });
    await Promise.all(Array.from({ length: 20 }, write));
    await expectChained(account, 21);
  });

  test('contains nothing of a rejected write', async () => {
    const account = await domain.account();
    const duplicate = `insert into ledger_entry (id, account_id, kind, units, at)
      select 'twice-' || $1, $1, 'CREDIT', 1, now() from generate_series(1, 2)`;
    await expect(sql(duplicate, [account])).rejects.toThrow('ledger_entry_pkey');
    const client = await domain.db.pool.connect();
    await client.query('begin');
    await client.query(
      `insert into ledger_entry (id, account_id, kind, units, at) values ('gone-' || $1::text, $1, 'CREDIT', 1, now())`,
      [account],
    );
    await client.query('rollback');
    client.release();
    await adjustAccount(domain, account, { amountMicro: 5n, reference: `r-${account}`, note: 'n' });
    await expectChained(account, 2);
  });

  test('contains all entries of one statement, also for several accounts', async () => {
    const [one, other] = [await domain.account(), await domain.account()];
    await sql(
      `insert into ledger_entry (id, account_id, kind, units, at)
       select account || n, account, 'CREDIT', n, now() - n * interval '1 second' from unnest($1::text[]) account, generate_series(1, 50) n`,
      [[one, other]],
    );
    await expectChained(one, 51);
    await expectChained(other, 51);
  });

  test('takes time in proportion to the entries of a statement', async () => {
    const account = await domain.account();
    const took = async (count: number, prefix: string) => {
      const begun = performance.now();
      await writeCredits(account, count, prefix);
      return performance.now() - begun;
    };
    await took(100, 'warm');
    const few = await took(1_000, 'few');
    // A quadratic chain would take 100 times as long.
    expect(await took(10_000, 'many')).toBeLessThan(40 * few + 1_000);
  });
});

describe('the history of an account', () => {
  /** Returns an account with entries over many batches and without a chain. */
  async function oldAccount(entries: number): Promise<string> {
    const account = await domain.account();
    await writeCredits(account, entries, 'old', `'2026-01-01'::timestamptz`);
    await unchain(`account_id = '${account}'`);
    return account;
  }
  const batch = async (account: string, size: number) =>
    (await sql('select chain_history($1, $2) as complete', [account, size]))[0].complete;
  const WAITING = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  const lengthOf = async (account: string) =>
    Number((await sql('select length from account_chain where account_id = $1', [account]))[0]?.length ?? 0);

  test('is chained in batches, next to writes', async () => {
    const account = await oldAccount(20);
    expect(await batch(account, 8)).toBe(false);
    await adjustAccount(domain, account, { amountMicro: 5n, reference: `r-${account}`, note: 'n' });
    expect(await lengthOf(account)).toBe(8);
    expect(await batch(account, 8)).toBe(false);
    expect(await batch(account, 8)).toBe(true);
    expect(await batch(account, 8)).toBe(true);
    await adjustAccount(domain, account, { amountMicro: 5n, reference: `s-${account}`, note: 'n' });
    await expectChained(account, 23);
  });

  test('includes entries written in the statement that creates the account', async () => {
    const account = 'acc-00000000000000ff';
    await sql(
      `with credited as (insert into ledger_entry (id, account_id, kind, units, at) values ('with', $1, 'CREDIT', 1, now()))
       insert into account (id, name, created_at, settled_at, credit_units) values ($1, 'x', now(), now(), 1)`,
      [account],
    );
    expect(await audit(domain)).toMatchObject({ unchainedAccounts: 1 });
    expect(await batch(account, 8)).toBe(true);
    await expectChained(account, 1);
  });

  test('includes an entry that was added before its last chained one', async () => {
    const account = await oldAccount(20);
    expect(await batch(account, 15)).toBe(false);
    await writeCredits(account, 1, 'late', `'2025-12-31'::timestamptz`);
    expect(await batch(account, 15)).toBe(true);
    await expectChained(account, 22);
  });

  test('is chained once by concurrent gateways next to writers', async () => {
    const accounts = await Promise.all([300, 1_300, 500, 499].map(oldAccount));
    const faults: unknown[] = [];
    const write = async (account: string, n: number) =>
      adjustAccount(domain, account, { amountMicro: 1n, reference: `c-${n}-${account}`, note: 'n' });
    await Promise.all([
      ...[1, 2, 3].map(() => chainHistory(domain, (error) => faults.push(error))),
      ...accounts.flatMap((account) => Array.from({ length: 10 }, (_, n) => write(account, n))),
    ]);
    expect(faults).toEqual([]);
    for (const [index, entries] of [300, 1_300, 500, 499].entries())
      await expectChained(accounts[index]!, entries + 11);
  });

  test('includes the entry of a writer that it waited for', async () => {
    const account = await oldAccount(20);
    await batch(account, 8);
    const writer = await domain.db.pool.connect();
    await writer.query(`begin; select from account where id = '${account}' for update`);
    await writer.query(
      `insert into ledger_entry (id, account_id, kind, units, at) values ('held-' || $1::text, $1, 'CREDIT', 1, now())`,
      [account],
    );
    const rest = batch(account, 100);
    await expect.poll(() => sql(WAITING)).toHaveLength(1);
    await writer.query('commit');
    writer.release();
    expect(await rest).toBe(true);
    await expectChained(account, 22);
  });

  test('of an account that fails is reported and retried, and the others are chained', async () => {
    const [broken, fine] = (await Promise.all([oldAccount(3), oldAccount(3)])).sort() as [string, string];
    // Another row is in the way of the first link.
    await sql(`insert into chain_link values ($1, 1, 'in-the-way', '')`, [broken]);
    const faults: unknown[] = [];
    expect(await chainHistory(domain, (error) => faults.push(error))).toBe(false);
    expect(faults).toEqual([expect.objectContaining({ constraint: 'chain_link_pkey' })]);
    await expectChained(fine, 4);
    expect((await audit(domain)).unchainedAccounts).toBe(1);
    await unchain(`account_id = '${broken}'`);
    expect(await chainHistory(domain, (error) => faults.push(error))).toBe(true);
    await expectChained(broken, 4);
    expect(await audit(domain)).toMatchObject({ unchainedAccounts: 0 });
  });
});
