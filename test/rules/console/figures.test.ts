import { describe, expect, it } from 'vitest';
import { NOTES } from '../../../src/domain/fleet/service-gaps.js';
import { csv } from '../../../web/figures/csv.js';
import { startOfDay } from '../../../web/figures/day.js';
import { equalOffers } from '../../../web/figures/equal-offers.js';
import { compareFits, type FitOrder } from '../../../web/figures/fit-order.js';
import { kindsFirst } from '../../../web/figures/kinds-first.js';
import { levelOf } from '../../../web/figures/log-level.js';
import { accrued, exact, loneRate, micro, plainUsd, rate, sum, usd } from '../../../web/figures/money.js';
import { serviceCreditText } from '../../../web/figures/service-credit.js';
import { ticks, tickText } from '../../../web/figures/ticks.js';
import { ago, columnTime, duration, hoursMinutesSeconds, uptime } from '../../../web/figures/time.js';
import { visible } from '../../../web/figures/visible.js';
import { joinWords, splitWords } from '../../../web/figures/words.js';
import { clockAhead, sentNow, serverNow, setServiceTime } from '../../../web/state/clock.js';
import { matchesModel } from '../../../web/state/model-search.js';
import { texts as german } from '../../../web/texts/de/statement.js';

it.each([
  ['2026-11-30', 0, '2026-11-30T00:00:00.000Z'],
  ['2026-11-30', 86_400_000, '2026-12-01T00:00:00.000Z'],
  ['2027-02-31', 0, null],
  ['2026-13-01', 0, null],
  [null, 0, null],
])("the URL's day %s plus %s ms begins at %s", (day, later, instant) => {
  expect(startOfDay(day, later)).toBe(instant);
});

it.each([
  ['ERROR: out of memory', 'bad'],
  ['Traceback (most recent call last):', 'bad'],
  ['torch.OutOfMemoryError: CUDA out of memory', 'bad'],
  ['{"level":"error","msg":"lost"}', 'bad'],
  ['2026-11-27 17:00:12 WARNING skipped a step', 'warn'],
  ['step 100 loss 1.2 errors 0', null],
  ['terror and forewarning', null],
  ['', null],
])('the log line "%s" has level %s', (line, level) => {
  expect(levelOf(line)).toBe(level);
});

describe('money on the page', () => {
  it("is exact because the API's six decimals are whole micro-USD", () => {
    expect([0.000001, 0.1, 99.992308, 1e6 + 0.000001, -2.5].map(micro)).toEqual([
      1n,
      100_000n,
      99_992_308n,
      1_000_000_000_001n,
      -2_500_000n,
    ]);
  });

  it.each([
    [99_999_999n, 2, '99.99'],
    [100_000_000n, 2, '100.00'],
    [-1n, 2, '−0.01'],
    [-10_000n, 2, '−0.01'],
    [0n, 4, '0.0000'],
    [1_234_567_890_123n, 2, '1,234,567.89'],
    [5_000_000n, 0, '5'],
  ])('%s is shown with %s decimals as %s, never rounded up', (amount, decimals, text) => {
    expect(usd(amount, decimals)).toBe(text);
  });

  it.each([
    [-1_234_567_890_123n, '-1234567.890123'],
    [-1n, '-0.000001'],
    [0n, '0.000000'],
  ])('%s is written as %s for other programs', (amount, text) => {
    expect(plainUsd(amount)).toBe(text);
  });

  it.each([
    [440_000n, '0.44', '0.440'],
    [2_190_000n, '2.19', '2.190'],
    [286_000n, '0.286', '0.286'],
    [1_423_500n, '1.424', '1.424'],
    [1_423_499n, '1.423', '1.423'],
    [2_190_001n, '2.190', '2.190'],
    [500n, '0.001', '0.001'],
    [499n, '<0.001', '<0.001'],
    [0n, '0.00', '0.000'],
    [1_234_567_890n, '1,234.568', '1,234.568'],
  ])('the rate %s is shown as %s, and in a list as %s', (amount, alone, inList) => {
    expect([loneRate(amount), rate(amount)]).toEqual([alone, inList]);
  });

  it.each([
    [1_234_567_890n, '1,234.56', '1,234.567890'],
    [9_999n, '<0.01', '0.009999'],
    [0n, '0.00', '0.000000'],
    [-1n, '−0.01', '−0.000001'],
    [-10_000n, '−0.01', '−0.010000'],
  ])('the sum %s is shown as %s and exactly as %s', (amount, text, all) => {
    expect([sum(amount), exact(amount)]).toEqual([text, all]);
  });

  it('accrues per second and is rounded down', () => {
    expect(accrued(440_000n, 82)).toBe(10_022n);
    expect(accrued(1n, 3_599)).toBe(0n);
    expect(accrued(1n, 3_600)).toBe(1n);
  });
});

