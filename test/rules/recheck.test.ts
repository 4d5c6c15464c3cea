import { describe, expect, it } from 'vitest';
import { formatInstant, instantOf } from '../../src/domain/kernel/time.js';
import { nextStep, type Recheck, retryAt } from '../../src/domain/market/rules/recheck.js';
import { isSchedule, lastDue, nextDue } from '../../src/domain/market/schedule.js';

const at = (text: string) => instantOf(new Date(text));
/** A Wednesday. The schedule's Monday is the 23rd. */
const now = at('2026-11-25T09:00:00Z');

function step(last: Recheck | null, sheetDay: string | null = '2026-09-26', dueDay: string | null = '2026-11-23') {
  return nextStep({ now, today: '2026-11-25', dueDay, sheetDay, last });
}

function begun(day: string, changes: Partial<Recheck> = {}): Recheck {
  return { day, finished: false, attempts: 1, nextAttemptAt: now, ...changes };
}

describe('nextStep', () => {
  it('catches up on a missed re-check on the current day', () => {
    const first = { kind: 'attempt', day: '2026-11-25', attempt: 1 };
    expect(step(null)).toEqual(first);
    expect(step(null, null)).toEqual(first);
    expect(step(begun('2026-11-16', { finished: true }))).toEqual(first);
    // Last week's re-check was never finished, but its time is over.
    expect(step(begun('2026-11-17'))).toEqual(first);
  });

  it('waits before the first scheduled time and after a finished re-check', () => {
    expect(step(null, null, null)).toEqual({ kind: 'nothing' });
    for (const day of ['2026-11-23', '2026-11-24', '2026-11-25']) {
      expect(step(begun(day, { finished: true, nextAttemptAt: null }))).toEqual({ kind: 'nothing' });
    }
  });

  it('resumes a started re-check on schedule, for up to four attempts in total', () => {
    const wait = begun('2026-11-23', { nextAttemptAt: now + 1n });
    expect(step(wait)).toEqual({ kind: 'wait', until: now + 1n });
    expect(step(begun('2026-11-23'))).toEqual({ kind: 'attempt', day: '2026-11-23', attempt: 2 });
    expect(step(begun('2026-11-23', { attempts: 3 }))).toEqual({ kind: 'attempt', day: '2026-11-23', attempt: 4 });
    expect(step(begun('2026-11-23', { attempts: 4 }))).toEqual({ kind: 'exhausted', day: '2026-11-23' });
  });

  it('keeps a sheet that was published since the last scheduled time', () => {
    for (const sheetDay of ['2026-11-23', '2026-11-25', '2030-01-01']) {
      expect(step(null, sheetDay)).toEqual({ kind: 'current', day: '2026-11-25' });
      expect(step(begun('2026-11-24', { nextAttemptAt: now + 1n }), sheetDay)).toEqual({
        kind: 'current',
        day: '2026-11-24',
      });
    }
    expect(step(null, '2026-11-22')).toMatchObject({ kind: 'attempt' });
  });

  it('waits 1, 5 and 25 minutes between attempts', () => {
    expect([1, 2, 3, 4].map((attempt) => retryAt(attempt, 0n))).toEqual([60n, 300n, 1_500n, null]);
  });
});

describe('the schedule', () => {
  it('is in UTC and due from its exact second onwards', () => {
    const due = (text: string) => formatInstant(lastDue('0 4 * * 1', at(text))!);
    expect(due('2026-11-23T03:59:59Z')).toBe('2026-11-16T04:00:00Z');
    expect(due('2026-11-23T04:00:00Z')).toBe('2026-11-23T04:00:00Z');
    expect(due('2026-11-29T23:59:59Z')).toBe('2026-11-23T04:00:00Z');
    expect(formatInstant(nextDue('0 4 * * 1', at('2026-11-23T04:00:00Z'))!)).toBe('2026-11-30T04:00:00Z');
    expect(formatInstant(nextDue('*/20 * * * * *', now)!)).toBe('2026-11-25T09:00:20Z');
  });

  it('must be a valid cron expression with at least one future occurrence', () => {
    expect(['0 4 29 2 *', '0 4 * * MON'].map(isSchedule)).toEqual([true, true]);
    expect(['0 4 31 2 *', '@weekly', '0 4 * *', ''].map(isSchedule)).toEqual([false, false, false, false]);
  });
});
