import { useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { InstanceTimeline } from '../graph/documents.js';
import { Retry } from '../graph/retry.js';
import { send } from '../graph/send.js';
import { accountChanges } from './account.js';
import { serverNow } from './clock.js';
import { regained } from './stream.js';

type Edge = NonNullable<ResultOf<typeof InstanceTimeline>['instance']>['timeline']['edges'][number];
export type TimelineEntry = Edge['node'];

const PAGE = 25;
/** The most that one answer may have. */
const MOST = 100;
/** What no event of the account tells of, such as a volume that was stored, is seen this soon. */
const LOOK_SECONDS = 60;

/** What is known of the older end: entries that were read, and whether there are more. */
export interface ReadTimeline {
  edges: readonly Edge[];
  hasMore: boolean;
}

/** The newest entries anew, and beneath them those that were read before. */
export function withNewest(before: ReadTimeline | null, newest: ReadTimeline): ReadTimeline {
  const last = newest.edges.at(-1)?.cursor;
  const at = before?.edges.findIndex(({ cursor }) => cursor === last) ?? -1;
  if (before === null || !newest.hasMore || at === -1) return newest;
  return { edges: [...newest.edges, ...before.edges.slice(at + 1)], hasMore: before.hasMore };
}

/** What happened to an instance: the newest, again with each change, and older ones page by page. */
export function useTimeline(id: string) {
  const known = useSignal<ReadTimeline | null>(null);
  const error = useSignal<unknown>(null);
  const question = useRef(0);
  const retry = useMemo(() => new Retry(), []);
  const read = async (after: string | null): Promise<void> => {
    question.current += 1;
    const mine = question.current;
    const before = known.peek();
    try {
      const first = after === null ? Math.min(Math.max(before?.edges.length ?? 0, PAGE), MOST) : PAGE;
      const { instance } = await send(InstanceTimeline, { id, first, after });
      if (mine !== question.current || instance === null) return;
      retry.end();
      const { edges, pageInfo } = instance.timeline;
      const page = { edges, hasMore: pageInfo.hasNextPage };
      known.value =
        after === null ? withNewest(before, page) : { ...page, edges: [...(before?.edges ?? []), ...edges] };
      error.value = null;
    } catch (fault) {
      if (mine !== question.current) return;
      error.value = fault;
      retry.after(fault, () => void read(after));
    }
  };
  const minute = Math.floor(serverNow.value / LOOK_SECONDS);
  useEffect(() => void read(null), [accountChanges.value, regained.value, minute]);
  useEffect(
    () => () => {
      question.current += 1;
      retry.end();
    },
    [],
  );
  return {
    entries: known.value?.edges ?? null,
    hasMore: known.value?.hasMore ?? false,
    error: error.value,
    more: () => void read(known.peek()?.edges.at(-1)?.cursor ?? null),
    again: () => void read(null),
  };
}
