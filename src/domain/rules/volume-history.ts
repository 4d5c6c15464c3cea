/** As hosts count the GB of a disk. */
const BYTES_PER_GB = 1_073_741_824;
/** What a file takes of a store at least: many small objects are not for nothing. */
const BLOCK_BYTES = 4_096;
/** Of one object. restic's own reach 128 MB. */
export const MAX_OBJECT_BYTES = 536_870_912;
/** That a repository has at once: keeping leaves 39, and a host that lies fills no table. */
export const MAX_SNAPSHOTS = 1_000;

/**
 * Bytes of a snapshot's files that a host is believed: of as many volumes as an instance may have the sum is a number that
 * reports may hold. Files with holes can count more than their volume has.
 */
export const MAX_SNAPSHOT_BYTES = 2 ** 49;

/** What an object counts in a store. */
export function storedSize(bytes: number): bigint {
  return BigInt(Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES);
}

/** Bytes that a repository may take: the volume's size this many times, and 1 GB. */
export function historyLimit(sizeGb: number, factor: number): bigint {
  return BigInt((sizeGb * factor + 1) * BYTES_PER_GB);
}
