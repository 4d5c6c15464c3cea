/** Bytes per GB of a disk, in the way hosts count them. */
const BYTES_PER_GB = 1_073_741_824;
/** Each object counts as at least this many bytes, so that many small objects aren't free. */
const BLOCK_BYTES = 4_096;
/** Maximum size of an object, in bytes. restic's own objects have at most 128 MB. */
export const MAX_OBJECT_BYTES = 536_870_912;
/**
 * Maximum snapshots per repository. Pruning keeps 39. The rest is room, limited because a malicious host could create
 * many.
 */
export const MAX_SNAPSHOTS = 1_000;

/**
 * Maximum size of a snapshot's files that a host can report, so that the total of an instance's volumes can be
 * represented exactly. Because of sparse files, this can be more than the size of the volume.
 */
export const MAX_SNAPSHOT_BYTES = 2 ** 49;

/** Returns how many bytes an object counts as in a store. */
export function storedSize(bytes: number): bigint {
  return BigInt(Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES);
}

/** Returns the maximum size of a repository in bytes, which is `factor` times the volume's size plus 1 GB. */
export function historyLimit(sizeGb: number, factor: number): bigint {
  return BigInt((sizeGb * factor + 1) * BYTES_PER_GB);
}
