import { afterAll, beforeAll, expect, test } from 'vitest';
import { statement } from '../../../src/domain/billing/statement.js';
import { parseInstant } from '../../../src/domain/kernel/time.js';
import { signedStatement } from '../../../src/domain/proof/signed-statement.js';
import { verify } from '../../../src/verify/verify.js';
import type { TestDomain } from '../../support/domain.js';
import { expectExactStatements } from '../../support/proofs/exact.js';
import {
  asFiles,
  documentsOf,
  openSigningDomain,
  type ProofFile,
  runProofHistory,
} from '../../support/proofs/history.js';

let domain: TestDomain;
let accounts: [string, string];
let files: ProofFile[];

beforeAll(async () => {
  domain = await openSigningDomain();
  accounts = await runProofHistory(domain);
  files = await documentsOf(domain, accounts);
});
afterAll(() => domain.close());

test('all documents of a history with every kind of entry verify', () => {
  const result = verify(asFiles(files));
  expect([...result.faults, ...result.unchecked]).toEqual([]);
  expect(result).toMatchObject({ exitCode: 0, keys: 2, roots: 5 });
  const kinds = new Set(files.flatMap(({ document }) => document.links ?? []).map(({ record }) => record.kind));
  expect(kinds.size).toBe(8);
  expect(files.flatMap(({ document }) => document.open ?? []).length).toBeGreaterThan(2);
});

test('the lines of each month add up to the change in balance, to the unit', () =>
  expectExactStatements(domain, accounts));

test('a statement says up to which link a root covers it', () => {
  const { statements } = verify(asFiles(files));
  const first = statements.filter(({ account }) => account === accounts[0]);
  expect(first.map(({ covered }) => covered?.root)).toEqual([5, 5, 5]);
  for (const { covered } of first) expect(covered?.link).toBeGreaterThan(0);
});

test('a month outside the life of the account is refused with its bounds', async () => {
  for (const month of ['2027-09', '2028-01', '2027-13', '2027-1', '', 'x'.repeat(1_000)]) {
    await expect(signedStatement(domain, accounts[0], month)).rejects.toMatchObject({
      code: 'invalid_request',
      field: 'month',
      message: `month must be from 2027-10 to 2027-12; got ${month.slice(0, 20)}`,
    });
  }
  await expect(signedStatement(domain, 'acc-none', '2027-11')).rejects.toMatchObject({ code: 'not_found' });
});

test('a statement with too many lines is refused, but not one with exactly as many', async () => {
  const { lines } = await signedStatement(domain, accounts[0], '2027-11');
  expect((await signedStatement(domain, accounts[0], '2027-11', lines.length)).lines).toEqual(lines);
  await expect(signedStatement(domain, accounts[0], '2027-11', lines.length - 1)).rejects.toMatchObject({
    code: 'invalid_request',
    field: 'month',
  });
});

test('an account whose older entries are not chained yet is refused with a time to retry', async () => {
  await domain.db.pool.query('update account_chain set complete = false where account_id = $1', [accounts[1]]);
  await expect(signedStatement(domain, accounts[1], '2027-11')).rejects.toMatchObject({
    code: 'unavailable',
    retryAfterSeconds: 60,
  });
  await domain.db.pool.query('update account_chain set complete = true where account_id = $1', [accounts[1]]);
});

test('a statement of the current month ends when it is issued', async () => {
  const { period, issuedAt, opening, closing } = await signedStatement(domain, accounts[0], '2027-12');
  expect(period).toEqual({ from: '2027-12-01T00:00:00Z', to: issuedAt });
  const [from, to] = [parseInstant(period.from)!, parseInstant(period.to)!];
  const { openingBalance, closingBalance } = await statement(domain, accounts[0], { from, to });
  for (const [units, shown] of [
    [BigInt(opening), openingBalance],
    [BigInt(closing), closingBalance],
  ] as const) {
    expect(units - shown * 3_600n).toBeLessThan(3_600n);
    expect(units - shown * 3_600n).toBeGreaterThan(-3_600n);
  }
});
