/** `npm run test:long`: more of what chance decides, on a seed that is new each time and printed. */
export const isLong = process.env.TEST_LONG !== undefined;

/** How often a process is killed: twice, and `long` times in the long run. */
export function killsOf(long: number): number {
  return isLong ? long : 2;
}

/** `fixed`, the same moments in every run; in the long run SEED, or a new one. */
export function seedOf(fixed: number): number {
  if (!isLong) return fixed;
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
  console.info(`SEED=${seed} for the same moments`);
  return seed;
}

/** Numbers from 0 to below `below`, which repeat from their seed. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
