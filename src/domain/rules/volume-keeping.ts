const MS_PER_HOUR = 3_600_000;
const MS_PER_DAY = 24 * MS_PER_HOUR;
export const KEPT_HOURS = 24;
export const KEPT_DAYS = 7;
export const KEPT_WRITERS = 7;

export interface StoredSnapshot {
  id: string;
  /** Time at which all of it had arrived, in milliseconds since 1970. */
  atMs: number;
  /** The lease that wrote it; null for the owner's own. */
  lease: bigint | null;
}

/**
 * Returns the snapshots to drop. Keeps the last of each of the newest 24 hours and 7 days (UTC) that have a snapshot,
 * the last of each of the newest 7 writers (each lease, and the owner between two leases), and the last one before the
 * current lease (`leaseSinceMs`; null without a lease). A malicious host therefore can't displace the last snapshot of
 * an earlier writer.
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
