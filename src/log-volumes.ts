import type { Logger } from 'pino';
import type { Deps } from './domain/deps.js';
import type { StoreComparison } from './domain/volumes/check.js';

/** What is said of the store of volumes. */
export function volumeLog(log: Logger, { restic }: Pick<Deps, 'restic'>) {
  if (restic === null) log.info('there is no restic on the PATH: old snapshots of volumes are not pruned');
  return {
    onFailure: (volume: string, reason: string) => log.warn({ volume, reason }, 'upkeep of a volume failed'),
    onCompared: ({ differences, strangers }: StoreComparison) => {
      const gone = differences.filter(({ isGone }) => isGone).map(({ volumeId }) => volumeId);
      const missing = count(differences.map((each) => (each.isGone ? [] : each.missing)));
      const unknown = count(differences.map((each) => each.unknown));
      const isOlder = gone.length > 0 || missing > 0;
      const isNewer = unknown > 0 || strangers.length > 0;
      const facts = { gone, missing_snapshots: missing, unknown_snapshots: unknown, unknown_volumes: strangers };
      if (isOlder)
        log.warn(facts, 'the store of volumes is older than the database, or another one: admin volume check');
      else if (isNewer) log.warn(facts, 'the store of volumes is newer than the database: admin volume check');
    },
  };
}

function count(lists: readonly (readonly unknown[])[]): number {
  return lists.reduce((sum, list) => sum + list.length, 0);
}
