import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKey } from '../../../src/domain/accounts/api-keys.js';
import { createRateLimiter } from '../../../src/http/rate-limit/rate-limit.js';
import { openRedisBuckets, type RedisBuckets } from '../../../src/http/rate-limit/redis-buckets.js';
import { type Answer, client, type Renter, startGateway, type TestGateway } from '../../support/gateway.js';
import { startRedis, type TestRedis } from '../../support/redis.js';
import { needs } from '../../support/tools.js';

const LIMIT = 120;
const KEY = 'gpu-rental-gateway:rate-limit:';
const NOBODY = 'redis://:hunter2@127.0.0.1:1';

let redis: TestRedis;

describe('the Redis rate limit', needs('redis-server'), () => {
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.close());

  describe('two gateways', () => {
    let gateways: [TestGateway, TestGateway];

    beforeAll(async () => {
      const first = await startGateway({ redisUrl: redis.url, rateLimitPerMinute: LIMIT });
      const { databaseUrl } = first;
      gateways = [first, await startGateway({ redisUrl: redis.url, rateLimitPerMinute: LIMIT, databaseUrl })];
    });
    afterAll(() => Promise.all(gateways.map((gateway) => gateway.close())));

    /** Creates an account with two keys and returns callers for both keys at both gateways. */
    async function callers(): Promise<Renter[]> {
      const [first, second] = gateways;
      const { accountId, key } = await first.renter();
      const { secret } = await createApiKey(first.deps, accountId);
      return [key, secret].flatMap((each) => [client(first.address, each), client(second.address, each)]);
    }

    /** Sends a burst of requests, half REST and half GraphQL, spread over all callers. */
    function burst(all: readonly Renter[], count: number): Promise<Answer[]> {
      const requests = Array.from({ length: count }, (_, index) => {
        const caller = all[Math.floor(index / 2) % all.length]!;
        return index % 2 === 0 ? caller.rest('GET', '/balance') : caller.graphql('{ balance { balance } }');
      });
      return Promise.all(requests);
    }

    function readiness(): Promise<{ status: number; body: unknown }[]> {
      return Promise.all(
        gateways.map(async ({ address }) => {
          const answer = await fetch(`${address}/readyz`);
          return { status: answer.status, body: await answer.json() };
        }),
      );
    }

    async function becomes(state: 'ok' | 'away'): Promise<void> {
      const expected = { status: 200, body: { status: 'ready', database: 'ok', redis: state } };
      await expect.poll(readiness, { timeout: 10_000, interval: 100 }).toEqual([expected, expected]);
    }

    const tally = (answers: Answer[]) => ({
      admitted: answers.filter(({ status }) => status === 200).length,
      refused: answers.filter(({ status }) => status === 429).length,
    });

    it('together admit exactly the limit when two keys send 300 requests to both APIs', async () => {
      await becomes('ok');
      const answers = await burst(await callers(), 300);
      expect(tally(answers)).toEqual({ admitted: LIMIT, refused: 300 - LIMIT });
      const left = answers
        .filter(({ status }) => status === 200)
        .map(({ headers }) => Number(headers.get('ratelimit-remaining')));
      expect(left.sort((a, b) => a - b)).toEqual(Array.from({ length: LIMIT }, (_, index) => index));
      for (const { headers } of answers.filter(({ status }) => status === 429)) {
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(50);
        expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60);
      }
    });

    it('limit separately while Redis is down, with earlier counts, then share them again', async () => {
      const before = await callers();
      expect(tally(await burst(before, 80))).toEqual({ admitted: 80, refused: 0 });

      await redis.kill();
      // Each gateway admitted 40 of the 80 requests, so 80 remain at each.
      expect(tally(await burst(before, 200))).toEqual({ admitted: 2 * (LIMIT - 40), refused: 40 });
      expect(tally(await burst(await callers(), 300))).toEqual({ admitted: 2 * LIMIT, refused: 300 - 2 * LIMIT });
      await becomes('away');

      await redis.start();
      await becomes('ok');
      expect(tally(await burst(await callers(), 300))).toEqual({ admitted: LIMIT, refused: 300 - LIMIT });
    });

    it('briefly delay only the first requests when Redis hangs', async () => {
      const all = await callers();
      await burst(all, 4);
      redis.freeze();
      const startedAt = performance.now();
      expect(tally(await burst(all, 40))).toEqual({ admitted: 40, refused: 0 });
      expect(performance.now() - startedAt).toBeLessThan(1_500);
      const thenAt = performance.now();
      expect(tally(await burst(all, 4))).toEqual({ admitted: 4, refused: 0 });
      expect(performance.now() - thenAt).toBeLessThan(200);
      await becomes('away');
      redis.thaw();
      await becomes('ok');
    });
  });

  describe('the window', () => {
    let buckets: RedisBuckets;

    beforeAll(async () => {
      buckets = await openRedisBuckets(redis.url, silent);
    });
    afterAll(() => buckets.close());

    /** Shifts all admitted requests back in time. */
    async function age(account: string, ms: number): Promise<void> {
      const times = await redis.client.lrange(KEY + account, 0, -1);
      await redis.client.del(KEY + account);
      if (times.length > 0) await redis.client.rpush(KEY + account, ...times.map((time) => Number(time) - ms));
    }

    it('covers any 60 s of the Redis clock and never admits part of a request’s cost', async () => {
      const limiter = createRateLimiter(buckets);
      const admit = async (cost: number) => {
        const { admitted, remaining, retryAfterSeconds, resetSeconds } = await limiter.admit('window', cost, 5);
        return [admitted, remaining, retryAfterSeconds, resetSeconds];
      };
      expect(await admit(2)).toEqual([true, 3, 0, 60]);
      await age('window', 10_000);
      expect(await admit(3)).toEqual([true, 0, 0, 60]);
      await age('window', 600);
      expect(await admit(1)).toEqual([false, 0, 50, 60]);
      expect(await admit(2)).toEqual([false, 0, 50, 60]);
      expect(await admit(3)).toEqual([false, 0, 60, 60]);
      await age('window', 50_000);
      expect(await admit(3)).toEqual([false, 2, 10, 10]);
      expect(await admit(2)).toEqual([true, 0, 0, 60]);
    });

    it('leaves nothing behind, since a key expires with its last request', async () => {
      await buckets.reserve('expiry', 3, 120);
      const ttl = await redis.client.pttl(`${KEY}expiry`);
      expect(ttl).toBeGreaterThan(59_000);
      expect(ttl).toBeLessThanOrEqual(60_000);
      expect(await redis.client.llen(`${KEY}expiry`)).toBe(3);
      await buckets.reserve('expiry', 120, 120);
      expect(await redis.client.pttl(`${KEY}expiry`)).toBeLessThanOrEqual(ttl);
    });

    it.each([
      ['20 seconds', 20_000],
      ['an hour', 3_600_000],
    ])('stays correct if the Redis clock is set back by %s', async (_name, ms) => {
      await buckets.reserve(`back ${ms}`, 120, 120);
      await age(`back ${ms}`, -ms);
      const { admitted, retryMs } = await buckets.reserve(`back ${ms}`, 1, 120);
      expect(admitted).toBe(ms > 60_000);
      expect(retryMs).toBeLessThanOrEqual(60_000);
    });

    it('needs one Redis query per request', async () => {
      await buckets.reserve('once', 1, 120);
      const calls = async () => {
        const text = await redis.client.info('commandstats');
        return Number(/cmdstat_evalsha:calls=(\d+)/.exec(text)![1]);
      };
      const before = await calls();
      for (let index = 0; index < 50; index += 1) await buckets.reserve('once', 1, 120);
      // Each open client also probes Redis once per second.
      expect((await calls()) - before).toBeGreaterThanOrEqual(50);
      expect((await calls()) - before).toBeLessThan(55);
    });
  });

  describe('the log', () => {
    it('has one line per change of state instead of one per request', async () => {
      const { log, lines } = recorder();
      const buckets = await openRedisBuckets(redis.url, log);
      expect(buckets.state()).toBe('ok');
      await redis.kill();
      for (let index = 0; index < 30; index += 1) await buckets.reserve('log', 1, 120);
      await expect.poll(() => buckets.state()).toBe('away');
      await new Promise((resolve) => setTimeout(resolve, 2_200));
      await redis.start();
      await expect.poll(() => buckets.state(), { timeout: 5_000 }).toBe('ok');
      buckets.close();
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(lines().map(({ level }) => level)).toEqual([40, 30]);
      expect(lines()[0]!.msg).toMatch(/^Redis unreachable/);
      expect(lines()[1]!.msg).toMatch(/^Redis reachable again/);
    });

    it('has one line if Redis responds but stores nothing', async () => {
      const { log, lines } = recorder();
      const buckets = await openRedisBuckets(redis.url, log);
      await redis.client.config('SET', 'maxmemory', '1');
      const reservations = await Promise.all(Array.from({ length: 10 }, () => buckets.reserve('full', 1, 6)));
      expect(reservations.filter(({ admitted }) => admitted)).toHaveLength(6);
      await new Promise((resolve) => setTimeout(resolve, 2_200));
      expect(lines().map(({ reason }) => reason)).toEqual([expect.stringMatching(/OOM/)]);
      await redis.client.config('SET', 'maxmemory', '0');
      await expect.poll(() => buckets.state(), { timeout: 5_000 }).toBe('ok');
      buckets.close();
    });

    it('reports on startup that Redis is unreachable, without its password', async () => {
      const { log, lines } = recorder();
      const startedAt = performance.now();
      const buckets = await openRedisBuckets(NOBODY, log);
      expect(performance.now() - startedAt).toBeLessThan(1_500);
      expect(buckets.state()).toBe('away');
      const reservations = await Promise.all(Array.from({ length: 10 }, () => buckets.reserve('start', 1, 6)));
      expect(reservations.filter(({ admitted }) => admitted)).toHaveLength(6);
      buckets.close();
      expect(lines().map(({ reason }) => reason)).toEqual([expect.stringContaining('ECONNREFUSED')]);
      expect(JSON.stringify(lines())).not.toContain('hunter2');
    });
  });
});

const silent = pino({ level: 'silent' });

interface Line {
  level: number;
  msg: string;
  reason?: string;
}

function recorder(): { log: pino.Logger; lines(): Line[] } {
  const written: string[] = [];
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      written.push(String(chunk));
      done();
    },
  });
  return { log: pino(stream), lines: () => written.map((line) => JSON.parse(line) as Line) };
}
