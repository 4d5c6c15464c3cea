import { batch, signal } from '@preact/signals';
import type { TadaDocumentNode } from 'gql.tada';
import { follow } from '../graph/events.js';
import { Refusal } from '../graph/send.js';

/**
 * State of the page's connection. It is `waiting` before the first response, and `limited` while the rate limit is
 * exceeded.
 */
export type Connection = 'waiting' | 'live' | 'restarting' | 'limited' | 'lost';

export const connection = signal<Connection>('waiting');
/** Counts reconnects, after which the data that a screen has read may be outdated. */
export const regained = signal(0);

/** When a rate-limited account may connect again, on the `performance.now()` clock. */
export const limitedUntil = signal<number | null>(null);

/** Number of streams that the page wants. At zero, there is no connection to report. */
export const streams = signal(0);

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8_000;

/** Connection states by the service's error code. */
const STATES: Record<string, Connection> = { unavailable: 'restarting', rate_limited: 'limited' };

interface Handlers<Data> {
  onEvent(data: Data): void;
  /** Called each time the stream opens, because events don't report earlier changes. */
  onOpen?(): void;
  /**
   * Called if the service refuses the stream or ends it for a reason. The stream is retried unless this returns false.
   */
  onRefused?(refusal: Refusal): boolean;
  /**
   * Whether the stream depends on a single machine rather than the service, in which case it doesn't affect the page's
   * connection state.
   */
  isOfOneMachine?: boolean;
}

/**
 * Follows a subscription while the page is visible. A hidden page closes its connection, because a browser has only six
 * for all its tabs. A lost connection is reopened after increasing pauses. Returns a function that stops this.
 */
export function keepFollowing<Data, Variables>(
  subscription: TadaDocumentNode<Data, Variables>,
  variables: Variables,
  { onEvent, onOpen, onRefused, isOfOneMachine = false }: Handlers<Data>,
): () => void {
  let current: AbortController | null = null;
  let isEnded = false;
  let isLost = false;
  const setConnection = (state: Connection) => {
    isLost = state === 'lost';
    if (!isOfOneMachine) connection.value = state;
  };

  const run = async (ending: AbortSignal): Promise<void> => {
    for (let pauseMs = FIRST_PAUSE_MS; !ending.aborted; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      let refusedUntil: number | null = null;
      try {
        await follow(subscription, variables, {
          signal: ending,
          onEvent,
          onOpen: () => {
            pauseMs = FIRST_PAUSE_MS / 2;
            // The updates are batched, so that data outdated by both of them is read only once.
            batch(() => {
              if (!isOfOneMachine && connection.value !== 'waiting' && connection.value !== 'live') regained.value += 1;
              setConnection('live');
              onOpen?.();
            });
          },
        });
        if (!ending.aborted) setConnection('restarting');
      } catch (error) {
        if (ending.aborted) return;
        if (error instanceof Refusal) {
          if (onRefused?.(error) === false) return;
          setConnection(STATES[error.code] ?? 'lost');
          if (!isOfOneMachine) limitedUntil.value = error.retryAt;
          refusedUntil = error.retryAt;
        } else if (connection.value !== 'restarting') setConnection('lost');
      }
      // The stream never reconnects before the service allows it, because it would only be refused again.
      const jitteredMs =
        refusedUntil === null
          ? pauseMs * (0.75 + Math.random() / 2)
          : Math.max(0, refusedUntil - performance.now()) + FIRST_PAUSE_MS * Math.random();
      await pause(jitteredMs, ending);
    }
  };

  const look = () => {
    const isWanted = !isEnded && !document.hidden;
    if (isWanted === (current !== null)) return;
    current?.abort();
    current = isWanted ? new AbortController() : null;
    if (current !== null) void run(current.signal);
  };
  const restart = () => {
    if (current === null) return;
    current.abort();
    current = null;
    look();
  };
  /** Reconnects as soon as the browser is back online, without waiting out the pause. */
  const whenOnline = () => isLost && restart();
  /**
   * Checks the connection when the browser goes offline, which may take a long time to show on an open stream. A
   * gateway on this computer is still reachable, so a reconnect is attempted.
   */
  const whenOffline = () => {
    if (current === null) return;
    setConnection('lost');
    restart();
  };
  document.addEventListener('visibilitychange', look);
  addEventListener('online', whenOnline);
  addEventListener('offline', whenOffline);
  if (!isOfOneMachine) streams.value = streams.peek() + 1;
  look();
  return () => {
    isEnded = true;
    if (!isOfOneMachine) streams.value = streams.peek() - 1;
    if (streams.peek() === 0) connection.value = 'waiting';
    look();
    document.removeEventListener('visibilitychange', look);
    removeEventListener('online', whenOnline);
    removeEventListener('offline', whenOffline);
  };
}

function pause(ms: number, ending: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    ending.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
