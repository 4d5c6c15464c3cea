import { describe, expect, it } from 'vitest';
import { wideNetworkOf } from '../../src/domain/kernel/client-network.js';
import { EVENT_TYPES, eventsOf, usdOf } from '../../src/domain/kernel/events.js';
import { type Account, type Instance, noChanges } from '../../src/domain/kernel/lifecycle.js';

const INTERVAL = {
  instanceId: 'i-1',
  ordinal: 1,
  rate: 1n,
  startedAt: 1n,
  minimumUntil: null,
  keyId: null,
  stopReason: null,
};
const instance = (status: string, stopReason: string | null) =>
  ({ id: 'i-1', accountId: 'acc-1', gpu: 'rtx-4090', machineId: 'm-1', status, stopReason }) as Instance;

describe('events for changed rows', () => {
  it.each([
    ['STOPPED', 'USER', 'instance.stopped'],
    ['STOPPED', 'PREEMPTED', 'instance.preempted'],
    ['STOPPED', 'START_FAILED', 'instance.failed'],
    ['STOPPED', 'BALANCE_EXHAUSTED', 'instance.stopped'],
  ])('report %s with the reason %s as %s, at the time the run ended', (status, reason, type) => {
    const changes = noChanges();
    changes.updated.add(instance(status, reason));
    changes.closed.push({ ...INTERVAL, resource: 'GPU', endedAt: 9n });
    expect(eventsOf(changes, false)).toMatchObject([
      { type, at: 9n, subject: 'i-1', data: { reason: reason.toLowerCase() } },
    ]);
  });

  it('report a destroy only once, and report a start if there is no agent', () => {
    const changes = noChanges();
    changes.updated.add(instance('DESTROYED', 'USER'));
    changes.closed.push({ ...INTERVAL, resource: 'GPU', endedAt: 9n }, { ...INTERVAL, resource: 'DISK', endedAt: 9n });
    expect(eventsOf(changes, true).map(({ type }) => type)).toEqual(['instance.destroyed']);
    const started = noChanges();
    started.created.add(instance('RUNNING', null));
    started.opened.push(
      { ...INTERVAL, resource: 'GPU', endedAt: null },
      { ...INTERVAL, resource: 'DISK', endedAt: null },
    );
    expect(eventsOf(started, true).map(({ type }) => type)).toEqual(['instance.running']);
    expect(eventsOf(started, false)).toEqual([]);
  });

  it('report a credit with its amount, and exhaustion only once', () => {
    const changes = noChanges();
    const entry = { id: 'e-1', accountId: 'acc-1', kind: 'CREDIT' as const, units: 3_600n * 1_500_000n, at: 5n };
    changes.entries.push({ ...entry, instanceId: null, reference: null, note: null });
    changes.accounts.add({ id: 'acc-1', exhaustedAt: 7n, diskDeleteAt: null } as Account);
    changes.accounts.add({ id: 'acc-2', exhaustedAt: null } as Account);
    expect(eventsOf(changes, false)).toMatchObject([
      { type: 'balance.credited', data: { usd: '1.500000' } },
      { type: 'balance.exhausted', at: 7n, once: 'exhausted/7' },
    ]);
  });
});

it('amounts are written in USD with six decimals', () => {
  expect([0n, 1n, -1n, 1_234_567n, -20_000_000n].map(usdOf)).toEqual([
    '0.000000',
    '0.000001',
    '-0.000001',
    '1.234567',
    '-20.000000',
  ]);
});

it('a wide network is a /24 for IPv4 and a /48 for IPv6', () => {
  expect(['203.0.113.9', '::ffff:203.0.113.9', '2001:db8:1:2::7'].map(wideNetworkOf)).toEqual([
    '203.0.113.0/24',
    '203.0.113.0/24',
    '2001:db8:1::/48',
  ]);
});

it('event types follow one naming scheme', () => {
  for (const type of Object.keys(EVENT_TYPES)) expect(type).toMatch(/^[a-z]+\.[a-z_]+$/);
});