describe('time spans', () => {
  it.each([
    [0, '0 s'],
    [59, '59 s'],
    [125, '2 min 5 s'],
    [3_600, '1 h'],
    [90_000, '1 d 1 h'],
    [86_400 * 9 + 59, '9 d'],
  ])('%s s are shown as %s', (seconds, text) => {
    expect(duration(seconds)).toBe(text.replaceAll(' ', '\u00a0'));
  });

  it.each([
    [-59, 'just now'],
    [59, 'in a moment'],
    [-60, '1 minute ago'],
    [-7_199, '1 hour ago'],
    [3 * 86_400 + 5, 'in 3 days'],
    [-30 * 86_400, '2 Jan 2027'],
  ])('a time %s seconds from now is shown as "%s"', (offset, text) => {
    const now = Date.UTC(2027, 1, 1, 12) / 1_000;
    expect(ago(now + offset, now)).toBe(text);
  });

  it('count down every second', () => {
    expect([86_399, 3_600, 61, 0].map(hoursMinutesSeconds)).toEqual(['23:59:59', '01:00:00', '00:01:01', '00:00:00']);
  });
});

describe('text from others', () => {
  it('shows control characters as escape sequences', () => {
    expect(visible('a\u202eb\u009b31m\u2066\u0007\tü 漢')).toBe('a\\u202eb\\u009b31m\\u2066\\u0007\tü 漢');
  });
});

describe('a statement as CSV', () => {
  it('is quoted where necessary and contains no formulas', () => {
    expect(csv([['a,b', 'say "hi"', '=1+1', '@x', '-2.5', 'plain']])).toBe(
      '"a,b","say ""hi""",\'=1+1,\'@x,-2.5,plain\r\n',
    );
  });
});

it('shows the year of a time in a column only if the month could be mistaken for another year’s', () => {
  const now = Date.parse('2026-11-27T12:00:00Z') / 1_000;
  expect(columnTime(now - 86_400, now)).toMatch(/^26 Nov, \d\d:\d\d$/);
  expect(columnTime(now - 340 * 86_400, now)).toBe('22 Dec 2025');
});

it.each([
  [-1, '<1 min'],
  [59, '<1 min'],
  [119, '1 min'],
  [3_600, '1 h'],
  [11_579, '3 h 12 min'],
  [356_459, '4 d 3 h'],
])('an uptime of %s s is shown in whole minutes as %s', (seconds, text) => {
  expect(uptime(seconds).replaceAll('\u00a0', ' ')).toBe(text);
});

describe('a chart axis', () => {
  it.each([
    [0.038662, ['0.00', '0.01', '0.02', '0.03', '0.04']],
    [5.95, ['0', '2', '4', '6']],
    [0.3, ['0.0', '0.1', '0.2', '0.3']],
    [1, ['0.0', '0.2', '0.4', '0.6', '0.8', '1.0']],
    [1_234, ['0', '500', '1000', '1500']],
    [0.000001, ['0.0000000', '0.0000002', '0.0000004', '0.0000006', '0.0000008', '0.0000010']],
  ])('up to %s has round ticks at %j', (most, texts) => {
    const values = ticks(most);
    expect(values.map((value) => tickText(value, values[1]!))).toEqual(texts);
  });

  it('ends with a tick above the highest value, and keeps it if drawn again', () => {
    expect(ticks(13_300_000, 3)).toEqual([0, 5_000_000, 10_000_000, 15_000_000]);
    for (const most of [8, 13, 35, 41, 99]) expect(ticks(ticks(most, 3).at(-1)!, 3)).toEqual(ticks(most, 3));
  });
});

