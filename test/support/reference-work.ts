import { createHash } from 'node:crypto';

const WARM_UP_ROUNDS = 5;
const ROWS = 3_000;

/** Kept between test files, as the compiled code is. */
let isWarm = false;

/**
 * Returns how many CPU milliseconds a fixed piece of work takes in this process. It does what the gateway mostly does:
 * build and copy objects, read and write JSON, calculate with `bigint`, and hash. Timed in each worker between its files,
 * it is slowed down as much as they are by whatever else uses the processor.
 */
export function timeReferenceWork(): number {
  if (!isWarm) for (let round = 0; round < WARM_UP_ROUNDS; round += 1) work();
  isWarm = true;
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

function work(): string {
  const rows = Array.from({ length: ROWS }, (_, index) => ({
    id: `row-${index}`,
    amount: String(BigInt(index) ** 7n),
    tags: [`a${index % 7}`, `b${index % 11}`],
  }));
  const read: typeof rows = JSON.parse(JSON.stringify(rows));
  let total = 0n;
  const hash = createHash('sha256');
  for (const row of read.sort((one, other) => other.id.localeCompare(one.id))) {
    total += BigInt(row.amount);
    hash.update(JSON.stringify({ ...row, total: String(total) }));
  }
  return hash.digest('hex');
}
