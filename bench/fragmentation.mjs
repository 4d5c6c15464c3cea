// `npm run bench:fragmentation` measures how often a rental is refused because no block is free although enough GPUs
// are. Rentals of 1, 2, 4 and 8 GPUs arrive at 50 eight-GPU hosts and leave again, at a load of 85%. It compares three
// packers, which all get the same arrivals: the service's own, which chooses the block to split with `breaksOf`, one
// that takes the first free block, and a repacker that may move running instances and only refuses if fewer GPUs are
// free than requested.
import { breaksOf, layoutOf } from '../dist/src/domain/inventory/rules/layout.js';
import { ALL_SIZES } from '../dist/src/domain/kernel/slices.js';
import { randomFrom } from './support/random.mjs';

const [HOSTS, GPUS, STEPS, LOAD] = [50, 8, 100_000, 0.85];
const SIZES = [1, 2, 4, 8];
const rate = (LOAD * HOSTS * GPUS * SIZES.length) / SIZES.reduce((sum, size) => sum + size);

const { blocks } = layoutOf(Array(GPUS).fill('gpu'), ALL_SIZES);

/** Yields all free blocks of this size. `hosts` contains a bit mask of rented GPUs for each host. */
function* freeBlocks(hosts, count) {
  const ofSize = blocks.filter((block) => block.count === count);
  for (const [host, taken] of hosts.entries())
    for (const block of ofSize) if ((taken & block.bits) === 0) yield { host, block };
}

const PACKERS = {
  'smallest free block (the service)': (hosts, count) => {
    let [best, least] = [null, Number.POSITIVE_INFINITY];
    for (const free of freeBlocks(hosts, count)) {
      const broken = breaksOf(free.block, { taken: hosts[free.host], yielding: [] });
      if (broken < least) [best, least] = [free, broken];
    }
    return best;
  },
  'first free block': (hosts, count) => freeBlocks(hosts, count).next().value ?? null,
  'repacker that may move running instances': null,
};

function run(pick) {
  const random = randomFrom(11);
  const exponential = () => -Math.log(1 - random());
  const hosts = Array(HOSTS).fill(0);
  let free = HOSTS * GPUS;
  const live = [];
  let [now, refused] = [0, 0];
  for (let step = 0; step < STEPS; step += 1) {
    now += exponential() / rate;
    const count = SIZES[Math.floor(random() * SIZES.length)];
    const end = now + exponential();
    for (let n = live.length - 1; n >= 0; n -= 1) {
      if (live[n].end > now) continue;
      const { at, gpus } = live[n];
      if (at !== null) hosts[at.host] &= ~at.block.bits;
      free += gpus;
      live[n] = live.at(-1);
      live.pop();
    }
    const at = pick === null ? null : pick(hosts, count);
    if (pick === null ? free < count : at === null) {
      refused += 1;
      continue;
    }
    if (at !== null) hosts[at.host] |= at.block.bits;
    free -= count;
    live.push({ end, at, gpus: count });
  }
  return refused;
}

const refusals = Object.entries(PACKERS).map(([name, pick]) => [name, run(pick)]);
const optimal = refusals.at(-1)[1];
for (const [name, refused] of refusals)
  console.log(
    `${name.padEnd(40)} ${String(refused).padStart(6)} of ${STEPS} refused, ${(refused / optimal).toFixed(2)} relative to the repacker`,
  );
