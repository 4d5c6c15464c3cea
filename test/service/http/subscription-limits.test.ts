import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { OfferIndex } from '../../../src/domain/inventory/offer-index.js';
import { MAX_STREAMS_PER_ACCOUNT, MAX_STREAMS_PER_ADDRESS } from '../../../src/domain/updates/subscriptions.js';
import { type EventStream, type Subscribing, subscribe } from '../../support/events.js';
import { type Service, startService } from '../../support/service.js';

const INSTANCES = 'subscription($id: ID) { instanceChanged(id: $id) { id } }';
const BALANCE = 'subscription { balanceChanged { balance } }';
const OFFERS = 'subscription($limit: Int) { offersChanged(limit: $limit) { machineId } }';
const PATIENCE = { timeout: 10_000, interval: 10 };
/** A region with few machines, so that one page shows all of them. */
const REGION = 'eu-fi-hel';

let here: Service;
const open: EventStream[] = [];

beforeAll(async () => {
  here = await startService();
});
afterEach(async () => {
  for (const stream of open.splice(0)) stream.abort();
  await expect.poll(() => here.deps.subscriptions.size, PATIENCE).toBe(0);
});
afterAll(() => here.close());

interface Sheet {
  data: { slug: string; pricePerGpuHour: { onDemand: number } }[];
}

const priceOf = ({ data }: Sheet, gpu: string) => data.find(({ slug }) => slug === gpu)!.pricePerGpuHour.onDemand;

