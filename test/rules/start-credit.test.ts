import { describe, expect, it } from 'vitest';
import { creditOfStart, type ObservedStart, stopGraceSeconds } from '../../src/domain/fleet/rules/start-credit.js';

const start: ObservedStart = {
  from: 1_000n,
  to: null,
  runningAt: null,
  hostFault: false,
  operatorImage: false,
  minimumUntil: null,
  ownWaitUntil: null,
  restores: false,
};
const later = 1_000_000n;
const of = (changes: Partial<ObservedStart>, now = later) => creditOfStart({ ...start, ...changes }, now);
const slow = (from: bigint, to: bigint) => ({ reason: 'SLOW_START', stretch: { from, to } });
/** Number of credited seconds, or null while unknown. */
const seconds = (changes: Partial<ObservedStart>, now = later) => {
  const credit = of(changes, now);
  if (credit === 'unknown') return null;
  if (credit === null) return 0;
  return Math.max(Number(credit.stretch.to - credit.stretch.from), 0);
};

describe('a slow start', () => {
  it('is credited for its delay, up to 600 s or the time the instance then ran', () => {
    for (const lag of [0n, 1n, 59n, 599n, 600n, 601n, 5_000n])
      for (const ran of [1n, 30n, 599n, 600n, 601n, 9_999n]) {
        const [runningAt, to] = [1_000n + lag, 1_000n + lag + ran];
        const expected = Math.min(Number(lag), 600, Number(ran));
        expect([lag, ran, seconds({ runningAt, to })]).toEqual([lag, ran, expected]);
        // While the instance runs, the result is known once it has earned the full credit.
        const earned = lag < 600n ? lag : 600n;
        if (earned > 0n) expect(seconds({ runningAt }, runningAt + earned - 1n)).toBeNull();
        expect(seconds({ runningAt }, runningAt + earned)).toBe(Number(earned));
        expect(of({ runningAt, to })).toEqual(slow(1_000n, 1_000n + BigInt(expected)));
      }
  });

  it("isn't credited if volumes had to be restored, since that depends on the renter", () => {
    expect(seconds({ restores: true, runningAt: 1_300n, to: 9_000n })).toBe(0);
    expect(seconds({ restores: true, runningAt: 1_300n })).toBe(0);
    expect(of({ restores: true, operatorImage: true, to: 1_300n })).toBeNull();
    expect(seconds({ restores: true, hostFault: true, to: 1_300n })).toBe(300);
  });

  it('is credited with the same amount no matter when it is evaluated', () => {
    expect(of({ runningAt: 1_042n, to: 1_050n }, 1_050n)).toBe('unknown');
    expect(of({ runningAt: 1_042n, to: 1_050n }, 1_051n)).toEqual(slow(1_000n, 1_008n));
    for (let now = 1_042n; now < 1_200n; now += 1n) {
      const ongoing = of({ runningAt: 1_042n }, now);
      if (ongoing !== 'unknown') expect(ongoing).toEqual(slow(1_000n, 1_042n));
    }
  });

  it("isn't credited for a preempting start's minimum or its own account's waits", () => {
    expect(of({ runningAt: 1_100n, minimumUntil: 1_060n })).toEqual(slow(1_060n, 1_100n));
    expect(seconds({ runningAt: 1_030n, minimumUntil: 1_060n })).toBe(0);
    expect(of({ runningAt: 1_100n, ownWaitUntil: 1_010n })).toEqual(slow(1_010n, 1_100n));
    expect(seconds({ runningAt: 1_100n, ownWaitUntil: 1_200n })).toBe(0);
  });

  it("isn't credited if it was seen running before its first charged second", () => {
    expect(seconds({ from: 1_000n, runningAt: 999n, to: 1_100n })).toBe(0);
  });
});

describe('a start that ended before it ran', () => {
  it('is charged, unless the host is at fault', () => {
    expect(seconds({ to: 5_000n })).toBe(0);
    expect(of({})).toBe('unknown');
    expect(of({ to: 5_000n, hostFault: true })).toEqual({
      reason: 'START_FAILED',
      stretch: { from: 1_000n, to: 5_000n },
    });
    expect(of({ to: 5_000n, hostFault: true, minimumUntil: 1_060n })).toMatchObject({
      stretch: { from: 1_060n, to: 5_000n },
    });
  });

  it('counts as having run only if it was seen running before its end', () => {
    expect(of({ to: 5_000n, hostFault: true, runningAt: 4_999n })).toEqual(slow(1_000n, 1_001n));
    expect(of({ to: 5_000n, hostFault: true, runningAt: 5_000n })).toMatchObject({ reason: 'START_FAILED' });
  });

  it('from an operator’s template is credited on the day of its last second', () => {
    const midnight = BigInt(Date.parse('2026-11-21T00:00:00Z') / 1_000);
    const template = { operatorImage: true, from: midnight - 90n };
    expect(of({ ...template, to: midnight }, midnight)).toBe('unknown');
    expect(of({ ...template, to: midnight }, midnight + 1n)).toEqual({
      reason: 'TEMPLATE_START',
      stretch: { from: midnight - 90n, to: midnight },
      day: '2026-11-20',
    });
    expect(of({ ...template, to: midnight + 1n }, later + midnight)).toMatchObject({ day: '2026-11-21' });
    expect(of({ ...template, to: midnight, ownWaitUntil: midnight - 30n }, later + midnight)).toMatchObject({
      stretch: { from: midnight - 30n, to: midnight },
    });
  });
});

describe('the grace period for a stop', () => {
  it('is a sixtieth of the running time, in whole seconds', () => {
    expect([-1n, 0n, 59n, 60n, 119n, 120n, 600n, 6_000n].map(stopGraceSeconds)).toEqual([
      0n,
      0n,
      0n,
      1n,
      1n,
      2n,
      10n,
      100n,
    ]);
  });
});
