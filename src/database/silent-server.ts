import type pg from 'pg';

const LOOK_EVERY_MS = 1_000;
/** Maximum time that a connection waits for a server that doesn't answer other connections either. */
const SILENT_MS = 4_000;

interface Waiting {
  bytesRead: number;
  sinceMs: number;
}

/**
 * Closes connections that wait for a server that has stopped answering without closing them, such as a frozen one. A
 * statement may take long, so this only happens while `isAnswering` returns false. Returns a function that stops it.
 */
export function closeSilentConnections(pool: pg.Pool, isAnswering: () => boolean): () => void {
  const clients = new Set<pg.PoolClient>();
  const waiting = new Map<pg.PoolClient, Waiting>();
  pool.on('connect', (client) => void clients.add(client));
  pool.on('remove', (client) => void clients.delete(client));
  const look = () => {
    if (isAnswering()) return waiting.clear();
    for (const client of clients) {
      const { readyForQuery, connection } = client as unknown as Internals;
      const { bytesRead } = connection.stream;
      const before = waiting.get(client);
      if (readyForQuery) waiting.delete(client);
      else if (before?.bytesRead !== bytesRead) waiting.set(client, { bytesRead, sinceMs: performance.now() });
      else if (performance.now() - before.sinceMs >= SILENT_MS) connection.stream.destroy();
    }
  };
  const timer = setInterval(look, LOOK_EVERY_MS).unref();
  return () => clearInterval(timer);
}

/** Parts of pg's client that its types don't include. */
interface Internals {
  /** Whether no statement is in progress. */
  readyForQuery: boolean;
  connection: { stream: { bytesRead: number; destroy(): void } };
}
