// npm run bench:fragmentation    how often a rental is refused for want of a block though enough GPUs are free
// Rentals of 1, 2, 4 and 8 GPUs arrive at 50 hosts of eight and leave, at a load of 85 %. By the service's own rule of the
// block to break (`brokenBlock`), by the first block that is free, and by a packer that may move what runs: that one
// refuses only when fewer GPUs are free than are asked for. The same arrivals for all.
import { brokenBlock } from '../dist/src/domain/rules/slices.js';

const [HOSTS, GPUS, STEPS, LOAD] = [50, 8, 100_000, 0.85];
const SIZES = [1, 2, 4, 8];
const models = Array(GPUS).fill('gpu');
const rate = (LOAD * HOSTS * GPUS * SIZES.length) / SIZES.reduce((sum, size) => sum + size);

function bitsOf({ first, count }) {
  return ((1 << count) - 1) << first;
}

const known = new Map();
/** What a rental of the block breaks on a host where these GPUs are taken. */
function breaks(taken, block) {
  const key = `${taken} ${block.first} ${block.count}`;
  if (!known.has(key)) {
    const running = models.flatMap((_, place) => (taken & (1 << place) ? [{ first: place, count: 1 }] : []));
    known.set(key, brokenBlock({ models }, block, running));
  }
  return known.get(key);
}

function* freeBlocks(hosts, count) {
  for (const [host, taken] of hosts.entries())
    for (let first = 0; first + count <= GPUS; first += count)
      if ((taken & bitsOf({ first, count })) === 0) yield { host, first, count };
}

const PACKERS = {
  'smallest free block (the service)': (hosts, count) => {
    let [best, least] = [null, Number.POSITIVE_INFINITY];
    for (const block of freeBlocks(hosts, count)) {
      const broken = breaks(hosts[block.host], block);
      if (broken < least) [best, least] = [block, broken];
    }
    return best;
  },
  'first free block': (hosts, count) => freeBlocks(hosts, count).next().value ?? null,
  'a packer that moves what runs': null,
};

function run(pick) {
  const random = mulberry32(11);
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
      const { block, gpus } = live[n];
      if (block !== null) hosts[block.host] &= ~bitsOf(block);
      free += gpus;
      live[n] = live.at(-1);
      live.pop();
    }
    const block = pick === null ? null : pick(hosts, count);
    if (pick === null ? free < count : block === null) {
      refused += 1;
      continue;
    }
    if (block !== null) hosts[block.host] |= bitsOf(block);
    free -= count;
    live.push({ end, block, gpus: count });
  }
  return refused;
}

/** A random number generator of one seed: Tommy Ettinger's mulberry32. */
function mulberry32(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

const refusals = Object.entries(PACKERS).map(([name, pick]) => [name, run(pick)]);
const optimal = refusals.at(-1)[1];
for (const [name, refused] of refusals)
  console.log(
    `${name.padEnd(36)} ${String(refused).padStart(6)} of ${STEPS} refused, ${(refused / optimal).toFixed(2)} of the packer that moves`,
  );
