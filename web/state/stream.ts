import { batch, signal } from '@preact/signals';
import type { TadaDocumentNode } from 'gql.tada';
import { follow } from '../graph/events.js';
import { Refusal } from '../graph/send.js';

/** How the page hears from the service. `waiting` is before the first answer; `limited`: it was asked too often. */
export type Connection = 'waiting' | 'live' | 'restarting' | 'limited' | 'lost';

export const connection = signal<Connection>('waiting');
/** Counts the times the connection was there again after it was gone: what a screen read may be old then. */
export const regained = signal(0);

/** When an account that asked too much is heard again, by `performance.now()`. */
export const limitedUntil = signal<number | null>(null);

/** Streams that the page wants: without any there is no connection to tell of. */
export const streams = signal(0);

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8_000;

/** By what the service refuses a stream with. */
const STATES: Record<string, Connection> = { unavailable: 'restarting', rate_limited: 'limited' };

interface Handlers<Data> {
  onEvent(data: Data): void;
  /** Each time the stream is open: what happened before is in no event. */
  onOpen?(): void;
  /** The service refuses it or ended it for a reason. It is tried again unless this returns false. */
  onRefused?(refusal: Refusal): boolean;
  /** What becomes of it says nothing of the service, but of one machine: the page's connection is that of the others. */
  isAside?: boolean;
}

/**
 * Follows a subscription for as long as the page is seen: a hidden page lets go of its connection, of which a browser has six
 * for all its tabs. A lost one is opened again after growing pauses. Returns how to end it.
 */
export function keepFollowing<Data, Variables>(
  subscription: TadaDocumentNode<Data, Variables>,
  variables: Variables,
  { onEvent, onOpen, onRefused, isAside = false }: Handlers<Data>,
): () => void {
  let current: AbortController | null = null;
  let isEnded = false;
  let isLost = false;
  const tell = (state: Connection) => {
    isLost = state === 'lost';
    if (!isAside) connection.value = state;
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
            // Together: what both make old is read once.
            batch(() => {
              if (!isAside && connection.value !== 'waiting' && connection.value !== 'live') regained.value += 1;
              tell('live');
              onOpen?.();
            });
          },
        });
        if (!ending.aborted) tell('restarting');
      } catch (error) {
        if (ending.aborted) return;
        if (error instanceof Refusal) {
          if (onRefused?.(error) === false) return;
          tell(STATES[error.code] ?? 'lost');
          if (!isAside) limitedUntil.value = error.retryAt;
          refusedUntil = error.retryAt;
        } else if (connection.value !== 'restarting') tell('lost');
      }
      // Never before the service said: it would only refuse again.
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
  /** Back in a network: no reason to wait for the end of the pause. */
  const whenOnline = () => isLost && restart();
  /** An open stream may take long to notice. A gateway on this computer is still there: that is found out by trying. */
  const whenOffline = () => {
    if (current === null) return;
    tell('lost');
    restart();
  };
  document.addEventListener('visibilitychange', look);
  addEventListener('online', whenOnline);
  addEventListener('offline', whenOffline);
  if (!isAside) streams.value = streams.peek() + 1;
  look();
  return () => {
    isEnded = true;
    if (!isAside) streams.value = streams.peek() - 1;
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
