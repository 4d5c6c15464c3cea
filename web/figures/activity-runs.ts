import { secondsOf } from './time.js';

interface Entry {
  at: string;
  operation: string;
  keyId: string;
  byConsole: boolean;
  address: string;
  /** The reason for a refusal; null if the change was made. */
  code: string | null;
}

const MAX_GAP_SECONDS = 300;

/** Both deploy an instance and differ only in how its machine was chosen. */
const actionOf = (operation: string): string => (operation === 'deployBest' ? 'deploy' : operation);

/**
 * Groups entries, newest first, into runs of the same action from the same source with at most five minutes between
 * two of them. Refused entries are never part of a run.
 */
export function runsOf<E extends Entry>(entries: readonly E[]): E[][] {
  const runs: E[][] = [];
  for (const entry of entries) {
    const run = runs.at(-1);
    if (run !== undefined && continues(run.at(-1)!, entry)) run.push(entry);
    else runs.push([entry]);
  }
  return runs;
}

const continues = (newer: Entry, older: Entry): boolean =>
  newer.code === null &&
  older.code === null &&
  actionOf(newer.operation) === actionOf(older.operation) &&
  newer.keyId === older.keyId &&
  newer.byConsole === older.byConsole &&
  newer.address === older.address &&
  secondsOf(newer.at) - secondsOf(older.at) <= MAX_GAP_SECONDS;
