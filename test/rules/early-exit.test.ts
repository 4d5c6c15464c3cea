import { describe, expect, it } from 'vitest';
import { checkEarlyExit } from '../../src/domain/instances/rules/early-exit.js';
import { parseUsd, unitsOfMicro } from '../../src/domain/kernel/money.js';
import { earlyExitUnitsAt, type ReservedTerm } from '../../src/domain/kernel/reserved.js';

/** A discount of half a USD per hour, which totals 1 USD by second 7,200. */
const TERM: ReservedTerm = {
  mode: 'RESERVED',
  createdAt: 0n,
  runningSince: 0n,
  destroyedAt: null,
  gpuSeconds: 0n,
  reservedUntil: 90n * 86_400n,
  gpuRate: 500_000n,
  onDemandRate: 1_000_000n,
  earlyExitUnits: 0n,
};

function account(balance: string) {
  const creditUnits = unitsOfMicro(parseUsd(balance)!);
  return { creditUnits, spendUnits: 0n, monthStartSpendUnits: 0n, burnRate: 0n, settledAt: 0n };
}

describe('leaving a reserved term early', () => {
  it('is allowed if the balance covers its cost, to the micro-USD', () => {
    expect(() => checkEarlyExit(account('1'), TERM, 7_200n)).not.toThrow();
    const refused = () => checkEarlyExit(account('0.999999'), TERM, 7_200n);
    expect(refused).toThrow('leaving the reserved term early costs 1.00 USD, more than the balance');
    expect(refused).toThrow(expect.objectContaining({ code: 'action_failed' }));
  });

  it('is rejected with a message that shows its cost rounded up', () => {
    expect(earlyExitUnitsAt({ ...TERM, onDemandRate: 500_001n }, 1n)).toBe(1n);
    expect(() => checkEarlyExit(account('0'), { ...TERM, onDemandRate: 500_001n }, 1n)).toThrow('costs 0.000001 USD');
  });

  it('costs nothing if no discount is due, regardless of debt', () => {
    const inDebt = account('-5');
    expect(() => checkEarlyExit(inDebt, { ...TERM, mode: 'ON_DEMAND' }, 7_200n)).not.toThrow();
    expect(() => checkEarlyExit(inDebt, TERM, 0n)).not.toThrow();
    expect(() => checkEarlyExit(inDebt, TERM, 100n * 86_400n)).not.toThrow();
    expect(() => checkEarlyExit(inDebt, TERM, 1n)).toThrow('leaving the reserved term early');
  });
});
