import { signal } from '@preact/signals';
import type { TadaDocumentNode } from 'gql.tada';
import { follow } from '../graph/events.js';
import { Refusal } from '../graph/send.js';

/** How the page hears from the service. `waiting` is before the first answer; `limited`: it was asked too often. */
export type Connection = 'waiting' | 'live' | 'restarting' | 'limited' | 'lost';

export const connection = signal<Connection>('waiting');
/** Counts the times the connection was there again after it was gone: what a screen read may be old then. */
export const regained = signal(0);

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
}

/**
 * Follows a subscription for as long as the page is seen: a hidden page lets go of its connection, of which a browser has six
 * for all its tabs. A lost one is opened again after growing pauses. Returns how to end it.
 */
export function keepFollowing<Data, Variables>(
  subscription: TadaDocumentNode<Data, Variables>,
  variables: Variables,
  { onEvent, onOpen, onRefused }: Handlers<Data>,
): () => void {
  let current: AbortController | null = null;
  let isEnded = false;

  const run = async (ending: AbortSignal): Promise<void> => {
    for (let pauseMs = FIRST_PAUSE_MS; !ending.aborted; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        await follow(subscription, variables, {
          signal: ending,
          onEvent,
          onOpen: () => {
            pauseMs = FIRST_PAUSE_MS / 2;
            if (connection.value !== 'waiting' && connection.value !== 'live') regained.value += 1;
            connection.value = 'live';
            onOpen?.();
          },
        });
        if (!ending.aborted) connection.value = 'restarting';
      } catch (error) {
        if (ending.aborted) return;
        if (error instanceof Refusal) {
          if (onRefused?.(error) === false) return;
          connection.value = STATES[error.code] ?? 'lost';
          pauseMs = Math.max(pauseMs, (error.retryAfterSeconds ?? 0) * 1_000);
        } else if (connection.value !== 'restarting') connection.value = 'lost';
      }
      await pause(pauseMs * (0.75 + Math.random() / 2), ending);
    }
  };

  const look = () => {
    const isWanted = !isEnded && !document.hidden;
    if (isWanted === (current !== null)) return;
    current?.abort();
    current = isWanted ? new AbortController() : null;
    if (current !== null) void run(current.signal);
  };
  /** Back in a network: no reason to wait for the end of the pause. */
  const restart = () => {
    if (connection.value !== 'lost' || current === null) return;
    current.abort();
    current = null;
    look();
  };
  document.addEventListener('visibilitychange', look);
  addEventListener('online', restart);
  streams.value = streams.peek() + 1;
  look();
  return () => {
    isEnded = true;
    streams.value = streams.peek() - 1;
    if (streams.peek() === 0) connection.value = 'waiting';
    look();
    document.removeEventListener('visibilitychange', look);
    removeEventListener('online', restart);
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
