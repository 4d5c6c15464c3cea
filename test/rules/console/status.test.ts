import { describe, expect, it } from 'vitest';
import { statusOf } from '../../../web/figures/status.js';
import type { Instance } from '../../../web/state/account.js';

const of = (status: string, phase: string | null, changes: object = {}) =>
  statusOf({
    status,
    stopReason: null,
    runtime: phase === null ? null : { phase, reachable: true },
    ...changes,
  } as unknown as Instance);

describe('an instance’s state in one word', () => {
  it.each([
    ['WAITING', 'starting', 'stopped'],
    ['PULLING', 'starting', 'stopping'],
    ['RESTORING', 'starting', 'stopping'],
    ['STARTING', 'starting', 'stopping'],
    ['RUNNING', 'running', 'stopping'],
    ['EXITED', 'ended', 'stopped'],
    ['STOPPING', 'stopping', 'stopping'],
    ['SAVING', 'stopping', 'stopping'],
    ['STOPPED', 'starting', 'stopped'],
    ['ERASED', 'starting', 'stopped'],
    ['FAILED', 'failed', 'stopped'],
    ['UNREACHABLE', 'unreachable', 'stopped'],
    [null, 'running', 'stopped'],
  ])('merges the phase %s with a running rental as %s and with a stopped one as %s', (phase, running, stopped) => {
    expect([of('RUNNING', phase), of('STOPPED', phase)]).toEqual([running, stopped]);
  });

  it('is unreachable while a running rental’s machine is, but not once the rental is stopped', () => {
    const runtime = { phase: 'RUNNING', reachable: false };
    expect([of('RUNNING', null, { runtime }), of('STOPPED', null, { runtime })]).toEqual(['unreachable', 'stopped']);
  });

  it('is failed after a failed start, and destroyed regardless of its container', () => {
    expect(of('STOPPED', 'STOPPED', { stopReason: 'START_FAILED' })).toBe('failed');
    expect(of('DESTROYED', 'RUNNING', { stopReason: 'START_FAILED' })).toBe('destroyed');
  });
});
