import { AsyncResource } from 'node:async_hooks';
import { performance } from 'node:perf_hooks';
import type pg from 'pg';

/** A query whose text contains values, so only `textWithoutValues` may be shown. */
export interface ValuedQuery extends pg.QueryConfig {
  /** Returns the query's statements with parameters in place of values. */
  textWithoutValues(): string;
}

/** Reports how long each request for a connection waited, in milliseconds. */
export function watchWaits(pool: pg.Pool, waited: (ms: number) => void): void {
  const connect = pool.connect.bind(pool) as Connect;
  const watched: Connect = (callback) => {
    const requestedAt = performance.now();
    const report = () => waited(performance.now() - requestedAt);
    if (callback !== undefined) {
      return connect((...args) => {
        report();
        callback(...args);
      });
    }
    const client = connect()!;
    client.then(report, report);
    return client;
  };
  pool.connect = watched as pg.Pool['connect'];
}

/** Receives statements while `isFollowing` returns true. */
export interface StatementWatcher {
  isFollowing(): boolean;
  /**
   * Called when a statement is sent. `text` contains no values. The returned function must be called when the statement
   * has ended.
   */
  began(text: string): (error: unknown) => void;
}

/** Reports each statement as it is sent. */
export function watchStatements(pool: pg.Pool, { isFollowing, began }: StatementWatcher): void {
  const connect = pool.connect.bind(pool) as Connect;
  // Called when a connection becomes free, in the async context of the code that released it.
  const bound: Connect = (callback) =>
    connect(callback !== undefined && isFollowing() ? AsyncResource.bind(callback) : callback);
  pool.connect = bound as pg.Pool['connect'];
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as unknown as Query;
    const watched: Query = (...args) => {
      if (!isFollowing()) return query(...args);
      const ended = began(textOf(args[0]));
      const callback = args.at(-1);
      if (typeof callback === 'function') {
        return query(...args.slice(0, -1), (error: unknown, result: unknown) => {
          ended(error);
          callback(error, result);
        });
      }
      const result = query(...args) as Promise<unknown>;
      result.then(() => ended(null), ended);
      return result;
    };
    client.query = watched as unknown as typeof client.query;
  });
}

type Connected = (error: Error | undefined, client: pg.PoolClient | undefined, done: () => void) => void;
type Connect = (callback?: Connected) => Promise<pg.PoolClient> | undefined;
type Query = (...args: unknown[]) => unknown;

function textOf(query: unknown): string {
  if (typeof query === 'string') return query;
  const { textWithoutValues, text } = query as Partial<ValuedQuery>;
  return textWithoutValues?.() ?? text ?? '';
}
