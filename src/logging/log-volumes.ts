import type { Logger } from 'pino';
import type { StoreComparison } from '../domain/volumes/check.js';
import type { VolumeDeps } from '../domain/volumes/deps.js';

/** Returns the handlers that log the volume store's state. */
export function volumeLog(log: Logger, { restic }: Pick<VolumeDeps, 'restic'>) {
  if (restic === null) log.info("restic not found on the PATH; old volume snapshots aren't pruned");
  return {
    onFailure: (volume: string, reason: string) => log.warn({ volume, reason }, 'volume upkeep failed'),
    onCompared: ({ differences, unknownVolumes }: StoreComparison) => {
      const gone = differences.filter(({ isGone }) => isGone).map(({ volumeId }) => volumeId);
      const missing = count(differences.map((each) => (each.isGone ? [] : each.missing)));
      const unknown = count(differences.map((each) => each.unknown));
      const isOlder = gone.length > 0 || missing > 0;
      const isNewer = unknown > 0 || unknownVolumes.length > 0;
      const facts = { gone, missing_snapshots: missing, unknown_snapshots: unknown, unknown_volumes: unknownVolumes };
      if (isOlder)
        log.warn(facts, 'volume store is older than the database or a different one; run: admin volume check');
      else if (isNewer) log.warn(facts, 'volume store is newer than the database; run: admin volume check');
    },
  };
}

function count(lists: readonly (readonly unknown[])[]): number {
  return lists.reduce((sum, list) => sum + list.length, 0);
}
