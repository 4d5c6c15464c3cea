import { describe, expect, it } from 'vitest';
import { decideIdle, type IdleWatch } from '../../src/domain/kernel/idle.js';

const NOW = 1_000_000n;
const MINUTE = 60n;

/** Returns an instance with a current report, whose idle time is given by its fields. */
function watch(changes: Partial<IdleWatch> = {}): IdleWatch {
  const nothing = { activeAt: null, backAt: null, warnedOf: null, warnedAt: null };
  return { minutes: 30, setAt: NOW - 7_200n, quietSince: NOW - 7_200n, seenAt: NOW, ...nothing, ...changes };
}

const does = (changes: Partial<IdleWatch>) => decideIdle(watch(changes), NOW)?.does ?? null;

describe('an instance that stops when idle', () => {
  it('triggers a warning no sooner than two minutes before its time is over', () => {
    expect(does({ quietSince: NOW - 28n * MINUTE + 1n })).toBe('wait');
    expect(decideIdle(watch({ quietSince: NOW - 28n * MINUTE }), NOW)).toEqual({
      does: 'warn',
      since: NOW - 28n * MINUTE,
      stopsAt: NOW + 120n,
    });
  });

  it('stops when its time is over, but at least two minutes after the warning', () => {
    const since = NOW - 30n * MINUTE;
    const warned = (at: bigint) => ({ quietSince: since, warnedOf: since, warnedAt: at });
    expect(does(warned(NOW - 120n))).toBe('stop');
    expect(does(warned(NOW - 119n))).toBe('wait');
    expect(does({ ...warned(NOW - 300n), minutes: 31 })).toBe('wait');
    // The warning was not processed when it was due, so both it and the stop are late.
    expect(decideIdle(watch(), NOW)).toMatchObject({ does: 'warn', stopsAt: NOW + 120n });
  });

  it('restarts its idle time after load, a connection, a new setting or an outage', () => {
    const late = NOW - 60n;
    for (const name of ['quietSince', 'activeAt', 'setAt', 'backAt'] as const) {
      const since = NOW - 7_200n;
      const before = { warnedOf: since, warnedAt: NOW - 500n };
      expect(does({ ...before }), name).toBe('stop');
      expect(decideIdle(watch({ ...before, [name]: late }), NOW), name).toMatchObject({ does: 'wait', since: late });
    }
  });

  it('triggers another warning if it was active after the last one', () => {
    const since = NOW - 28n * MINUTE;
    expect(does({ quietSince: since, warnedOf: since - 1n, warnedAt: NOW - 2_000n })).toBe('warn');
  });

  it('is never idle while its load is unknown or its machine has been silent for 30 s', () => {
    expect(does({ quietSince: null })).toBe(null);
    expect(does({ seenAt: null })).toBe(null);
    expect(does({ seenAt: NOW - 31n })).toBe(null);
    expect(does({ seenAt: NOW - 30n })).toBe('warn');
  });
});
