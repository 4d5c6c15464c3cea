const MS_PER_HOUR = 3_600_000;
const MS_PER_DAY = 24 * MS_PER_HOUR;
export const KEPT_HOURS = 24;
export const KEPT_DAYS = 7;
export const KEPT_WRITERS = 7;

export interface StoredSnapshot {
  id: string;
  /** When the complete snapshot had arrived, in milliseconds since 1970. */
  atMs: number;
  /** The lease under which it was written, or null if the owner wrote it. */
  lease: bigint | null;
}

/**
 * Returns the snapshots to drop. The following are kept: the last one of each of the newest 24 hours and 7 days (in
 * UTC) that have any, the last one of each of the newest 7 writers (each lease is a writer, and so is the owner between
 * two leases), and the last one before the current lease (which began at `leaseSinceMs`, or null if there is none). A
 * malicious host therefore can't displace an earlier writer's last snapshot.
 */
export function droppedSnapshots(snapshots: readonly StoredSnapshot[], leaseSinceMs: number | null): StoredSnapshot[] {
  const newestFirst = [...snapshots].sort((one, other) => other.atMs - one.atMs);
  const before = leaseSinceMs === null ? undefined : newestFirst.find(({ atMs }) => atMs < leaseSinceMs);
  const kept = new Set([
    ...lastOfEach(newestFirst, MS_PER_HOUR, KEPT_HOURS),
    ...lastOfEach(newestFirst, MS_PER_DAY, KEPT_DAYS),
    ...newestFirst.filter(({ lease }, index) => lease !== newestFirst[index - 1]?.lease).slice(0, KEPT_WRITERS),
    ...(before === undefined ? [] : [before]),
  ]);
  return newestFirst.filter((snapshot) => !kept.has(snapshot));
}

function lastOfEach(newestFirst: readonly StoredSnapshot[], spanMs: number, spans: number): StoredSnapshot[] {
  const last = new Map<number, StoredSnapshot>();
  for (const snapshot of newestFirst) {
    const span = Math.floor(snapshot.atMs / spanMs);
    if (!last.has(span)) last.set(span, snapshot);
  }
  return [...last.values()].slice(0, spans);
}
