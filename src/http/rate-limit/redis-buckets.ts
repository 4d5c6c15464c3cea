import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { type Buckets, createMemoryBuckets, type Reservation, WINDOW_MS } from './memory-buckets.js';

/** Request counts shared by all gateway processes. */
export interface RedisBuckets extends Buckets {
  state(): RedisState;
  close(): void;
}

export type RedisState = 'ok' | 'away';

const KEY_PREFIX = 'gpu-rental-gateway:rate-limit:';
/** Id used to probe Redis, which no account has. */
const PROBE = 'probe';
const PROBE_LIMIT = 1_000_000;
const PROBE_EVERY_MS = 1_000;
/** Maximum time that a request waits for Redis. */
const ANSWER_WITHIN_MS = 250;
const CONNECT_WITHIN_MS = 1_000;
const MAX_RECONNECT_DELAY_MS = 1_000;
/** A connection is closed after this long without a response, which fails every request waiting on it. */
const SOCKET_TIMEOUT_MS = 5_000;

/**
 * Stores one list entry for each admitted request, oldest first, with its time in milliseconds on Redis's clock. If
 * that clock is set back, the time of the newest entry is used until the clock catches up. If it is set back by more
 * than the window, the list is started again.
 */
const RESERVE = `
local key, cost, limit, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local newest = tonumber(redis.call('LINDEX', key, -1) or now)
if newest > now + window then
  redis.call('DEL', key)
elseif newest > now then
  now = newest
end
local oldest = redis.call('LINDEX', key, 0)
while oldest and tonumber(oldest) + window <= now do
  redis.call('LPOP', key)
  oldest = redis.call('LINDEX', key, 0)
end
local taken = redis.call('LLEN', key)
if taken + cost > limit then
  local blocking = redis.call('LINDEX', key, taken + cost - limit - 1)
  return {0, taken, redis.call('LINDEX', key, -1) + window - now, blocking + window - now}
end
for _ = 1, cost do
  redis.call('RPUSH', key, string.format('%.0f', now))
end
redis.call('PEXPIRE', key, window)
return {1, taken, window, 0}
`;

type Reserve = (
  key: string,
  cost: number,
  limit: number,
  windowMs: number,
) => Promise<[number, number, number, number]>;

/**
 * Opens the counts in Redis. While Redis is unreachable, each process limits requests separately, starting with those
 * that it admitted in the last 60 s. Requests never wait for Redis to return or fail because of it, and none is
 * admitted uncounted. The connection is retried every second.
 */
export async function openRedisBuckets(url: string, log: Logger): Promise<RedisBuckets> {
  const own = createMemoryBuckets();
  const redis = connect(url);
  let state: RedisState | 'closed' = 'ok';

  const reserveInRedis = async (accountId: string, cost: number, limit: number): Promise<Reservation> => {
    const answer = redis.reserveRequests(KEY_PREFIX + accountId, cost, limit, WINDOW_MS);
    const [admitted, taken, resetMs, retryMs] = await inTime(answer);
    return { admitted: admitted === 1, taken, resetMs, retryMs };
  };
  const lose = (error: Error) => {
    if (state !== 'ok') return;
    state = 'away';
    log.warn({ reason: error.message }, 'Redis unreachable; this process limits requests separately');
  };
  const probe = async () => {
    try {
      await reserveInRedis(PROBE, 1, PROBE_LIMIT);
      if (state === 'away') log.info('Redis reachable again; gateway processes share the rate limit');
      if (state !== 'closed') state = 'ok';
    } catch (error) {
      lose(error as Error);
    }
  };

  // Without a listener, the client would print its errors to the console.
  redis.on('error', lose);
  redis.on('close', () => lose(new Error('the connection was closed')));
  redis.on('ready', probe);
  await redis.connect().then(probe, lose);
  const probing = setInterval(probe, PROBE_EVERY_MS);
  probing.unref();

  return {
    async reserve(accountId, cost, limit) {
      if (state !== 'ok') return own.reserve(accountId, cost, limit);
      try {
        const reservation = await reserveInRedis(accountId, cost, limit);
        if (reservation.admitted) own.record(accountId, cost);
        return reservation;
      } catch (error) {
        lose(error as Error);
        return own.reserve(accountId, cost, limit);
      }
    },
    state: () => (state === 'ok' ? 'ok' : 'away'),
    close: () => {
      state = 'closed';
      clearInterval(probing);
      redis.disconnect();
    },
  };
}

function connect(url: string): Redis & { reserveRequests: Reserve } {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: CONNECT_WITHIN_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    retryStrategy: (attempts) => Math.min(attempts * 100, MAX_RECONNECT_DELAY_MS),
    // The primary has become a replica.
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
    // Commands neither wait for a connection nor are retried, because a retried command would count twice.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    scripts: { reserveRequests: { lua: RESERVE, numberOfKeys: 1 } },
  });
  return redis as Redis & { reserveRequests: Reserve };
}

/**
 * Applies the time limit. A response that has arrived by the time the limit is checked still counts, because this
 * process may have been too busy to read it.
 */
function inTime<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = new Error(`no response within ${ANSWER_WITHIN_MS} ms`);
    const timer = setTimeout(() => setImmediate(reject, late), ANSWER_WITHIN_MS);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
