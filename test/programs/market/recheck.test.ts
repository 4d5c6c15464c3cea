import { mkdirSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createDeps, type Deps } from '../../../src/compose/deps.js';
import { openDatabase } from '../../../src/database/database.js';
import type { Settings } from '../../../src/domain/kernel/settings.js';
import { formatInstant } from '../../../src/domain/kernel/time.js';
import { readListings } from '../../../src/domain/market/listings.js';
import { planSnapshot, publishPlan } from '../../../src/domain/market/market.js';
import { priceSheet } from '../../../src/domain/market/pricing.js';
import {
  type RecheckEvent,
  type RecheckOptions,
  recheckIfDue,
  recheckStatus,
} from '../../../src/domain/market/recheck.js';
import { TestClock, testSettings } from '../../support/clock.js';
import { createTestDatabase } from '../../support/database.js';
import { csv, listings, MARKET_HEADER, type MarketSource, market, openMarketSource } from '../../support/market.js';
import { cleanUp, folder } from '../../support/process.js';

const WEEK = 7 * 86_400;
const MONDAY = '2026-11-23T04:00:00Z';

let url: string;
let deps: Deps & { clock: TestClock };
let source: MarketSource;
let monday: string;
let events: RecheckEvent[];

beforeAll(async () => {
  url = await createTestDatabase();
  source = await openMarketSource();
  const settings = testSettings({ marketSource: source.url });
  const clock = new TestClock(MONDAY);
  deps = { ...createDeps(openDatabase(url), clock, settings), clock };
});
afterAll(async () => {
  await deps.db.close();
  await source.close();
  await cleanUp();
});
beforeEach(() => {
  // Each test runs on its own Monday at four o'clock.
  const now = new Date(MONDAY);
  now.setUTCDate(now.getUTCDate() + 7 * weeks);
  weeks += 1;
  deps.clock.set(now.toISOString());
  monday = now.toISOString().slice(0, 10);
  events = [];
  source.answers(csv(market()));
});
let weeks = 0;

function look(options: Partial<RecheckOptions> = {}, by: Deps = deps) {
  const onEvent = (event: RecheckEvent) => void events.push(event);
  return recheckIfDue(by, { onEvent, signal: new AbortController().signal, ...options });
}

/** Returns the state of another process on the same database. */
function other(settings: Partial<Settings> = {}): Deps {
  return createDeps(openDatabase(url), deps.clock, { ...deps.settings, ...settings });
}

function withSettings(settings: Partial<Settings>): Deps {
  return { ...deps, settings: { ...deps.settings, ...settings } };
}

async function rows(text: string, values: unknown[] = []) {
  return (await deps.db.pool.query(text, values)).rows;
}

async function sheet() {
  await deps.db.notices.caughtUp();
  const { marketSnapshot, data } = await priceSheet(deps);
  const price = (slug: string) => data.find((entry) => entry.slug === slug)!;
  return { marketSnapshot, price };
}

const recheck = async () =>
  (await rows(`select status, attempts, error from market_recheck order by day desc limit 1`))[0];
const sheets = () => rows('select * from gpu_price order by snapshot_date, gpu');

/** Resolves once the next request has arrived, with a function that responds to it. */
function held(): Promise<() => void> {
  return new Promise((resolve) => {
    source.answers((request, response) => resolve(() => csv(market())(request, response)));
  });
}

