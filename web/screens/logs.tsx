import { useSignal, useSignalEffect } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { useEffect, useRef } from 'preact/hooks';
import { InstanceLogged } from '../graph/documents.js';
import { Refusal } from '../graph/send.js';
import { Failure } from '../parts/notice.js';
import { keepFollowing } from '../state/stream.js';

type Line = ResultOf<typeof InstanceLogged>['instanceLogged'][number];

/** Lines that are kept: the newest. */
const MAX_LINES = 1_000;
/** Within this many pixels of its end, the view stays at the end. */
const NEAR_PX = 24;

/** What the container writes, as it writes it, once somebody asks for it: a stream that nobody reads costs its machine work. */
export function Logs({ id }: { id: string }) {
  const isFollowed = useSignal(false);
  return (
    <section class="panel padded stack-tight" aria-labelledby="logs">
      <div class="row between">
        <h2 id="logs">Log</h2>
        <button
          type="button"
          onClick={() => {
            isFollowed.value = !isFollowed.value;
          }}
        >
          {isFollowed.value ? 'Stop following' : 'Follow the log'}
        </button>
      </div>
      {isFollowed.value ? (
        <Followed id={id} />
      ) : (
        <p class="small quiet">The last lines that the container wrote, and each further one as it comes.</p>
      )}
    </section>
  );
}

function Followed({ id }: { id: string }) {
  const lines = useSignal<readonly Line[] | null>(null);
  const error = useSignal<unknown>(null);
  const view = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  useEffect(
    () =>
      keepFollowing(
        InstanceLogged,
        { id },
        {
          isAside: true,
          // Begins with the last lines, each time.
          onOpen: () => {
            lines.value = [];
            error.value = null;
          },
          onEvent: ({ instanceLogged }) => {
            lines.value = [...(lines.peek() ?? []), ...instanceLogged].slice(-MAX_LINES);
          },
          // Its own words: it is a machine that does not answer, not the service.
          onRefused: (refusal) => {
            const isAway = refusal.code === 'unavailable';
            error.value = isAway ? new Refusal('machine_unreachable', refusal.message) : refusal;
            return refusal.retryAt !== null;
          },
        },
      ),
    [id],
  );
  useSignalEffect(() => {
    lines.value;
    requestAnimationFrame(() => {
      if (isAtEnd.current && view.current !== null) view.current.scrollTop = view.current.scrollHeight;
    });
  });
  return (
    <>
      <pre
        ref={view}
        class="log mono small"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard
        tabIndex={0}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          isAtEnd.current = scrollHeight - clientHeight - scrollTop < NEAR_PX;
        }}
      >
        {lines.value?.length === 0 && <span class="quiet">Nothing written yet.</span>}
        {lines.value?.map(({ time, stream, text }) => (
          <span class={stream === 'STDERR' ? 'bad' : ''} title={time}>
            {`${text}\n`}
          </span>
        ))}
      </pre>
      <Failure error={error.value} />
    </>
  );
}
