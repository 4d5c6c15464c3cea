import { describe, expect, it } from 'vitest';
import {
  type ContainerPhase,
  desiredPhases,
  isLate,
  type KnownContainer,
  within,
  without,
} from '../../src/domain/kernel/fleet.js';

function container(instanceId: string, changes: Partial<KnownContainer> = {}): KnownContainer {
  const rental = { status: 'RUNNING', gpuIntervals: 1, firstGpu: 0, numGpus: 1 } as const;
  return { instanceId, ...rental, phase: 'RUNNING', start: 1, sentStart: 1, ...changes };
}

const desired = (...containers: KnownContainer[]) =>
  Object.fromEntries([...desiredPhases(containers)].map(([{ instanceId }, phase]) => [instanceId, phase]));

const fresh = container('new', { phase: 'WAITING', start: 0, sentStart: 0 });

describe('desiredPhases', () => {
  it("follows each rental's status", () => {
    expect(desired()).toEqual({});
    expect(desired(fresh)).toEqual({ new: 'running' });
    expect(desired(container('a', { status: 'STOPPED' }), container('b', { status: 'DESTROYED' }))).toEqual({
      a: 'stopped',
      b: 'absent',
    });
  });

  it('omits a container that the machine never received', () => {
    for (const status of ['STOPPED', 'DESTROYED'] as const) {
      expect(desired(container('a', { status, phase: 'WAITING', start: 0, sentStart: 0 }))).toEqual({});
    }
  });

  it('holds a container back until all others have been seen to end', () => {
    const past = (changes: Partial<KnownContainer>) => container('old', { status: 'STOPPED', ...changes });
    for (const phase of ['WAITING', 'PULLING', 'STARTING', 'RUNNING', 'STOPPING'] satisfies ContainerPhase[]) {
      expect(desired(past({ phase }), fresh)).toEqual({ old: 'stopped' });
    }
    for (const phase of ['STOPPED', 'FAILED', 'ERASED'] satisfies ContainerPhase[]) {
      expect(desired(past({ phase }), fresh)).toEqual({ old: 'stopped', new: 'running' });
      // The report was about the end of the previous start, and nothing from the newest one has been seen yet.
      expect(desired(past({ phase, gpuIntervals: 2, start: 1, sentStart: 2 }), fresh)).toEqual({ old: 'stopped' });
    }
  });

  it('does not wait for containers on other GPUs', () => {
    const old = container('old', { status: 'STOPPED', phase: 'STOPPING', firstGpu: 1, numGpus: 1 });
    expect(desired(old, fresh)).toEqual({ old: 'stopped', new: 'running' });
    expect(desired(old, { ...fresh, numGpus: 2 })).toEqual({ old: 'stopped' });
  });

  it('keeps a run stopped until its next start is allowed, unless already sent', () => {
    const other = container('other', { status: 'STOPPED', phase: 'STOPPING' });
    const again = container('mine', { phase: 'STOPPED', gpuIntervals: 2, sentStart: 1 });
    expect(desired(again, other)).toEqual({ mine: 'stopped', other: 'stopped' });
    expect(desired({ ...again, sentStart: 2 }, other)).toEqual({ mine: 'running', other: 'stopped' });
  });

  it('holds back a new start until the previous one has been seen to end', () => {
    const again = container('mine', { gpuIntervals: 2, sentStart: 1 });
    expect(desired({ ...again, phase: 'STOPPING' })).toEqual({ mine: 'stopped' });
    expect(desired({ ...again, phase: 'STOPPED' })).toEqual({ mine: 'running' });
  });
});

describe('within', () => {
  const bounds = { from: 10n, to: 20n };
  it('returns the part that both spans share', () => {
    expect(within({ from: 0n, to: 30n }, bounds)).toEqual(bounds);
    expect(within({ from: 12n, to: 30n }, bounds)).toEqual({ from: 12n, to: 20n });
    expect(within({ from: 0n, to: 11n }, bounds)).toEqual({ from: 10n, to: 11n });
  });

  it('returns null if the spans only touch', () => {
    expect(within({ from: 0n, to: 10n }, bounds)).toBeNull();
    expect(within({ from: 20n, to: 30n }, bounds)).toBeNull();
  });
});

describe('without', () => {
  it('returns every uncredited second, however the gaps are ordered or overlap', () => {
    const span = { from: 10n, to: 15n };
    const seconds = Array.from({ length: 10 }, (_, index) => BigInt(8 + index));
    const has = ({ from, to }: { from: bigint; to: bigint }, second: bigint) => from <= second && second < to;
    const gaps = seconds.flatMap((from) => seconds.filter((to) => to > from).map((to) => ({ from, to })));
    for (const one of gaps) {
      for (const other of gaps) {
        const left = without(span, [one, other]);
        const expected = seconds.filter((at) => has(span, at) && !has(one, at) && !has(other, at));
        expect(seconds.filter((at) => left.some((part) => has(part, at)))).toEqual(expected);
        // No second appears twice, no span is empty, and the spans are sorted.
        expect(left.reduce((sum, { from, to }) => sum + (to - from), 0n)).toBe(BigInt(expected.length));
        for (const [index, { from, to }] of left.entries()) {
          expect(from < to && (index === 0 || left[index - 1]!.to < from)).toBe(true);
        }
      }
    }
  });

  it('returns the whole span if there are no gaps', () => {
    expect(without({ from: 1n, to: 2n }, [])).toEqual([{ from: 1n, to: 2n }]);
  });
});

describe('isLate', () => {
  const known = { session: 'b', sequence: 7n, pastSessions: ['a'] };
  it('is true for overtaken and repeated reports, and for those from a past run', () => {
    expect(isLate({ session: 'b', sequence: 6n }, known)).toBe(true);
    expect(isLate({ session: 'b', sequence: 7n }, known)).toBe(true);
    expect(isLate({ session: 'a', sequence: 99n }, known)).toBe(true);
  });

  it('is false for the next report and for the first one of a new run', () => {
    expect(isLate({ session: 'b', sequence: 8n }, known)).toBe(false);
    expect(isLate({ session: 'c', sequence: 1n }, known)).toBe(false);
    expect(isLate({ session: 'a', sequence: 1n }, { session: null, sequence: 0n, pastSessions: [] })).toBe(false);
  });
});
