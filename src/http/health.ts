import type { RequestHandler } from 'express';
import { databaseState, isInTime } from '../database/database-state.js';
import type { InventoryDeps } from '../domain/inventory/deps.js';
import type { KernelDeps } from '../domain/kernel/deps.js';
import { formatInstant, type Instant } from '../domain/kernel/time.js';
import { recheckTimes } from '../domain/market/recheck.js';
import type { RedisState } from './rate-limit/redis-buckets.js';

/** Time for which the result of a check is used for other requests. */
const SHARED_MS = 100;

export interface HealthOptions {
  deps: Pick<KernelDeps, 'db' | 'clock' | 'settings'> & Pick<InventoryDeps, 'inventory'>;
  /** State of Redis, or null if it is not used. */
  redisState: (() => RedisState) | null;
  /** Whether the process is serving. False as soon as its shutdown begins. */
  isServing(): boolean;
}

/** Handles GET /healthz, which shows that the process is alive. */
export const liveness: RequestHandler = (_request, response) => void response.json({ status: 'ok' });

/**
 * Handles GET /readyz. After the connection for change notices was lost, a gateway is ready once it is open again and
 * everything cached has been read again. Redis is not required, because each process limits requests separately without
 * it.
 */
export function createReadiness({ deps, redisState, isServing }: HealthOptions): RequestHandler {
  const stateOf = async () => {
    const database = await databaseState(deps.db.pool);
    // The catalogue isn't returned while notices aren't being received or everything must be read again. Asking for it
    // starts both.
    const hasCaches = database === 'ok' && (await isInTime(deps.inventory.catalogue()));
    const market = database === 'ok' && deps.settings.marketSource !== null ? await marketState(deps) : null;
    return { database, hasCaches, market };
  };
  let state: ReturnType<typeof stateOf> | null = null;
  /** Concurrent and frequent requests share a check, because anyone may send them. */
  const sharedState = () => {
    state ??= stateOf().finally(() => setTimeout(() => (state = null), SHARED_MS).unref());
    return state;
  };
  return async (_request, response) => {
    const { database, hasCaches, market } = await sharedState();
    const ready = hasCaches && isServing();
    response.status(ready ? 200 : 503).json({
      status: ready ? 'ready' : 'not ready',
      database,
      ...(database === 'ok' && !hasCaches && { caches: 'stale' }),
      ...(redisState !== null && { redis: redisState() }),
      ...(deps.settings.marketSource !== null && { market }),
    });
  };
}

/**
 * Returns the market's state for operators, or null while the database is unreachable. A failed market re-check doesn't
 * make a gateway unready.
 */
async function marketState(deps: Pick<KernelDeps, 'db' | 'clock' | 'settings'>): Promise<object | null> {
  const times = await recheckTimes(deps).catch(() => null);
  if (times === null) return null;
  const shown = (at: Instant | null) => (at === null ? null : formatInstant(at));
  return {
    lastSucceededAt: shown(times.lastSucceededAt),
    lastFailedAt: shown(times.lastFailedAt),
    nextAt: shown(times.nextAt),
  };
}