describe('a model search', () => {
  const all = [
    { slug: 'h100-sxm', name: 'NVIDIA H100 SXM5' },
    { slug: 'h100-nvl', name: 'NVIDIA H100 NVL' },
    { slug: 'h100-pcie', name: 'NVIDIA H100 PCIe' },
    { slug: 'rtx-4090', name: 'NVIDIA GeForce RTX 4090' },
    { slug: 'l40s', name: 'NVIDIA L40S' },
  ];

  it.each([
    ['h100', ['h100-sxm', 'h100-nvl', 'h100-pcie']],
    ['  H100   pcie ', ['h100-pcie']],
    ['pcie h-100', ['h100-pcie']],
    ['rtx4090', ['rtx-4090']],
    ['RTX 4090, l40s', ['rtx-4090', 'l40s']],
    ['4090,', ['rtx-4090']],
    ['h100 4090', []],
    ['b300', []],
    [' , ', all.map(({ slug }) => slug)],
  ])('for %j finds %j', (typed, slugs) => {
    expect(all.filter((model) => matchesModel(typed, model)).map(({ slug }) => slug)).toEqual(slugs);
  });
});

describe("a command's words", () => {
  it.each([
    ['python train.py  --x 1', ['python', 'train.py', '--x', '1']],
    [`sh -c "echo \\"a b\\"" '' c\\ d`, ['sh', '-c', 'echo "a b"', '', 'c d']],
    [`'it'\\''s' "$X"'y'`, [`it's`, '$Xy']],
    ['', []],
    ['a "b', null],
    [`a 'b`, null],
  ])('are split correctly in %s', (line, words) => {
    expect(splitWords(line)).toEqual(words);
  });

  it('survive being joined into a line and split again', () => {
    const words = ['a', '', ' b', `it's`, '"', '\\', '\n', '$HOME;`x`', '*'];
    expect(splitWords(joinWords(words))).toEqual(words);
  });
});

describe("the page's clock", () => {
  const now = Math.floor(Date.now() / 1_000);
  const sentBefore = (seconds: number) => {
    const { wall, at } = sentNow();
    return { wall: wall - seconds * 1_000, at: at - seconds * 1_000 };
  };

  it('doesn’t mistake a slow response for a wrong clock or an earlier time', () => {
    setServiceTime(now, sentBefore(0));
    setServiceTime(now - 15, sentBefore(15));
    expect([clockAhead.value, now - serverNow.value]).toEqual([0, 0]);
    // An event may arrive just as late.
    setServiceTime(now - 15, null);
    expect([clockAhead.value, now - serverNow.value]).toEqual([0, 0]);
  });

  it.each([
    [-180, 0],
    [180, 0],
    [-180, 15],
  ])('detects an offset of %s s from the service when a response takes %s s', (off, took) => {
    setServiceTime(now + off - took, sentBefore(took));
    expect(Math.sign(clockAhead.value)).toBe(-Math.sign(off));
    expect(Math.abs(Math.abs(clockAhead.value) - 180)).toBeLessThanOrEqual(took + 1);
    expect(Math.abs(serverNow.value - now - off)).toBeLessThanOrEqual(took + 1);
  });
});

describe('service credits on the page', () => {
  it('have a text for each reason of the service', () => {
    expect(Object.keys(german.reasons).toSorted()).toEqual(Object.values(NOTES).toSorted());
  });

  it.each([
    [
      'GPU, 125 s: the template did not start in time',
      'GPUs, 2\u00a0min\u00a05\u00a0s: the template didn’t start in time',
    ],
    ['disk, 1 s: the machine was unreachable', 'disk, 1\u00a0s: the machine was unreachable'],
    ['GPU, 1 s: another reason', 'GPU, 1 s: another reason'],
  ])('%s', (note, text) => {
    expect(serviceCreditText(note)).toBe(text);
  });
});

