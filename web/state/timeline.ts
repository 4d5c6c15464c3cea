import { useComputed } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import type { Status } from '../figures/status.js';
import { secondsOf } from '../figures/time.js';
import { InstanceTimeline } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { accountChanges } from './account.js';
import { serverNow } from './clock.js';
import { usePages } from './pages.js';
import { regained } from './stream.js';

type Edge = NonNullable<ResultOf<typeof InstanceTimeline>['instance']>['timeline']['edges'][number];
export type TimelineEntry = Edge['node'];

const PAGE = 25;
/** Maximum number of entries in a response. */
const MAX_ENTRIES = 100;
/** Refresh interval for changes that no account event reports, such as saving a volume. */
const REFRESH_SECONDS = 60;

/** The entries read so far, and whether there are older ones. */
export interface ReadTimeline {
  edges: readonly Edge[];
  hasMore: boolean;
}

/** Returns the newest entries, followed by those read before. */
export function withNewest(before: ReadTimeline | null, newest: ReadTimeline): ReadTimeline {
  const last = newest.edges.at(-1)?.cursor;
  const at = before?.edges.findIndex(({ cursor }) => cursor === last) ?? -1;
  if (before === null || !newest.hasMore || at === -1) return newest;
  return { edges: [...newest.edges, ...before.edges.slice(at + 1)], hasMore: before.hasMore };
}

/** The state that a kind of event leads to. Only an outage of the host also changes it, for as long as it lasts. */
const LEADS_TO: Partial<Record<TimelineEntry['kind'], Status>> = {
  RENTED: 'starting',
  STARTED: 'starting',
  RUNNING: 'running',
  FAILED: 'failed',
  STOPPED: 'stopped',
  DESTROYED: 'destroyed',
};

/** A period between two events in which the instance's state was the same. */
export interface Phase {
  state: Status;
  /** The second in which the state began. */
  since: number;
}

/**
 * Returns the phase that follows each entry, newest first. It is null if the entry that began it hasn't been read.
 * Without a host agent, no event follows a start, so the instance runs immediately. The host's outages are reported
 * even while the instance is stopped, which remains its state.
 */
export function phasesAfter(
  entries: readonly Pick<TimelineEntry, 'kind' | 'at'>[],
  hasAgent: boolean,
): (Phase | null)[] {
  let phase: Phase | null = null;
  let outage: number | null = null;
  return entries
    .toReversed()
    .map(({ kind, at }): Phase | null => {
      const since = secondsOf(at);
      const state = LEADS_TO[kind];
      if (state !== undefined) phase = { state: state === 'starting' && !hasAgent ? 'running' : state, since };
      if (kind === 'UNREACHABLE') outage = since;
      if (kind === 'REACHABLE') outage = null;
      const isUp = phase?.state === 'running' || phase?.state === 'starting';
      if (phase === null || !isUp) return phase;
      if (kind === 'REACHABLE') phase = { ...phase, since };
      return outage === null ? phase : { state: 'unreachable', since: Math.max(outage, phase.since) };
    })
    .reverse();
}

/** Reads an instance's events. The newest ones are read again after each change, and older ones page by page. */
export function useTimeline(id: string) {
  const read = async (after: string | null, before: ReadTimeline | null): Promise<ReadTimeline | null> => {
    const first = after === null ? Math.min(Math.max(before?.edges.length ?? 0, PAGE), MAX_ENTRIES) : PAGE;
    const { instance } = await send(InstanceTimeline, { id, first, after });
    if (instance === null) return null;
    const { edges, pageInfo } = instance.timeline;
    const page = { edges, hasMore: pageInfo.hasNextPage };
    return after === null ? withNewest(before, page) : { ...page, edges: [...(before?.edges ?? []), ...edges] };
  };
  const minute = useComputed(() => Math.floor(serverNow.value / REFRESH_SECONDS));
  const { known, error, more } = usePages(read, [accountChanges.value, regained.value, minute.value]);
  return {
    entries: known?.edges ?? null,
    hasMore: known?.hasMore ?? false,
    error,
    more: () => more(known?.edges.at(-1)?.cursor ?? null),
  };
}
