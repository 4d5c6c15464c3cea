/** Whether this is `npm run test:long`, which plays more random cases with a new seed each time and prints the seed. */
export const isLong = process.env.TEST_LONG !== undefined;

/** Returns how often a process is killed, which is twice, or `long` times in the long run. */
export function killsOf(long: number): number {
  return isLong ? long : 2;
}

/** Returns `fixed`, so that every run uses the same moments. In the long run, returns SEED or a new seed. */
export function seedOf(fixed: number): number {
  if (!isLong) return fixed;
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
  console.info(`SEED=${seed} for the same moments`);
  return seed;
}

/**
 * Returns how many random histories a test plays and with which seed. `npm run test:long` plays all of `runs`. Other
 * runs play a third of them, or the `part`th part if that takes too long. MODEL_RUNS and SEED override these values.
 * Prints the seed, which reproduces the histories.
 */
export function randomHistories(runs: number, part = 3): { numRuns: number; seed: number } {
  const numRuns = Number(process.env.MODEL_RUNS ?? (isLong ? runs : Math.ceil(runs / part)));
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
  console.info(`SEED=${seed} for the same ${numRuns} histories`);
  return { numRuns, seed };
}

/** Returns a generator of numbers from 0 up to but excluding `below`, which the seed makes reproducible. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
