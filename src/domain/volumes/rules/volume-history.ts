/** Bytes per GB of disk, as counted by hosts. */
const BYTES_PER_GB = 1_073_741_824;
/** Each object counts as at least this many bytes, so that large numbers of small objects aren't free. */
const BLOCK_BYTES = 4_096;
/** Maximum size of an object, in bytes. restic's own objects have at most 128 MB. */
export const MAX_OBJECT_BYTES = 536_870_912;
/**
 * Maximum number of snapshots per repository. Pruning keeps 39. The rest is headroom, which is limited because a
 * malicious host could create many snapshots.
 */
export const MAX_SNAPSHOTS = 1_000;

/**
 * Maximum size of a snapshot's files that a host can report, in bytes. It is limited so that the total for an
 * instance's volumes can be represented exactly. Because of sparse files, it can exceed the size of the volume.
 */
export const MAX_SNAPSHOT_BYTES = 2 ** 49;

/** Returns the number of bytes that an object counts as in a store. */
export function storedSize(bytes: number): bigint {
  return BigInt(Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES);
}

/** Returns a repository's maximum size in bytes, which is `factor` times the volume's size plus 1 GB. */
export function historyLimit(sizeGb: number, factor: number): bigint {
  return BigInt((sizeGb * factor + 1) * BYTES_PER_GB);
}
