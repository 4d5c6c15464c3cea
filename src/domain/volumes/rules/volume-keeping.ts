const MS_PER_HOUR = 3_600_000;
const MS_PER_DAY = 24 * MS_PER_HOUR;
export const KEPT_HOURS = 24;
export const KEPT_DAYS = 7;
export const KEPT_WRITERS = 7;

export interface StoredSnapshot {
  id: string;
  /** When the snapshot had been received in full, in milliseconds since the Unix epoch. */
  atMs: number;
  /** The lease that the snapshot was written under, or null if it was written by the owner. */
  lease: bigint | null;
}

/**
 * Returns the snapshots to drop. Three kinds are kept. First, the last snapshot of each of the newest 24 hours and 7
 * days (in UTC) that have any. Second, the last snapshot of each of the newest 7 writers, where each lease counts as a
 * writer, and so does the owner between two leases. Third, the last snapshot before the current lease, which began at
 * `leaseSinceMs` (null if there is no lease). A malicious host therefore can't displace an earlier writer's last
 * snapshot.
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
