import { describe, expect, it } from 'vitest';
import { runsOf } from '../../../web/figures/activity-runs.js';

const entry = (seconds: number, changes: Partial<Parameters<typeof runsOf>[0][number]> = {}) => ({
  at: new Date(1_795_000_000_000 - seconds * 1_000).toISOString(),
  operation: 'createVolume',
  keyId: 'key-1',
  byConsole: false,
  address: '192.0.2.1',
  code: null,
  ...changes,
});

const sizes = (...entries: ReturnType<typeof entry>[]) => runsOf(entries).map((run) => run.length);

describe('runs of activity', () => {
  it('group the same action from the same source within five minutes', () => {
    expect(sizes()).toEqual([]);
    expect(sizes(entry(0), entry(300), entry(600), entry(901))).toEqual([3, 1]);
    expect(sizes(entry(0, { operation: 'deploy' }), entry(1, { operation: 'deployBest' }))).toEqual([2]);
  });

  it.each([{ operation: 'deleteVolume' }, { keyId: 'key-2' }, { byConsole: true }, { address: '192.0.2.2' }])(
    'end at a different %o',
    (changes) => {
      expect(sizes(entry(0), entry(1, changes), entry(2))).toEqual([1, 1, 1]);
    },
  );

  it('never contain a refused entry', () => {
    const refused = { code: 'forbidden' };
    expect(sizes(entry(0), entry(1, refused), entry(2, refused), entry(3))).toEqual([1, 1, 1, 1]);
  });
});
