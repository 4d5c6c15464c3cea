import { describe, expect, it } from 'vitest';
import { chartsOf, type Metrics, marksText, valueText } from '../../../web/figures/load.js';

type Point = Metrics['points'][number];

/** Returns a point that was measured at this second of an hour. */
function measured(second: number, changes: Partial<Point> = {}): Point {
  return {
    at: new Date(second * 1_000).toISOString(),
    cpuPercent: 40,
    memoryUsedBytes: null,
    diskUsedBytes: null,
    networkInBytesPerSecond: null,
    networkOutBytesPerSecond: null,
    gpus: [],
    ...changes,
  };
}

const gpu = { place: 0, busyPercent: 97, busyMaxPercent: 100, powerWatts: null, celsius: null };

describe("the charts of an instance's load", () => {
  it('show a time without a measurement as a gap', () => {
    const { times, charts } = chartsOf({ stepSeconds: 10, points: [measured(0), measured(10), measured(40)] });
    expect(times).toEqual([0, 10, 20, 30, 40]);
    expect(charts.map(({ lines }) => lines.map(({ values }) => values))).toEqual([[[40, 40, null, null, 40]]]);
  });

  it('begin with the load and memory of the GPUs, and leave out what is unknown', () => {
    const gpus = [{ ...gpu, memoryUsedMb: 61_440, memoryTotalMb: 81_920 }];
    const [load, memory, cpu, ...others] = chartsOf({ stepSeconds: 10, points: [measured(0, { gpus })] }).charts;
    expect(load).toMatchObject({ of: 'percent', top: 100, lines: [{ values: [97] }] });
    expect(memory).toMatchObject({ of: 'size', top: 80e9, lines: [{ values: [60e9] }] });
    expect(cpu).toMatchObject({ of: 'percent', lines: [{ values: [40] }] });
    expect(others).toEqual([]);
  });

  it('have an axis up to the instance’s memory if it is known', () => {
    const points = [measured(0, { memoryUsedBytes: 21e9 })];
    expect(chartsOf({ stepSeconds: 10, points }, 64).charts.at(-1)).toMatchObject({ of: 'size', top: 64e9 });
    expect(chartsOf({ stepSeconds: 10, points }).charts.at(-1)).toMatchObject({ of: 'size', top: null });
  });

  it('have units that follow their values', () => {
    const texts = [0, 999, 4_310, 999_960, 2_500_000_000].map((value) => valueText(value, 'rate'));
    expect(texts).toEqual(['0 B/s', '999 B/s', '4.3 kB/s', '1.0 MB/s', '2.5 GB/s']);
    expect(valueText(null, 'percent')).toBe('–');
  });

  it('have marks in one unit per axis', () => {
    expect(marksText([0, 500_000, 1_000_000], 'rate')).toEqual(['0', '0.5 MB/s', '1.0 MB/s']);
    expect(marksText([0, 50, 100], 'percent')).toEqual(['0', '50%', '100%']);
    // Half of an odd size has a decimal. A card's 23.99 GB are 24 GB.
    expect(marksText([0, 11.5e9, 23e9], 'size')).toEqual(['0', '11.5 GB', '23.0 GB']);
    expect(marksText([0, 11.994e9, 23.988e9], 'size')).toEqual(['0', '12 GB', '24 GB']);
  });
});
