import { describe, expect, it } from 'vitest';
import { checkCover } from '../../src/domain/kernel/cover.js';
import { type Micro, parseUsd, unitsOfMicro } from '../../src/domain/kernel/money.js';

const USD = (text: string): Micro => parseUsd(text)!;
const AT = 1_000n;

/** Spends `burnRate` per hour from second 1,000 on. */
function account(credit: string, burnRate: Micro = 0n) {
  return {
    id: 'acc-1',
    creditUnits: unitsOfMicro(USD(credit)),
    spendUnits: 0n,
    monthStartSpendUnits: 0n,
    burnRate,
    settledAt: AT,
  };
}

function cover(
  of: ReturnType<typeof account>,
  addedRate: Micro,
  { at = AT, preempted = [] as { accountId: string; gpuRate: Micro }[], coverSeconds = 3_600n } = {},
) {
  return () => checkCover(of, at, { addedRate, preempted, coverSeconds }, 'deploy_failed');
}

describe('the balance needed for a deploy or start', () => {
  it('is the cost of one hour at the new rate, to the micro-USD', () => {
    expect(cover(account('2'), USD('2'))).not.toThrow();
    expect(cover(account('1.999999'), USD('2'))).toThrow(
      'balance too low: 1.999999 USD does not cover 1 h for all instances, which costs 2.00 USD',
    );
  });

  it('includes what the account is already paying', () => {
    expect(cover(account('5', USD('3')), USD('2'))).not.toThrow();
    expect(cover(account('4.99', USD('3')), USD('2'))).toThrow(
      'does not cover 1 h for all instances, which costs 5.00 USD',
    );
  });

  it('is compared with the balance remaining in the same second', () => {
    expect(cover(account('5', USD('3')), USD('2'), { at: AT + 1n })).toThrow('balance too low');
  });

  it("excludes the rates of the account's own preempted instances", () => {
    const preempted = [{ accountId: 'acc-1', gpuRate: USD('1') }];
    expect(cover(account('2', USD('1')), USD('2'), { preempted })).not.toThrow();
    const both = [...preempted, ...preempted];
    expect(cover(account('2', USD('2')), USD('2'), { preempted: both })).not.toThrow();
    expect(cover(account('2', USD('1')), USD('2'), { preempted: [{ ...preempted[0]!, accountId: 'acc-2' }] })).toThrow(
      'balance too low',
    );
  });

  it('covers the number of hours set by the operator and is rounded up for display', () => {
    expect(cover(account('1'), USD('2'), { coverSeconds: 1_800n })).not.toThrow();
    expect(cover(account('0'), 1n, { coverSeconds: 1_800n })).toThrow(
      'balance too low: 0.00 USD does not cover 0.5 h for all instances, which costs 0.000001 USD',
    );
    expect(cover(account('0'), USD('2'), { coverSeconds: 0n })).not.toThrow();
  });

  it("is at least a preempting start's minimum charge", () => {
    const preempted = [{ accountId: 'acc-2', gpuRate: USD('1') }];
    expect(cover(account('0.033334'), USD('2'), { preempted, coverSeconds: 0n })).not.toThrow();
    expect(cover(account('0.033333'), USD('2'), { preempted, coverSeconds: 0n })).toThrow(
      'balance too low: 0.033333 USD does not cover 60 s for all instances, which costs 0.033334 USD',
    );
    expect(cover(account('1.99'), USD('2'), { preempted })).toThrow(
      'does not cover 1 h for all instances, which costs 2.00 USD',
    );
  });

  it("is reported under the caller's error code if the account doesn't have it", () => {
    const check = () =>
      checkCover(account('0'), AT, { addedRate: 1n, preempted: [], coverSeconds: 1n }, 'action_failed');
    expect(check).toThrow(expect.objectContaining({ code: 'action_failed' }));
  });
});
