import { fileURLToPath } from 'node:url';

/** Settings from the environment. */
export const settings = {
  /** Duration of a round. */
  seconds: positive('BENCH_SECONDS', 5),
  rounds: positive('BENCH_ROUNDS', 5),
  /** Duration of the load in the memory cases. */
  memorySeconds: positive('BENCH_MEMORY_SECONDS', 60),
  /** Megabytes transferred per turn, in the cases that send bytes into and out of a container. */
  transferMegabytes: positive('BENCH_TRANSFER_MB', 1_000),
  /** Folder in which bench:growth keeps its databases for the next run. */
  dataDir: process.env.BENCH_DATA,
};

export const CONNECTIONS = 32;
export const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
export const RESULTS = fileURLToPath(new URL('../results', import.meta.url));

function positive(name, preset) {
  const value = Number(process.env[name] ?? preset);
  if (value > 0) return value;
  throw new Error(`${name} must be a number above 0`);
}
