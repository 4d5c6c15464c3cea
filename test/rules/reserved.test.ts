import { describe, expect, it } from 'vitest';
import {
  earlyExitUnitsAt,
  gpuSecondsAt,
  type ReservedTerm,
  reservedUntilAt,
  reservedUntilFrom,
} from '../../src/domain/kernel/reserved.js';
import { formatInstant, instantOf } from '../../src/domain/kernel/time.js';

const CREATED = instantOf(new Date('2026-11-30T10:00:00Z'));
/** 30 November + 3 months is 28 February, 90 days later. */
const TERM = 90n * 86_400n;

function term(changes: Partial<ReservedTerm> = {}): ReservedTerm {
  const fresh: ReservedTerm = {
    mode: 'RESERVED',
    createdAt: CREATED,
    runningSince: CREATED,
    destroyedAt: null,
    gpuSeconds: 0n,
    reservedUntil: null,
    gpuRate: 1_423_500n,
    onDemandRate: 2_190_000n,
    earlyExitUnits: 0n,
  };
  const begun = { ...fresh, reservedUntil: reservedUntilFrom(fresh, CREATED) };
  return { ...begun, ...changes };
}

describe('the reserved term', () => {
  it('ends three calendar months after the deploy while the instance runs', () => {
    expect(formatInstant(term().reservedUntil!)).toBe('2027-02-28T10:00:00Z');
    expect(reservedUntilAt(term(), CREATED + 5n)).toBe(CREATED + TERM);
    expect(reservedUntilAt(term(), CREATED - 5n)).toBe(CREATED + TERM);
  });

  it('is extended by each stopped second', () => {
    const stopped = term({ runningSince: null, gpuSeconds: 3600n });
    expect(reservedUntilAt(stopped, CREATED + 3600n)).toBe(CREATED + TERM);
    expect(reservedUntilAt(stopped, CREATED + 3700n)).toBe(CREATED + TERM + 100n);
    expect(reservedUntilFrom(stopped, CREATED + 3700n)).toBe(CREATED + TERM + 100n);
  });

  it('stays unchanged once it is over, even if the instance stops and starts again', () => {
    const over = term({ runningSince: null, gpuSeconds: TERM });
    expect(reservedUntilAt(over, CREATED + TERM + 999n)).toBe(CREATED + TERM);
    expect(reservedUntilFrom(over, CREATED + TERM + 999n)).toBe(CREATED + TERM);
  });

  it("of a destroyed instance is shown as of the instance's end", () => {
    const destroyed = term({ runningSince: null, gpuSeconds: 3600n, destroyedAt: CREATED + 4000n });
    expect(reservedUntilAt(destroyed, CREATED + 99_999n)).toBe(CREATED + TERM + 400n);
  });

  it('is null for other modes', () => {
    for (const mode of ['ON_DEMAND', 'INTERRUPTIBLE'] as const) {
      const other = term({ mode, reservedUntil: null });
      expect(reservedUntilFrom(other, CREATED)).toBeNull();
      expect(reservedUntilAt(other, CREATED)).toBeNull();
      expect(earlyExitUnitsAt(other, CREATED + 3600n)).toBe(0n);
      const stopped = term({ mode, reservedUntil: null, runningSince: null, gpuSeconds: 10n });
      expect(reservedUntilAt(stopped, CREATED + 3600n)).toBeNull();
      expect(earlyExitUnitsAt(stopped, CREATED + 3600n)).toBe(0n);
    }
  });
});

describe('an early exit', () => {
  it('costs the discount for every running second', () => {
    expect(earlyExitUnitsAt(term(), CREATED)).toBe(0n);
    expect(earlyExitUnitsAt(term(), CREATED + 1n)).toBe(766_500n);
    expect(earlyExitUnitsAt(term(), CREATED + 3600n)).toBe(766_500n * 3600n);
  });

  it('counts closed intervals and the open one, but not the seconds between them', () => {
    const again = term({ gpuSeconds: 100n, runningSince: CREATED + 1000n });
    expect(gpuSecondsAt(again, CREATED + 1010n)).toBe(110n);
    expect(earlyExitUnitsAt(again, CREATED + 1010n)).toBe(766_500n * 110n);
    const stopped = term({ gpuSeconds: 100n, runningSince: null });
    expect(earlyExitUnitsAt(stopped, CREATED + 9999n)).toBe(766_500n * 100n);
  });

  it("costs nothing from the term's last second onwards", () => {
    expect(earlyExitUnitsAt(term(), CREATED + TERM - 1n)).toBe(766_500n * (TERM - 1n));
    expect(earlyExitUnitsAt(term(), CREATED + TERM)).toBe(0n);
    expect(earlyExitUnitsAt(term(), CREATED + TERM + 1n)).toBe(0n);
  });

  it('costs nothing more once the instance is destroyed', () => {
    const destroyed = term({ runningSince: null, gpuSeconds: 100n, destroyedAt: CREATED + 100n });
    expect(earlyExitUnitsAt(destroyed, CREATED + 100n)).toBe(0n);
  });

  it('costs nothing if the clock is set back to before the deploy', () => {
    expect(gpuSecondsAt(term(), CREATED - 50n)).toBe(0n);
    expect(earlyExitUnitsAt(term(), CREATED - 50n)).toBe(0n);
  });
});
