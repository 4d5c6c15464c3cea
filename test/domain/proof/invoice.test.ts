import { beforeAll, expect, test } from 'vitest';
import { statement } from '../../../src/domain/billing/statement.js';
import { formatUsd } from '../../../src/domain/kernel/money.js';
import { formatInstant, parseInstant } from '../../../src/domain/kernel/time.js';
import { invoice } from '../../../src/domain/proof/invoice.js';
import { signedStatement } from '../../../src/domain/proof/signed-statement.js';
import type { TestDomain } from '../../support/domain.js';
import { monthsOf, openSigningDomain, runProofHistory } from '../../support/proofs/history.js';

let domain: TestDomain;
let accounts: [string, string];

beforeAll(async () => {
  domain = await openSigningDomain();
  accounts = await runProofHistory(domain);
  return () => domain.close();
});

/** Returns the cells of all table rows with charges, payments and sums. */
function rowsOf(html: string): string[][] {
  return [...html.matchAll(/<tr><td.*?<\/tr>/gs)].map(([row]) =>
    [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell]) => cell!),
  );
}

function hours(seconds: bigint): string {
  const [minutes, rest] = [(seconds / 60n) % 60n, seconds % 60n].map((part) => part.toString().padStart(2, '0'));
  return `${seconds / 3_600n}:${minutes}:${rest}`;
}

test('an invoice has the lines and balances of the statement of its month', async () => {
  let charged = 0;
  for (const account of accounts) {
    for (const month of await monthsOf(domain, account)) {
      const { period } = await signedStatement(domain, account, month);
      const [from, to] = [period.from, period.to].map((text) => parseInstant(text)!);
      const stated = await statement(domain, account, { from: from!, to: to! });
      const rows = rowsOf((await invoice(domain, account, month)).html);
      const charges = rows.filter((row) => row.length === 4);
      expect(charges.map(([what, ...figures]) => [what!.split(' ')[0], ...figures])).toEqual(
        stated.lines.map(({ instanceId, volumeId, seconds, rate, amount }) => [
          instanceId ?? volumeId,
          hours(seconds),
          formatUsd(rate),
          formatUsd(amount),
        ]),
      );
      expect(rows.filter((row) => row.length === 3).map(([date, , amount]) => [date, amount])).toEqual(
        stated.movements.map(({ at, amount }) => [formatInstant(at).slice(0, 10), formatUsd(amount)]),
      );
      const sums = rows.filter((row) => row.length === 2).map(([, amount]) => amount);
      expect(sums[0]).toBe(`${formatUsd(stated.openingBalance)} USD`);
      expect(sums.at(-1)).toBe(`${formatUsd(stated.closingBalance)} USD`);
      charged += charges.length;
    }
  }
  expect(charged).toBeGreaterThan(10);
});

test('an invoice names what was charged, and the note or reference of a payment', async () => {
  const { html } = await invoice(domain, accounts[0], '2027-11');
  for (const text of [' (1 × p4, reserved): GPU<', ' (data): volume<', 'Payment: card &quot;x&quot; – Überweisung 💶<'])
    expect(html).toContain(text);
});
