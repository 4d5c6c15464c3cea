import { describe, expect, it } from 'vitest';
import { PullCounter, type PullLine } from '../../../src/agent/engine/pull-progress.js';

const downloading = (id: string, current: number, total?: number): PullLine => ({
  id,
  status: 'Downloading',
  progressDetail: { current, ...(total !== undefined && { total }) },
});

/** Returns how many bytes have been pulled after these lines. */
function pulledBy(...lines: PullLine[]) {
  const counter = new PullCounter();
  for (const line of lines) counter.add(line);
  return counter.progress;
}

describe("a pull's progress", () => {
  it('is the sum of the downloaded layers', () => {
    expect(pulledBy(downloading('a', 10, 100), downloading('b', 5, 50), downloading('a', 40, 100))).toEqual({
      pulledBytes: 45,
      totalBytes: 150,
    });
  });

  it('never decreases or shows a layer as smaller than its downloaded bytes', () => {
    expect(pulledBy(downloading('a', 40, 100), downloading('a', 10, 100))).toEqual({
      pulledBytes: 40,
      totalBytes: 100,
    });
    expect(pulledBy(downloading('a', 40))).toEqual({ pulledBytes: 40, totalBytes: 40 });
  });

  it('counts a complete layer in full', () => {
    expect(pulledBy(downloading('a', 40, 100), { id: 'a', status: 'Download complete' })).toEqual({
      pulledBytes: 100,
      totalBytes: 100,
    });
    expect(pulledBy(downloading('a', 40, 100), { id: 'a', status: 'Extracting' }).pulledBytes).toBe(40);
    // This layer already existed.
    expect(pulledBy({ id: 'b', status: 'Download complete' })).toEqual({ pulledBytes: 0, totalBytes: 0 });
  });

  it.each<[string, PullLine]>([
    ['a line without a layer', { status: 'Downloading', progressDetail: { current: 7, total: 7 } }],
    ['another status', { id: 'a', status: 'Extracting', progressDetail: { current: 7, total: 7 } }],
    ['no detail', { id: 'a', status: 'Downloading' }],
    ['a detail without a number', { id: 'a', status: 'Downloading', progressDetail: {} }],
  ])('does not count %s', (_, line) => {
    expect(pulledBy(line)).toEqual({ pulledBytes: 0, totalBytes: 0 });
  });

  it('includes only the first thousand layers', () => {
    const many = Array.from({ length: 1_005 }, (_, index) => downloading(`layer-${index}`, 1, 2));
    expect(pulledBy(...many)).toEqual({ pulledBytes: 1_000, totalBytes: 2_000 });
    expect(pulledBy(...many, downloading('layer-0', 2, 2)).pulledBytes).toBe(1_001);
  });
});