describe('a due re-check', () => {
  test('publishes a sheet dated today, with the medians of the listings', async () => {
    const unknown = ['x,rtx-9090,1,3,us', 'x,rtx-4090,0,3,us'].join('\n');
    source.answers(csv(`${market(listings('rtx-4090', '0.80'))}\n${unknown}`));
    const before = source.requests();
    // Monday's missed re-check is made up for.
    deps.clock.advance(2 * 86_400);
    expect(await look()).toBeNull();
    const wednesday = formatInstant(deps.clock.now()).slice(0, 10);
    const { marketSnapshot, price } = await sheet();
    expect(marketSnapshot).toBe(wednesday);
    expect(price('rtx-4090')).toMatchObject({ marketMedian: 800_000n, listings: 5 });
    expect(price('rtx-4090').pricePerGpuHour.onDemand).toBe(560_000n);
    expect(price('gb200')).toMatchObject({ marketMedian: null, pricePerGpuHour: { onDemand: 5_950_000n } });
    expect(events).toEqual([
      { kind: 'started', attempt: 1, attempts: 4 },
      { kind: 'succeeded', sheet: wednesday, listings: 355, leftOut: 2, models: 71, changedPrices: 1 },
    ]);
    expect(source.requests()).toBe(before + 1);
    expect(await recheck()).toEqual({ status: 'PUBLISHED', attempts: 1, error: null });
  });

  test('runs once per day and once per scheduled time', async () => {
    const before = source.requests();
    expect(await look()).toBeNull();
    expect(await look()).toBeNull();
    deps.clock.advance(6 * 86_400 + 86_399);
    expect(await look()).toBeNull();
    expect(source.requests()).toBe(before + 1);
    deps.clock.advance(1);
    expect(await look()).toBeNull();
    expect(source.requests()).toBe(before + 2);
    weeks += 1;
  });

  test('runs once per day regardless of how often it is due', async () => {
    const minutely = withSettings({ marketSchedule: '* * * * *' });
    const before = source.requests();
    for (const seconds of [0, 60, 3_600, 60_000]) {
      deps.clock.advance(seconds);
      expect(await look({}, minutely)).toBeNull();
    }
    expect(source.requests()).toBe(before + 1);
    deps.clock.set(`${monday}T23:59:59Z`);
    deps.clock.advance(1);
    await look({}, minutely);
    expect(source.requests()).toBe(before + 2);
  });

  test('runs in only one of two processes at a time and isn’t repeated by the other', async () => {
    const second = other();
    const before = source.requests();
    const asked = held();
    const first = look();
    const answer = await asked;
    expect(await look({}, second)).toBe(deps.clock.now() + 60n);
    answer();
    expect(await first).toBeNull();
    expect(await look({}, second)).toBeNull();
    expect(source.requests()).toBe(before + 1);
    expect(events.map(({ kind }) => kind)).toEqual(['started', 'succeeded']);
    await second.db.close();
  });

  test('isn’t repeated by a process that had to wait for a connection', async () => {
    const own = other();
    const before = source.requests();
    let go = () => {};
    const free = new Promise<void>((resolve) => {
      go = resolve;
    });
    let waits = () => {};
    const waiting = new Promise<void>((resolve) => {
      waits = resolve;
    });
    const connect = async () => {
      waits();
      await free;
      return own.db.pool.connect();
    };
    const late = (pool: object, name: string | symbol) => (name === 'connect' ? connect : Reflect.get(pool, name));
    // Only the domain's own connection waits. The due re-checks have already been read.
    const second = { ...own, db: { ...own.db, pool: new Proxy<typeof own.db.pool>(own.db.pool, { get: late }) } };
    const later = look({}, second);
    await waiting;
    expect(await look()).toBeNull();
    go();
    expect(await later).toBeNull();
    expect(events.map(({ kind }) => kind)).toEqual(['started', 'succeeded']);
    expect(source.requests()).toBe(before + 1);
    await own.db.close();
  });

  test('runs once for many concurrent checks', async () => {
    const processes = Array.from({ length: 4 }, () => other());
    const before = source.requests();
    await Promise.all([...processes, ...processes].map((process) => look({}, process)));
    expect(source.requests()).toBe(before + 1);
    expect(await rows(`select 1 from market_snapshot where date = $1`, [monday])).toHaveLength(1);
    await Promise.all(processes.map(({ db }) => db.close()));
  });

  test('counts as done after a manual import, even if it happens during the re-check', async () => {
    const imported = async () => {
      const listing = { line: 2, listingId: 'x', gpuSlug: 'l4', numGpus: '1', priceUsdHour: '0.9' };
      const today = formatInstant(deps.clock.now()).slice(0, 10);
      const plan = await planSnapshot(deps, today, (models) => readListings(models, one(listing)));
      await publishPlan(deps, plan, null);
    };
    async function* one<T>(value: T) {
      yield value;
    }
    await imported();
    const before = source.requests();
    expect(await look()).toBeNull();
    expect(source.requests()).toBe(before);
    expect(events).toEqual([{ kind: 'current', sheet: monday }]);
    expect(await look()).toBeNull();
    expect(events).toHaveLength(1);

    deps.clock.advance(WEEK);
    weeks += 1;
    const asked = held();
    const trying = look();
    const answer = await asked;
    await imported();
    const theirs = await sheets();
    answer();
    expect(await trying).toBeNull();
    expect(events.map(({ kind }) => kind)).toEqual(['current', 'started', 'current']);
    expect(await recheck()).toMatchObject({ status: 'CURRENT', error: null });
    expect(await sheets()).toEqual(theirs);
  });
});

