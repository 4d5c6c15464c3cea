import { expect, test, vi } from 'vitest';
import { OfferIndex } from '../../../src/domain/inventory/offer-index.js';
import { checkFilter, pageOf } from '../../../src/domain/inventory/offer-search.js';
import { criteriaOf } from '../../../src/domain/rules/offer-filter.js';
import { offeredHost, PLAIN } from '../../support/market/naive-host.js';

/** Groups keep their machines in columns: who looks at a machine reads its place. Null: not counted. */
const reads = vi.hoisted(() => ({ count: null as number | null }));

vi.mock('../../../src/domain/inventory/int-column.js', async (original) => {
  const { IntColumn } = await original<typeof import('../../../src/domain/inventory/int-column.js')>();
  return {
    IntColumn: class extends IntColumn {
      constructor() {
        super();
        let { values } = this;
        const counted: ProxyHandler<typeof values> = {
          get(of, place) {
            reads.count! += 1;
            return Reflect.get(of, place);
          },
        };
        Object.defineProperty(this, 'values', {
          get: () => (reads.count === null ? values : new Proxy(values, counted)),
          set: (longer: typeof values) => {
            values = longer;
          },
        });
      }
    },
  };
});

const MODELS = new Map([['a', { onDemandRate: 100_000n, tier: 'CONSUMER', vramGb: 24 } as const]]);

const GROUPS = 100;

/** In each group every other machine is large enough for the search. */
function readsOf(machines: number, size: { diskGbMin?: number } = {}): number {
  const hosts = Array.from({ length: machines }, (_, number) => ({
    ...PLAIN,
    hostId: `m-${String(number).padStart(6, '0')}`,
    region: `r-${number % GROUPS}`,
    vcpus: Math.floor(number / GROUPS) % 2 === 0 ? 32 : 64,
  }));
  const index = new OfferIndex(MODELS, hosts.map(offeredHost));
  const criteria = criteriaOf(checkFilter({ vcpusMin: 64, ...size }));
  reads.count = 0;
  const range = { after: null, before: null, limit: 25, fromEnd: false };
  const { offers, total } = pageOf(index, criteria, { sort: 'PRICE', ...range });
  const { count } = reads;
  reads.count = null;
  expect([offers.length, total]).toEqual([25, machines / 2]);
  return count;
}

test('a search by size looks at no more machines when there are ten times as many', () => {
  expect(readsOf(4_000)).toBeLessThanOrEqual(readsOf(400));
  // By disk they are counted one by one.
  expect(readsOf(2_000, { diskGbMin: 1 })).toBeGreaterThan(2_000);
});
