/** Bytes in a GB of a disk, as hosts count it. */
const BYTES_PER_GB = 1_073_741_824;
/** Minimum bytes that an object counts, so that many small objects aren't free. */
const BLOCK_BYTES = 4_096;
/** Maximum bytes of one object. restic's own objects have at most 128 MB. */
export const MAX_OBJECT_BYTES = 536_870_912;
/** Maximum snapshots of a repository. Pruning keeps 39; the rest bounds what a malicious host can create. */
export const MAX_SNAPSHOTS = 1_000;

/**
 * Maximum size of a snapshot's files that a host can report, so that the sum over an instance's volumes stays an exact
 * number. Sparse files can count more than the size of their volume.
 */
export const MAX_SNAPSHOT_BYTES = 2 ** 49;

/** Returns the bytes that an object counts in a store. */
export function storedSize(bytes: number): bigint {
  return BigInt(Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES);
}

/** Returns the maximum bytes of a repository: `factor` times the volume's size, plus 1 GB. */
export function historyLimit(sizeGb: number, factor: number): bigint {
  return BigInt((sizeGb * factor + 1) * BYTES_PER_GB);
}
