import { expect } from 'vitest';
import { type Statement, statement } from '../../../src/domain/billing/statement.js';
import { type Instant, parseInstant } from '../../../src/domain/kernel/time.js';
import { type SignedStatement, signedStatement } from '../../../src/domain/proof/signed-statement.js';
import { keysDocument } from '../../../src/domain/proof/signing-keys.js';
import { verify } from '../../../src/verify/verify.js';
import type { TestDomain } from '../domain.js';
import { asFiles, monthsOf, type ProofFile } from './history.js';

const MOVEMENTS = ['CREDIT', 'ADJUSTMENT', 'SERVICE_CREDIT'];
const KINDS = {
  GPU_USAGE: 'GPU',
  DISK_USAGE: 'DISK',
  VOLUME_USAGE: 'VOLUME',
  EARLY_EXIT: 'EARLY_EXIT',
  PREEMPTION_MINIMUM: 'PREEMPTION_MINIMUM',
} as const;

/**
 * Expects the signed statements of every month to verify, to have the charges that the ordinary statement has, to the
 * unit, and to lead from zero to the accounts' balances.
 */
export async function expectExactStatements(domain: TestDomain, accounts: readonly string[]): Promise<void> {
  const files: ProofFile[] = [];
  for (const account of accounts) {
    let balance = 0n;
    for (const month of await monthsOf(domain, account)) {
      const signed = await signedStatement(domain, account, month);
      files.push({ name: `${account}-${month}`, document: signed });
      expect(BigInt(signed.opening)).toBe(balance);
      balance = BigInt(signed.closing);
      const [from, to] = [at(signed.period.from), at(signed.period.to)];
      const shown = await statement(domain, account, { from, to });
      expect(chargesOf(signed)).toEqual(chargesShown(shown));
      expect(movementsOf(signed)).toEqual(shown.movements.map(({ id }) => id).sort());
      const change = BigInt(signed.closing) - BigInt(signed.opening);
      const sum = signed.lines.reduce((total, { units }) => total + BigInt(units), 0n);
      expect(sum).toBe(change);
    }
    expect(balance).toBe(await balanceNow(domain, account));
  }
  files.push({ name: 'keys', document: await keysDocument(domain) });
  const { faults, unchecked } = verify(asFiles(files));
  expect([...faults, ...unchecked]).toEqual([]);
}

/** Returns the sum of units of each charged thing and rate. */
function chargesOf({ lines }: SignedStatement): [string, bigint][] {
  return sums(
    lines
      .filter(({ kind }) => !MOVEMENTS.includes(kind))
      .map(({ instance, volume, kind, rate, units }) => [
        `${instance ?? volume} ${KINDS[kind as keyof typeof KINDS]} ${rate}`,
        -BigInt(units),
      ]),
  );
}

function chargesShown({ lines }: Statement): [string, bigint][] {
  return sums(
    lines.map(({ instanceId, volumeId, kind, rate, units }) => [`${instanceId ?? volumeId} ${kind} ${rate}`, units]),
  );
}

function sums(units: readonly (readonly [string, bigint])[]): [string, bigint][] {
  const totals = new Map<string, bigint>();
  for (const [key, each] of units) totals.set(key, (totals.get(key) ?? 0n) + each);
  return [...totals].filter(([, total]) => total !== 0n).sort(([a], [b]) => (a < b ? -1 : 1));
}

function movementsOf({ lines }: SignedStatement): string[] {
  return lines
    .filter(({ kind }) => MOVEMENTS.includes(kind))
    .map(({ id }) => id)
    .sort();
}

/** Returns the balance in units, computed from the account's running totals. */
async function balanceNow(domain: TestDomain, account: string): Promise<bigint> {
  const row = await domain.db.prisma.account.findUniqueOrThrow({ where: { id: account } });
  const seconds = domain.clock.now() - BigInt(row.settledAt.getTime() / 1_000);
  return row.creditUnits - row.spendUnits - row.burnRate * seconds;
}

function at(text: string): Instant {
  return parseInstant(text)!;
}