describe('open streams', () => {
  async function openMany(count: number, query: string, options: Subscribing): Promise<EventStream[]> {
    const streams = await Promise.all(Array.from({ length: count }, () => subscribe(here.address, query, options)));
    open.push(...streams);
    return streams;
  }
  const statuses = (streams: EventStream[]) => streams.map(({ status }) => status).sort();

  it('are limited per account across all fields, and free their slots when closed', async () => {
    const [ann, bob] = [await here.renter(), await here.renter()];
    const streams = [
      ...(await openMany(7, BALANCE, { key: ann.key })),
      ...(await Promise.all([openMany(7, INSTANCES, { key: ann.key }), openMany(6, OFFERS, { key: ann.key })])).flat(),
    ];
    const refused = streams.filter(({ status }) => status === 429);
    expect(statuses(streams)).toEqual([...Array(MAX_STREAMS_PER_ACCOUNT).fill(200), ...Array(10).fill(429)]);
    expect(here.deps.subscriptions.size).toBe(MAX_STREAMS_PER_ACCOUNT);
    expect(refused[0]!.headers.get('retry-after')).toBe('5');
    expect(await refused[0]!.next()).toMatchObject({ code: 'rate_limited' });
    // Another account has its own limit.
    expect(statuses(await openMany(1, BALANCE, { key: bob.key }))).toEqual([200]);
    const accepted = streams.filter(({ status }) => status === 200);
    for (const stream of accepted.slice(0, 3)) stream.abort();
    await expect.poll(() => here.deps.subscriptions.size, PATIENCE).toBe(MAX_STREAMS_PER_ACCOUNT + 1 - 3);
    expect(statuses(await openMany(5, BALANCE, { key: ann.key }))).toEqual([200, 200, 200, 429, 429]);
  });

  describe('without a key', () => {
    /** A gateway behind a proxy that reports the clients' addresses. */
    let behind: Service;
    const from = (address: string) => ({ headers: { 'x-forwarded-for': address }, variables: { limit: 1 } });
    const openFrom = async (address: string, count: number) => {
      const streams = await Promise.all(
        Array.from({ length: count }, () => subscribe(behind.address, OFFERS, from(address))),
      );
      open.push(...streams);
      return streams;
    };
    const accepted = (streams: EventStream[]) => streams.filter(({ status }) => status === 200).length;

    beforeAll(async () => {
      behind = await startService({ databaseUrl: here.databaseUrl, trustProxy: 1 });
    });
    afterEach(async () => {
      for (const stream of open.splice(0)) stream.abort();
      await expect.poll(() => behind.deps.subscriptions.size, PATIENCE).toBe(0);
    });
    afterAll(() => behind.close());

    it('are limited per address without affecting other addresses', async () => {
      const streams = await openFrom('198.51.100.7', MAX_STREAMS_PER_ADDRESS + 5);
      expect(accepted(streams)).toBe(MAX_STREAMS_PER_ADDRESS);
      const refused = streams.find(({ status }) => status === 429)!;
      expect(refused.headers.get('retry-after')).toBe('5');
      expect(await refused.next()).toMatchObject({ code: 'rate_limited' });
      expect(accepted(await openFrom('198.51.100.8', 3))).toBe(3);
      streams.find(({ status }) => status === 200)!.abort();
      await expect.poll(() => behind.deps.subscriptions.size, PATIENCE).toBe(MAX_STREAMS_PER_ADDRESS + 2);
      expect(accepted(await openFrom('198.51.100.7', 3))).toBe(1);
    });

    it('are limited per IPv6 /64 network, which a single customer may hold', async () => {
      const network = ['2001:db8:1:2::1', '2001:db8:1:2:3::', '2001:0db8:0001:0002:ffff:ffff:ffff:ffff'];
      const streams = (await Promise.all(network.map((address) => openFrom(address, 10)))).flat();
      expect(accepted(streams)).toBe(MAX_STREAMS_PER_ADDRESS);
      expect(accepted(await openFrom('2001:db8:1:3::1', 1))).toBe(1);
      expect(accepted(await openFrom('::ffff:203.0.113.9', 15))).toBe(15);
      expect(accepted(await openFrom('203.0.113.9', 15))).toBe(5);
    });

    it('are limited regardless of forged client addresses', async () => {
      const streams = await Promise.all(
        Array.from({ length: MAX_STREAMS_PER_ADDRESS + 5 }, (_, index) =>
          subscribe(here.address, OFFERS, from(`198.51.100.${index}`)),
        ),
      );
      open.push(...streams);
      expect(accepted(streams)).toBe(MAX_STREAMS_PER_ADDRESS);
    });

    it('never mix their selections if they share a list', async () => {
      const fields = 'machineId gpu numGpus region cpu vcpus ramGb diskGb ports pcie nvlink cudaMax reliability';
      for (let visitor = 0; visitor < 3; visitor += 1) {
        const query = `subscription S${visitor} { offersChanged(limit: 100) { own${visitor}: machineId ${fields} } }`;
        const stream = await subscribe(behind.address, query, {
          headers: { 'x-forwarded-for': `198.51.100.${visitor}` },
        });
        open.push(stream);
        const offers = await stream.next();
        expect(offers).toHaveLength(100);
        expect(Object.keys(offers[0])).toEqual([`own${visitor}`, ...fields.split(' ')]);
      }
    });

    it('compute each event only once if their subscriptions are equal', async () => {
      const query = `subscription { offersChanged(gpu: "h100-sxm", region: "${REGION}", limit: 100) { machineId regionInfo { name } } }`;
      const streams: EventStream[] = [];
      for (let visitor = 0; visitor < 12; visitor += 1) {
        const stream = await subscribe(behind.address, query, from(`198.51.100.${visitor}`));
        open.push(stream);
        streams.push(stream);
        await stream.next();
      }
      const { inventory } = behind.deps;
      const current = vi.spyOn(inventory, 'current');
      const machine = await behind.machine({ region: REGION });
      const events = await Promise.all(streams.map((stream) => stream.next()));
      const ids = events.map((offers: { machineId: string }[]) => offers.map(({ machineId }) => machineId));
      for (const list of ids) expect(list).toEqual(ids[0]);
      expect(ids[0]).toContain(machine);
      // Each stream compares the list, but `regionInfo` is read for only one of them.
      expect(current.mock.calls.length).toBeLessThan(3 * (streams.length + ids[0]!.length));
      current.mockRestore();
    });

    it('compute a new price sheet only once, even with streams that have keys', async () => {
      const query =
        'subscription { pricingChanged { marketSnapshot data { slug pricePerGpuHour { onDemand } gpuModel { name } } } }';
      const ann = await behind.renter();
      const streams: EventStream[] = [];
      const opened = async (options: Subscribing) => {
        const stream = await subscribe(behind.address, query, options);
        open.push(stream);
        streams.push(stream);
        expect((await stream.next()).marketSnapshot).not.toBe('2026-11-22');
      };
      for (let visitor = 0; visitor < 15; visitor += 1) {
        await opened({ headers: { 'x-forwarded-for': `198.51.100.${visitor}` } });
      }
      for (let tab = 0; tab < MAX_STREAMS_PER_ACCOUNT; tab += 1) await opened({ key: ann.key });

      const { inventory } = behind.deps;
      const models = (await inventory.current()).catalogue.gpuModels.length;
      const counted = vi.spyOn(OfferIndex.prototype, 'availableGpus');
      const current = vi.spyOn(inventory, 'current');
      await behind.publish('2026-11-22', { 'h100-sxm': 4.56 });
      // The two rows of a sheet may be notified separately.
      const texts = await Promise.all(
        streams.map(async (stream) => {
          let sheet = await stream.next();
          while (priceOf(sheet, 'h100-sxm') !== 4.56) sheet = await stream.next();
          return JSON.stringify(sheet);
        }),
      );
      expect(new Set(texts).size).toBe(1);
      // A sheet's counts and its models are read per event, not for each of 25 streams.
      expect(counted.mock.calls.length).toBeLessThanOrEqual(5 * models);
      expect(current.mock.calls.length).toBeLessThanOrEqual(5 * (models + 3 * streams.length));
      counted.mockRestore();
      current.mockRestore();
    });
  });

  it('exclude refused streams', async () => {
    const renter = await here.renter();
    const refused = await openMany(15, OFFERS, { key: renter.key, variables: { limit: 1_000 } });
    expect(statuses(refused)).toEqual(Array(15).fill(200));
    for (const stream of refused) expect(await stream.next()).toMatchObject({ code: 'invalid_request' });
    const wrongIds = await openMany(10, INSTANCES, { key: renter.key, variables: { id: 'i-00000000' } });
    for (const stream of wrongIds) expect(await stream.next()).toMatchObject({ code: 'not_found' });
    expect(statuses(await openMany(10, BALANCE, { key: renter.key }))).toEqual(Array(10).fill(200));
  });

  it('all end after clients disconnect, early or late, without leaking timers', async () => {
    const renter = await here.renter();
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    await (await openMany(1, BALANCE, { key: renter.key }))[0]!.next();
    for (const stream of open.splice(0)) stream.abort();
    await expect.poll(() => here.deps.subscriptions.size, PATIENCE).toBe(0);
    const before = timers();
    for (let round = 0; round < 4; round += 1) {
      const controller = new AbortController();
      const late = await openMany(5, BALANCE, { key: renter.key });
      const early = Array.from({ length: 5 }, () =>
        subscribe(here.address, INSTANCES, { key: renter.key, signal: controller.signal }).catch(() => null),
      );
      await expect.poll(() => here.deps.subscriptions.size, PATIENCE).toBeGreaterThan(5);
      controller.abort();
      for (const stream of late) stream.abort();
      await Promise.all(early);
      await expect.poll(() => here.deps.subscriptions.size, PATIENCE).toBe(0);
    }
    // Each open stream has a timer for its comments. The number of the pool's few timers varies.
    await expect.poll(timers, PATIENCE).toBeLessThan(before + 20);
  });

  it('exclude streams whose clients disconnect while subscribing', async () => {
    const renter = await here.renter();
    // This caches the key, so only the streams read the table that is locked below.
    await renter.rest('GET', '/balance');
    const blocker = await here.deps.db.pool.connect();
    try {
      await blocker.query('begin; lock table api_key in access exclusive mode');
      const controller = new AbortController();
      const opening = Array.from({ length: 10 }, () =>
        subscribe(here.address, BALANCE, { key: renter.key, signal: controller.signal }).catch(() => null),
      );
      await expect.poll(() => here.deps.subscriptions.size, PATIENCE).toBe(10);
      controller.abort();
      await Promise.all(opening);
      await expect.poll(() => here.deps.subscriptions.size, PATIENCE).toBe(0);
    } finally {
      await blocker.query('rollback');
      blocker.release();
    }
    await (await openMany(1, BALANCE, { key: renter.key }))[0]!.next();
  });
});
