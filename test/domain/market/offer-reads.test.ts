import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { OfferIndex } from '../../../src/domain/inventory/offer-index.js';
import { checkFilter, pageOf } from '../../../src/domain/inventory/offer-search.js';
import { criteriaOf } from '../../../src/domain/inventory/rules/offer-filter.js';
import { offeredHost, PLAIN } from '../../support/market/naive-host.js';

/**
 * Number of reads of groups' columns. Groups keep their machines in columns, so checking a machine reads its place in
 * one column.
 */
let reads = 0;

function counted(column: Int32Array): Int32Array {
  return new Proxy(column, {
    get(of, place) {
      reads += 1;
      const value = Reflect.get(of, place);
      return typeof value === 'function' ? value.bind(of) : value;
    },
    set: (of, place, value) => Reflect.set(of, place, value),
  });
}

// The module can't be mocked, because an earlier test file in this process may have loaded it.
beforeAll(() => {
  const construct = (type: typeof Int32Array, given: unknown[]) => counted(Reflect.construct(type, given));
  vi.stubGlobal('Int32Array', new Proxy(Int32Array, { construct }));
});
afterAll(() => void vi.unstubAllGlobals());

const MODELS = new Map([['a', { onDemandRate: 100_000n, tier: 'CONSUMER', vramGb: 24 } as const]]);

const GROUPS = 100;

/** Returns how many reads a search takes if every other machine in each group is large enough. */
function readsOf(machines: number, size: { diskGbMin?: number } = {}): number {
  const hosts = Array.from({ length: machines }, (_, number) => ({
    ...PLAIN,
    hostId: `m-${String(number).padStart(6, '0')}`,
    region: `r-${number % GROUPS}`,
    vcpus: Math.floor(number / GROUPS) % 2 === 0 ? 32 : 64,
  }));
  const index = new OfferIndex(MODELS, hosts.map(offeredHost));
  const criteria = criteriaOf(checkFilter({ vcpusMin: 64, ...size }));
  reads = 0;
  const range = { after: null, before: null, limit: 25, fromEnd: false };
  const { offers, total } = pageOf(index, criteria, { sort: 'PRICE', ...range });
  const count = reads;
  expect([offers.length, total]).toEqual([25, machines / 2]);
  return count;
}

test('a search by size reads no more machines if ten times as many exist', () => {
  expect(readsOf(4_000)).toBeLessThanOrEqual(readsOf(400));
  // For a search by disk size, machines are checked individually.
  expect(readsOf(2_000, { diskGbMin: 1 })).toBeGreaterThan(2_000);
});
