import { batch, signal } from '@preact/signals';
import type { TadaDocumentNode } from 'gql.tada';
import { follow } from '../graph/events.js';
import { Refusal } from '../graph/send.js';

/** State of the page's connection. `waiting` is before the first answer; `limited`: over the rate limit. */
export type Connection = 'waiting' | 'live' | 'restarting' | 'limited' | 'lost';

export const connection = signal<Connection>('waiting');
/** Counts reconnects: what a screen read may be old then. */
export const regained = signal(0);

/** When a rate-limited account may connect again, by `performance.now()`. */
export const limitedUntil = signal<number | null>(null);

/** Number of streams that the page wants: without any, there is no connection to report. */
export const streams = signal(0);

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8_000;

/** States by the service's refusal code. */
const STATES: Record<string, Connection> = { unavailable: 'restarting', rate_limited: 'limited' };

interface Handlers<Data> {
  onEvent(data: Data): void;
  /** Called each time the stream opens: earlier changes are in no event. */
  onOpen?(): void;
  /** Called if the service refuses it or ends it for a reason. It is retried unless this returns false. */
  onRefused?(refusal: Refusal): boolean;
  /**
   * Whether its state concerns only one machine and not the service, so that it doesn't affect the page's connection.
   */
  isOfOneMachine?: boolean;
}

/**
 * Follows a subscription while the page is visible: a hidden page releases its connection, because a browser has six
 * for all its tabs. A lost one is reopened after growing pauses. Returns a function that ends it.
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
            // Batched, so that data outdated by both is read once.
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
      // Never before the service allows it, because it would only refuse again.
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
  /** Back online: no reason to wait for the end of the pause. */
  const whenOnline = () => isLost && restart();
  /** An open stream may take long to notice. A gateway on this computer is still reachable, so it is tried. */
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