it('a list begins with the first machine of each kind and otherwise keeps its order', () => {
  const machines = ['1 a', '1 a', '2 a', '1 b', '2 a', '1 b'].map((kind, id) => {
    const [numGpus, gpu] = kind.split(' ') as [string, string];
    return { id, gpu, numGpus: Number(numGpus) };
  });
  expect(kindsFirst(machines).map(({ id }) => id)).toEqual([0, 2, 3, 1, 4, 5]);
});

it('a list groups offers that differ only in hardware and loses none', () => {
  const offer = (machineId: string, changes: object = {}) => ({
    ...{ machineId, gpu: 'l4', numGpus: 1, region: 'us-tx', nvlink: false, demo: true, hasAgent: false },
    ...{ preemptible: false, pricePerHour: { onDemand: 0.5 } },
    ...changes,
  });
  const offers = [
    offer('a'),
    offer('b', { region: 'us-ca' }),
    offer('c'),
    offer('d', { pricePerHour: { onDemand: 0.6 } }),
    offer('e', { hasAgent: true }),
    offer('f', { numGpus: 2 }),
    offer('g', { region: 'us-ca' }),
  ];
  const groups = equalOffers(offers).map(({ offers: equal }) => equal.map(({ machineId }) => machineId).join(''));
  expect(groups).toEqual(['ac', 'bg', 'd', 'e', 'f']);
});

describe('machines for a language model', () => {
  interface Sized {
    numGpus: number;
    price: bigint;
    bandwidth: number | undefined;
    hasAgent: boolean;
  }
  const sized = (numGpus: number, price: bigint, bandwidth = 1_000, hasAgent = true): Sized => ({
    ...{ numGpus, price, bandwidth, hasAgent },
  });
  const sorted = (order: FitOrder, all: readonly Sized[]) =>
    all.toSorted((one, other) => compareFits(order, one, other));

  it('are recommended by bandwidth per USD, and running ones come first', () => {
    const [best, slow, dear, silent] = [
      sized(1, 120n, 1_008),
      sized(1, 100n, 500),
      sized(1, 440n, 1_008),
      sized(1, 1n, 9_000, false),
    ];
    expect(sorted('RECOMMENDED', [silent, dear, slow, best])).toEqual([best, slow, dear, silent]);
  });

  it('are recommended with two GPUs only for four times the bandwidth per USD of one', () => {
    const single = sized(1, 100n, 1_000);
    expect(sorted('RECOMMENDED', [sized(2, 50n, 1_999), single])[0]).toEqual(single);
    expect(sorted('RECOMMENDED', [single, sized(2, 50n, 2_001)])[0]).toEqual(sized(2, 50n, 2_001));
    expect(sorted('RECOMMENDED', [single, sized(4, 50n, 7_999)])[0]).toEqual(single);
    expect(sorted('RECOMMENDED', [single, sized(3, 50n, 8_001)])[0]).toEqual(sized(3, 50n, 8_001));
  });

  it('come last if their bandwidth is unknown, the cheapest and smallest first', () => {
    const [known, cheap, pair, dear] = [
      sized(1, 900n, 1),
      { ...sized(1, 1n), bandwidth: undefined },
      { ...sized(2, 1n), bandwidth: undefined },
      { ...sized(1, 2n), bandwidth: undefined },
    ];
    expect(sorted('RECOMMENDED', [dear, pair, cheap, known])).toEqual([known, cheap, pair, dear]);
  });

  it('are ordered by price, or by the bandwidth of each GPU', () => {
    const [cheap, fast, wide] = [sized(1, 40n, 300), sized(1, 427n, 8_000), sized(4, 100n, 9_000)];
    expect(sorted('CHEAPEST', [fast, wide, cheap])).toEqual([cheap, wide, fast]);
    expect(sorted('FASTEST', [cheap, wide, fast])).toEqual([fast, wide, cheap]);
    const pair = sized(2, 300n, 16_000);
    expect(sorted('FASTEST', [fast, pair])).toEqual([pair, fast]);
  });
});
