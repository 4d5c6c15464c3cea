import { expect, it } from 'vitest';
import { type Block, levelFilter } from '../../../web/state/log-lines.js';
import { phasesAfter, type TimelineEntry } from '../../../web/state/timeline.js';

/** Returns entries of these kinds, one per minute, newest first. */
const entries = (...kinds: TimelineEntry['kind'][]) =>
  kinds.map((kind, index) => ({ kind, at: new Date((kinds.length - index) * 60_000).toISOString() }));

it('names the state after each event and the second in which it began', () => {
  expect(phasesAfter(entries('CHANGED', 'STOPPED', 'CHANGED', 'RUNNING', 'RENTED'), true)).toEqual([
    { state: 'stopped', since: 240 },
    { state: 'stopped', since: 240 },
    { state: 'running', since: 120 },
    { state: 'running', since: 120 },
    { state: 'starting', since: 60 },
  ]);
});

it('knows no state before the first event read, and needs no container without a host agent', () => {
  expect(phasesAfter(entries('STARTED', 'CHANGED'), false)).toEqual([{ state: 'running', since: 120 }, null]);
});

it('is unreachable only while the instance would otherwise run', () => {
  expect(
    phasesAfter(entries('REACHABLE', 'UNREACHABLE', 'STOPPED', 'REACHABLE', 'UNREACHABLE', 'RUNNING'), true),
  ).toEqual([
    { state: 'stopped', since: 240 },
    { state: 'stopped', since: 240 },
    { state: 'stopped', since: 240 },
    { state: 'running', since: 180 },
    { state: 'unreachable', since: 120 },
    { state: 'running', since: 60 },
  ]);
});

it('narrows a log to a level and keeps the blocks that didn’t change', () => {
  const block = (key: number, ...levels: ('bad' | 'warn' | null)[]): Block => ({
    key,
    lines: levels.map((level, index) => ({
      key: key + index,
      number: key + index,
      time: '',
      isError: false,
      text: '',
      level,
    })),
  });
  const whole = [block(1, 'bad', null, 'warn'), block(4, null)];
  const narrow = levelFilter('bad');
  const first = narrow(whole);
  expect(first.map(({ lines }) => lines.map(({ key }) => key))).toEqual([[1]]);
  expect(narrow([...whole, block(5, 'bad')])[0]).toBe(first[0]);
  expect(levelFilter('all')(whole)).toBe(whole);
});
