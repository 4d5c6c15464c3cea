import { describe, expect, it } from 'vitest';
import {
  addMonths,
  dateOf,
  dateOfDay,
  formatDay,
  formatInstant,
  instantOf,
  isDay,
  latest,
  monthStartOf,
  notBefore,
  parseInstant,
  secondOf,
} from '../../src/domain/kernel/time.js';

const at = (text: string) => instantOf(new Date(text));

describe('instants', () => {
  it('are truncated to whole seconds, not rounded', () => {
    expect(instantOf(new Date('2026-11-20T12:00:00.999Z'))).toBe(at('2026-11-20T12:00:00Z'));
    expect(instantOf(new Date(-1))).toBe(-1n);
    expect(instantOf(new Date(0))).toBe(0n);
  });

  it('are written in UTC with whole seconds', () => {
    expect(formatInstant(at('2026-11-20T09:43:00Z'))).toBe('2026-11-20T09:43:00Z');
    expect(formatInstant(at('2026-11-20T09:43:00+05:00'))).toBe('2026-11-20T04:43:00Z');
    expect(dateOf(1n).toISOString()).toBe('1970-01-01T00:00:01.000Z');
  });

  it.each([
    ['2028-02-29T23:59:59Z', '2028-02-29T23:59:59Z'],
    ['2026-11-20T09:43:00.999999999+05:00', '2026-11-20T04:43:00Z'],
    ['1970-01-01T00:00:00-00:01', '1970-01-01T00:01:00Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z'],
  ])('%s is read as %s', (text, instant) => expect(formatInstant(parseInstant(text)!)).toBe(instant));

  it.each([
    '2027-02-31T00:00:00Z',
    '2027-02-29T12:00:00+02:00',
    '2026-04-31T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:00:60Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00+01:60',
    '2026-00-10T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '1970-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
    '0000-01-01T00:00:00Z',
    '+002026-01-01T00:00:00Z',
    '2026-01-01T00:00:00',
    '2026-01-01T00:00Z',
    '2026-01-01 00:00:00Z',
    '2026-01-01',
    ' 2026-01-01T00:00:00Z',
    '2026-01-01T00:00:00Z\n',
    `2026-01-01T00:00:00.${'1'.repeat(1_000)}Z`,
    '',
  ])('%j is not an instant', (text) => expect(parseInstant(text)).toBeNull());

  it('can be compared to find the latest', () => {
    expect(latest(3n)).toBe(3n);
    expect(latest(3n, 5n, 4n)).toBe(5n);
    expect(latest(-3n, -5n)).toBe(-3n);
  });
});

describe('monthStartOf', () => {
  it.each([
    ['2026-11-20T12:00:00Z', '2026-11-01T00:00:00Z'],
    ['2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z'],
    ['2026-10-31T23:59:59Z', '2026-10-01T00:00:00Z'],
    ['2028-02-29T23:59:59Z', '2028-02-01T00:00:00Z'],
    ['2027-01-01T00:00:00Z', '2027-01-01T00:00:00Z'],
  ])('for %s is %s', (instant, start) => {
    expect(formatInstant(monthStartOf(at(instant)))).toBe(start);
  });
});

describe('addMonths', () => {
  it.each([
    ['2026-11-20T12:34:56Z', 3, '2027-02-20T12:34:56Z'],
    ['2026-11-30T10:20:30Z', 3, '2027-02-28T10:20:30Z'],
    ['2027-11-30T10:20:30Z', 3, '2028-02-29T10:20:30Z'],
    ['2026-12-31T23:59:59Z', 3, '2027-03-31T23:59:59Z'],
    ['2027-01-31T00:00:00Z', 3, '2027-04-30T00:00:00Z'],
    ['2026-08-31T00:00:00Z', 3, '2026-11-30T00:00:00Z'],
    ['2028-02-29T01:00:00Z', 3, '2028-05-29T01:00:00Z'],
    ['2028-02-29T01:00:00Z', 12, '2029-02-28T01:00:00Z'],
    ['2026-10-15T00:00:00Z', 15, '2028-01-15T00:00:00Z'],
    ['2026-03-31T05:00:00Z', -1, '2026-02-28T05:00:00Z'],
    ['2026-11-20T00:00:00Z', 0, '2026-11-20T00:00:00Z'],
    ['1969-10-31T23:59:59Z', 1, '1969-11-30T23:59:59Z'],
  ])('%s + %d is %s', (instant, months, result) => {
    expect(formatInstant(addMonths(at(instant), months))).toBe(result);
  });
});

describe('days', () => {
  it('are calendar days in UTC', () => {
    expect(formatDay(new Date('2026-11-20T23:59:59.999Z'))).toBe('2026-11-20');
    expect(dateOfDay('2026-11-20').toISOString()).toBe('2026-11-20T00:00:00.000Z');
    for (const day of ['2026-11-20', '2028-02-29', '0001-01-01', '9999-12-31']) expect(isDay(day), day).toBe(true);
    const others = ['', '2026-02-29', '2026-02-31', '2026-13-01', '2026-00-10', '2026-11-31', '2026-1-1', '20261120'];
    for (const day of [...others, '2026-11-20T00:00:00Z', ' 2026-11-20', '2026-11-20\n', '02026-11-20', 'today'])
      expect(isDay(day), day).toBe(false);
  });
});

describe("an event's second", () => {
  it('spans the event, or is empty if the event falls exactly on a boundary', () => {
    expect([999, 1_000, 1_001, 1_999].map(secondOf)).toEqual([
      { at: 0n, end: 1n },
      { at: 1n, end: 1n },
      { at: 1n, end: 2n },
      { at: 1n, end: 2n },
    ]);
  });

  it('is never before the known time, even if a clock steps back', () => {
    expect(notBefore(5n, { at: 4n, end: 4n })).toEqual({ at: 5n, end: 6n });
    expect(notBefore(5n, { at: 5n, end: 5n })).toEqual({ at: 5n, end: 5n });
    expect(notBefore(5n, { at: 6n, end: 7n })).toEqual({ at: 6n, end: 7n });
  });
});