describe('the source', () => {
  test('may be a file with an absolute path or a path in the gateway’s folder', async () => {
    const path = join(folder(), 'listings of the week.csv');
    writeFileSync(path, market(listings('l4', '1.20')));
    expect(await look({}, withSettings({ marketSource: path }))).toBeNull();
    expect((await sheet()).price('l4').marketMedian).toBe(1_200_000n);
  });

  test('may be compressed and redirect 5 times, but not pass credentials to other hosts', async () => {
    const elsewhere = await openMarketSource();
    const seen: (string | undefined)[] = [];
    source.answers((request, response) => {
      seen.push(request.headers.authorization);
      const hops = Number(new URL(request.url!, source.url).searchParams.get('hops') ?? 0);
      const location = hops < 4 ? `?hops=${hops + 1}` : elsewhere.url;
      response.writeHead(302, { location }).end();
    });
    elsewhere.answers((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(market()));
    });
    const marketSource = source.url.replace('//', '//ann:s%3Acret@');
    const ours = withSettings({ marketSource });
    expect(await look({}, ours)).toBeNull();
    expect((await sheet()).marketSnapshot).toBe(monday);
    const basic = `Basic ${Buffer.from('ann:s:cret').toString('base64')}`;
    expect(seen).toEqual([basic, basic, basic, basic, basic, undefined]);
    expect((await recheckStatus(ours)).source).toBe(source.url);
    await elsewhere.close();
  });

  const status =
    (code: number, headers = {}): RequestListener =>
    (_request, response) =>
      response.writeHead(code, headers).end(market());
  const never: RequestListener = () => {};
  const cutShort: RequestListener = (_request, response) => {
    const text = market();
    response.writeHead(200, { 'content-length': text.length + 1 });
    response.write(text, () => response.destroy());
  };
  const few = { timeoutMs: 120_000, maxBytes: 5_000 };
  const short = { timeoutMs: 50, maxBytes: 1_000_000 };
  const unreadable = Array.from({ length: 400 }, () => 'x,l4,1,$1.20,us').join('\n');

  test.each<[string, RequestListener, RegExp, RecheckOptions['limits']?]>([
    ['answers 500', status(500), /^the source responded with status 500$/],
    ['answers 404 with listings', status(404), /^the source responded with status 404$/],
    ['never answers', never, /^the source was not read within 0.05 s$/, short],
    [
      'begins and never ends',
      (_, response) => void response.write(MARKET_HEADER),
      /^the source was not read within/,
      short,
    ],
    ['is too large', csv(market()), /^the source is larger than 5000 bytes$/, few],
    [
      'is too large unpacked',
      (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(market())),
      /^the source is larger than 5000 bytes$/,
      few,
    ],
    ['is cut short', cutShort, /^the source can't be read: /],
    ['redirects in circles', status(302, { location: '/again' }), /^the source redirects more than 5 times$/],
    [
      'redirects to a file',
      status(302, { location: 'file:///etc/passwd' }),
      /^the source redirects to a URL that isn't http or https$/,
    ],
    [
      'is a web page',
      csv('<!doctype html>\n<p>Away, sorry'),
      /^the source is missing the columns listing_id, gpu_slug/,
    ],
    ['is empty', csv(''), /^the file has no listings for known models$/],
    ['has no known model', csv(`${MARKET_HEADER}x,rtx-9090,1,3,us`), /^the file has no listings for known models$/],
    ['is one endless cell', csv(`${MARKET_HEADER}"${'x,'.repeat(4_000_000)}`), /^the source can't be read: /],
    ['isn’t CSV', csv(`${MARKET_HEADER}x,"l4`), /^the source can't be read: /],
    [
      'is mostly unreadable',
      csv(`${market()}\n${unreadable}`),
      /^most of the source's rows can't be read; the first of them is on line 357/,
    ],
    ['raises a price too far', csv(market(listings('l4', '9'))), /^prices would move by more than 50%: l4 \d+%$/],
    [
      'has shrunk to one row',
      csv(market().split('\n').slice(0, 2).join('\n')),
      /^more than 50% of the models would lose their median: 71 of 71$/,
    ],
    ['cuts a price too far', csv(market(listings('l4', '0.05'))), /^prices would move by more than 50%: l4 -\d+%$/],
  ])('doesn’t change the sheet if it %s, and is retried until it works', async (_name, answer, reason, limits) => {
    const before = await sheets();
    source.answers(answer);
    const retryAt = deps.clock.now() + 60n;
    expect(await look({ ...(limits && { limits }) })).toBe(retryAt);
    expect(events.slice(1)).toEqual([
      { kind: 'failed', attempt: 1, attempts: 4, reason: expect.stringMatching(reason), nextAttemptAt: retryAt },
    ]);
    expect(await sheets()).toEqual(before);
    expect(await recheck()).toMatchObject({ status: 'TRYING', attempts: 1, error: expect.stringMatching(reason) });

    source.answers(csv(market()));
    const asked = source.requests();
    deps.clock.advance(59);
    expect(await look()).toBe(retryAt);
    expect(source.requests()).toBe(asked);
    deps.clock.advance(1);
    expect(await look()).toBeNull();
    expect(events.slice(2)).toEqual([
      { kind: 'started', attempt: 2, attempts: 4 },
      expect.objectContaining({ kind: 'succeeded', sheet: monday }),
    ]);
  });

  test.each([
    ['refuses connections', async () => closedAddress(), /ECONNREFUSED/],
    ['is missing', async () => join(folder(), 'absent.csv'), /ENOENT/],
    ['is a folder', async () => folderNamed('listings.csv'), /EISDIR/],
  ])('is also retried if it %s, without showing its URL or path', async (_name, place, code) => {
    const marketSource = await place();
    const before = await sheets();
    await look({}, withSettings({ marketSource }));
    const { reason } = events[1] as { reason: string };
    expect(reason).toMatch(code);
    expect(reason).not.toContain(marketSource.replace(/^http:\/\/|\/[^/]*$/g, ''));
    expect(await sheets()).toEqual(before);
    deps.clock.advance(60);
    expect(await look()).toBeNull();
    expect((await sheet()).marketSnapshot).toBe(monday);
  });

  async function closedAddress(): Promise<string> {
    const closed = await openMarketSource();
    await closed.close();
    return closed.url;
  }

  function folderNamed(name: string): string {
    const path = join(folder(), name);
    mkdirSync(path);
    return path;
  }

  test('is abandoned after four attempts until the schedule is due again', async () => {
    source.answers(status(503));
    const before = source.requests();
    for (const wait of [60, 300, 1_500]) {
      expect(await look()).toBe(deps.clock.now() + BigInt(wait));
      deps.clock.advance(wait);
    }
    expect(await look()).toBeNull();
    expect(events.at(-1)).toMatchObject({ kind: 'failed', attempt: 4, nextAttemptAt: null });
    expect(await recheck()).toEqual({ status: 'FAILED', attempts: 4, error: 'the source responded with status 503' });
    source.answers(csv(market()));
    for (const seconds of [3_600, 5 * 86_400]) {
      deps.clock.advance(seconds);
      expect(await look()).toBeNull();
    }
    expect(source.requests()).toBe(before + 4);
    deps.clock.set(`${monday}T04:00:00Z`);
    deps.clock.advance(WEEK);
    weeks += 1;
    expect(await look()).toBeNull();
    expect(events.at(-1)).toMatchObject({ kind: 'succeeded' });
  });

  test('may change prices by at most the configured maximum', async () => {
    const before = source.requests();
    const strict = withSettings({ marketMaxJumpPercent: 20 });
    source.answers(csv(market(listings('rtx-4090', '0.80'))));
    await look({}, strict);
    expect(events[1]).toMatchObject({ kind: 'failed', reason: 'prices would move by more than 20%: rtx-4090 27%' });
    deps.clock.advance(60);
    await look();
    expect(events[3]).toMatchObject({ kind: 'succeeded', changedPrices: 1 });
    expect(source.requests()).toBe(before + 2);
  });
});

describe('a source’s content', () => {
  const next = async (text: string) => {
    deps.clock.advance(WEEK);
    weeks += 1;
    source.answers(csv(text));
    await look();
    const { price } = await sheet();
    return [events.at(-1)!.kind, price('rtx-4090').pricePerGpuHour.onDemand];
  };

  test('may raise or lower a price by exactly the limit but no further', async () => {
    await look();
    expect((await sheet()).price('rtx-4090').pricePerGpuHour.onDemand).toBe(440_000n);
    expect(await next(market(listings('rtx-4090', '0.958')))).toEqual(['failed', 440_000n]);
    expect(events.at(-1)).toMatchObject({ reason: 'prices would move by more than 50%: rtx-4090 52%' });
    expect(await next(market(listings('rtx-4090', '0.943')))).toEqual(['succeeded', 660_000n]);
    expect(await next(market(listings('rtx-4090', '0.471')))).toEqual(['failed', 660_000n]);
    expect(events.at(-1)).toMatchObject({ reason: 'prices would move by more than 50%: rtx-4090 -51%' });
    expect(await next(market(listings('rtx-4090', '0.472')))).toEqual(['succeeded', 330_000n]);
    expect(await next(market())).toEqual(['succeeded', 440_000n]);
  });

  test('may have listings with values up to their bounds, but not beyond', async () => {
    const rows = [
      'gb200,1024,100',
      'gb200,1,1000000',
      'gb200,1,0.000001',
      // The rows from here on are skipped.
      'gb200,1025,100',
      'gb200,0,100',
      'gb200,1.5,100',
      'gb200,1,1000000.000001',
      'gb200,1,0',
      'gb200,1,-1',
      'gb200,1,0.0000001',
      ',1,100',
    ];
    source.answers(csv(`${market()}\n${rows.map((row, index) => `y-${index},${row},us`).join('\n')}`));
    await look();
    expect(events.at(-1)).toMatchObject({ kind: 'succeeded', listings: 355 + 3, leftOut: 8 });
  });
});

describe('an interrupted attempt', () => {
  const lockHolders = () =>
    rows(
      `select pid from pg_locks join pg_database on pg_database.oid = database
       where locktype = 'advisory' and objid = 4207003 and granted and datname = current_database()`,
    );

  test('records nothing if it loses its connection, letting another process take over', async () => {
    const second = other();
    const asked = held();
    const first = look();
    const answer = await asked;
    const [{ pid }] = await lockHolders();
    await rows('select pg_terminate_backend($1)', [pid]);
    // The response hasn't arrived. The attempt ended because it lost the lock.
    expect(await first).toBe(deps.clock.now() + 60n);
    expect(events.map(({ kind }) => kind)).toEqual(['started']);
    await expect.poll(lockHolders, { timeout: 20_000 }).toEqual([]);
    answer();
    source.answers(csv(market(listings('l4', '1.10'))));
    expect(await look({}, second)).toBeNull();
    expect(events.slice(1)).toEqual([
      { kind: 'started', attempt: 2, attempts: 4 },
      expect.objectContaining({ kind: 'succeeded', sheet: monday }),
    ]);
    expect((await sheet()).price('l4').marketMedian).toBe(1_100_000n);
    await second.db.close();
  });

  test('ends with the gateway and doesn’t count', async () => {
    const before = await sheets();
    const ending = new AbortController();
    const asked = held();
    const trying = look({ signal: ending.signal });
    await asked;
    ending.abort();
    await trying;
    expect(events.map(({ kind }) => kind)).toEqual(['started']);
    expect(await recheck()).toEqual({ status: 'TRYING', attempts: 0, error: null });
    expect(await sheets()).toEqual(before);
    source.answers(csv(market()));
    expect(await look()).toBeNull();
    expect(events.slice(1)).toMatchObject([{ kind: 'started', attempt: 1 }, { kind: 'succeeded' }]);
  });

  test('ends the re-check if it was the last one and its process crashed', async () => {
    await rows(`insert into market_recheck (day, attempts, started_at, next_attempt_at) values ($1, 4, $2, $2)`, [
      monday,
      `${monday}T04:00:00Z`,
    ]);
    const before = source.requests();
    expect(await look()).toBeNull();
    expect(events).toEqual([
      {
        kind: 'failed',
        attempt: 4,
        attempts: 4,
        reason: 'the process making the attempt crashed',
        nextAttemptAt: null,
      },
    ]);
    expect(await recheck()).toMatchObject({ status: 'FAILED', attempts: 4 });
    expect(source.requests()).toBe(before);
  });
});
