import { describe, expect, it } from 'vitest';
import type { Instance } from '../../../web/state/account.js';
import {
  countsOf,
  filteredInstances,
  instanceFilterOf,
  nextSort,
  type Shown,
} from '../../../web/state/instance-filter.js';

const instance = (id: string, changes: object = {}): Instance =>
  ({
    id,
    name: id,
    labels: {},
    status: 'RUNNING',
    stopReason: null,
    runtime: null,
    gpu: 'h100-sxm',
    numGpus: 1,
    region: 'us-tx',
    template: 'pytorch',
    runningSince: '2026-11-27T12:00:00Z',
    ...changes,
  }) as unknown as Instance;

const ALL = [
  instance('i-3', { name: 'train-10', gpu: 'rtx-4090', numGpus: 8, labels: { team: 'vision', stage: 'test' } }),
  instance('i-2', {
    name: 'train-9',
    status: 'STOPPED',
    runningSince: null,
    labels: { team: 'nlp' },
    region: 'de-fra',
  }),
  instance('i-1', {
    template: 'ghcr.io/acme/serve:1.2',
    runtime: { phase: 'PULLING', reachable: true },
    runningSince: '2026-11-26T12:00:00Z',
  }),
];

const RATES: Record<string, bigint> = { 'i-3': 5n, 'i-2': 1n, 'i-1': 5n };
const shown: Shown = {
  model: (slug) => ({ 'h100-sxm': 'NVIDIA H100 SXM5' })[slug] ?? slug,
  location: (code) => ({ 'us-tx': 'Dallas, Texas', 'de-fra': 'Frankfurt' })[code] ?? code,
  load: (id) => ({ 'i-3': 12, 'i-1': 90 })[id] ?? null,
  rate: ({ id }) => RATES[id]!,
  cost: ({ id }) => -RATES[id]!,
};

const found = (search: string): string =>
  filteredInstances(ALL, instanceFilterOf(new URLSearchParams(search)), shown)
    .map(({ id }) => id)
    .join(' ');

describe('the filter of instances', () => {
  it.each([
    // Running instances come first.
    ['', 'i-3 i-1 i-2'],
    ['q=train', 'i-3 i-2'],
    ['q=TRAIN dallas', 'i-3'],
    ['q=i-1', 'i-1'],
    ['q=acme/serve', 'i-1'],
    ['q=h100', 'i-1 i-2'],
    ['q=sxm5 frankfurt', 'i-2'],
    ['q=team%3Dvision', 'i-3'],
    ['q=vision nlp', ''],
    ['status=starting', 'i-1'],
    ['status=stopped', 'i-2'],
    ['model=rtx-4090', 'i-3'],
    ['labels=team', 'i-3 i-2'],
    ['labels=team%3Dvision,stage', 'i-3'],
    ['model=h100-sxm&status=running', ''],
    ['status=nonsense&sort=nonsense', 'i-3 i-1 i-2'],
  ])('finds for "%s" the instances "%s"', (search, ids) => {
    expect(found(search)).toBe(ids);
  });

  it.each([
    // An instance without a name is sorted by what it runs.
    ['name', 'i-1 i-2 i-3'],
    ['-name', 'i-3 i-2 i-1'],
    ['status', 'i-3 i-1 i-2'],
    ['-gpus', 'i-3 i-2 i-1'],
    ['-load', 'i-1 i-3 i-2'],
    ['-uptime', 'i-1 i-3 i-2'],
    ['location', 'i-3 i-1 i-2'],
    ['-rate', 'i-3 i-1 i-2'],
    ['-cost', 'i-2 i-3 i-1'],
  ])('sorts by %s, keeping the order of equal rows', (sort, ids) => {
    expect(found(`sort=${sort}`)).toBe(ids);
  });

  it('is sorted by a column in its own direction, then in the other one, then not at all', () => {
    const clicked = (column: 'name' | 'cost', sort: string | null) =>
      nextSort(instanceFilterOf(new URLSearchParams(sort === null ? '' : { sort })), column);
    expect([clicked('name', null), clicked('name', 'name'), clicked('name', '-name')]).toEqual(['name', '-name', null]);
    expect([clicked('cost', 'name'), clicked('cost', '-cost'), clicked('cost', 'cost')]).toEqual([
      '-cost',
      'cost',
      null,
    ]);
  });

  it('counts the instances of each choice', () => {
    const labels = countsOf(ALL, (one) => Object.entries(one.labels).map(([key, value]) => `${key}=${value}`));
    expect(labels).toEqual([
      ['stage=test', 1],
      ['team=nlp', 1],
      ['team=vision', 1],
    ]);
  });
});
