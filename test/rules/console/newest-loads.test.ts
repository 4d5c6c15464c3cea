import { expect, it } from 'vitest';
import { newestLoads } from '../../../web/figures/newest-loads.js';

const sample = (instanceId: string, second: number, cpuPercent: number) => ({
  instanceId,
  load: { at: `2026-11-27T12:00:${second}Z`, cpuPercent },
});

it('keeps an event’s sample when a slower response contains an older one', () => {
  const fromEvent = newestLoads(new Map(), [sample('i-1', 20, 90)]);
  const fromResponse = newestLoads(fromEvent, [sample('i-1', 10, 40), sample('i-2', 10, 30)]);
  expect([...fromResponse].map(([id, { cpuPercent }]) => [id, cpuPercent])).toEqual([
    ['i-1', 90],
    ['i-2', 30],
  ]);
  expect(newestLoads(fromResponse, [sample('i-1', 30, 50)]).get('i-1')?.cpuPercent).toBe(50);
});
