import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createTopUp } from '../../../src/domain/top-ups/create-top-up.js';
import { reconcile } from '../../../src/domain/top-ups/reconcile.js';
import { startGateway } from '../../support/gateway.js';
import { openShop, read, type Shop, topUp } from '../../support/payments/shop.js';

describe('createTopUp', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop({ gateways: 2 });
  });
  afterEach(() => {
    shop.shkeeper.mode = 'ok';
  });
  afterAll(() => shop.close());

  test.each(['down', 'slow', 'nonsense', 'error'] as const)(
    'returns a 503 for a failing processor (%s) without delaying other requests',
    async (mode) => {
      const renter = await shop.gateway.renter('20');
      shop.shkeeper.mode = mode;
      const mutation = 'mutation ($input: CreateTopUpInput!) { createTopUp(input: $input) { id } }';
      const create = (idempotencyKey: string) =>
        renter.graphql(mutation, { input: { asset: 'LTC', usd: 50, idempotencyKey } });
      // There are more requests than database connections, since no connection is held in the meantime. Each request
      // has its own key, because requests with one key wait for each other.
      const waiting = Array.from({ length: 40 }, (_, index) => create(`key-${index}`));
      const readings = await Promise.all(Array.from({ length: 20 }, () => renter.rest('GET', '/balance')));
      expect(new Set(readings.map(({ status }) => status))).toEqual(new Set([200]));
      for (const { body } of await Promise.all(waiting)) {
        expect(body.data.createTopUp).toBeNull();
        expect(body.errors[0].extensions).toMatchObject({ code: 'unavailable', status: 503, retryAfterSeconds: 10 });
        expect(JSON.stringify(body)).not.toContain('Traceback');
      }
      shop.shkeeper.mode = 'ok';
      expect((await create('key-0')).body.data.createTopUp.id).toMatch(/^t-[0-9a-f]{20}$/);
    },
  );

  test('returns the same top-up for the same idempotency key and rejects different input', async () => {
    const renter = await shop.gateway.renter('0');
    const { deps } = shop.gateway;
    const input = { asset: 'ltc', usd: 50_000_000n, idempotencyKey: 'one' };
    const created = await Promise.all(
      Array.from({ length: 10 }, (_, index) => createTopUp(shop.gateways[index % 2]!.deps, renter.accountId, input)),
    );
    expect(new Set(created.map((each) => each.topUp.id)).size).toBe(1);
    expect(created.filter(({ replayed }) => !replayed)).toHaveLength(1);
    // Unreported invoices may remain, but no id was used for two amounts.
    expect(new Set(shop.shkeeper.invoices.map(({ externalId }) => externalId)).size).toBe(
      shop.shkeeper.invoices.length,
    );
    await expect(createTopUp(deps, renter.accountId, { ...input, usd: 60_000_000n })).rejects.toMatchObject({
      code: 'idempotency_mismatch',
    });
  });

  test('rejects invalid amounts and assets, and more than 20 unpaid top-ups', async () => {
    const renter = await shop.gateway.renter('0');
    const { deps } = shop.gateway;
    const { body } = await renter.graphql('mutation { createTopUp(input: { asset: "LTC", usd: 50.0000001 }) { id } }');
    expect(body.errors[0].message).toContain('at most 6 decimals');
    const make = (asset: string, usd: bigint) => createTopUp(deps, renter.accountId, { asset, usd });
    await expect(make('LTC', 4_999_999n)).rejects.toMatchObject({ code: 'invalid_request', field: 'usd' });
    await expect(make('LTC', 100_000_000_001n)).rejects.toMatchObject({ field: 'usd' });
    await expect(make('DOGE', 5_000_000n)).rejects.toMatchObject({ code: 'invalid_request', field: 'asset' });
    await expect(make('USDT', 5_000_000n)).rejects.toMatchObject({ code: 'invalid_request', field: 'asset' });
    await expect(make('BTC', 5_000_000n)).rejects.toMatchObject({ code: 'invalid_request', field: 'asset' });
    for (let index = 0; index < 20; index += 1) await make('LTC', 5_000_000n);
    await expect(make('LTC', 5_000_000n)).rejects.toMatchObject({ code: 'action_failed' });
  });

  test("creates a top-up that other accounts can't read", async () => {
    const created = await topUp(await shop.gateway.renter('0'), 50);
    const other = await shop.gateway.renter('0');
    const odd = await other.graphql(`{ topUp(id: "\\u0000") { id } }`);
    expect([odd.status, odd.body]).toEqual([200, { data: { topUp: null } }]);
    const { body } = await other.graphql(`{ topUp(id: "${created.id}") { id } topUps { id } }`);
    expect(body.data).toEqual({ topUp: null, topUps: [] });
  });

  test('is refused with a reason if there is no processor', async () => {
    const gateway = await startGateway();
    const renter = await gateway.renter('0');
    const { body } = await renter.graphql('mutation { createTopUp(input: { asset: "LTC", usd: 50 }) { id } }');
    expect(body.errors[0]).toMatchObject({
      message: "this service doesn't accept top-ups: its operator has not set up a payment processor",
      extensions: { code: 'action_failed' },
    });
    expect((await renter.graphql('{ topUpAssets { code } topUps { id } }')).body.data).toEqual({
      topUpAssets: [],
      topUps: [],
    });
    expect((await fetch(`${gateway.address}/payments/callback`, { method: 'POST' })).status).toBe(404);
    await gateway.close();
  });
});

describe('a lost payment callback', () => {
  let shop: Shop | undefined;
  afterEach(async () => {
    await shop?.close();
    shop = undefined;
  });

  test('is repeated until it gets a 202', async () => {
    shop = await openShop();
    const renter = await shop.gateway.renter('0');
    const created = await topUp(renter, 50);
    await shop.chain.pay(created.address, created.amount);
    await shop.chain.mine(6);
    shop.shkeeper.loses = true;
    for (let minute = 0; minute < 3; minute += 1) {
      await shop.shkeeper.poll();
      shop.gateway.clock.advance(60);
    }
    // The sweep learns from SHKeeper that a block includes it, but not that it is final, so it is shown and not
    // credited.
    await reconcile(shop.gateway.deps, () => {});
    expect(await read(renter, created.id)).toMatchObject({ state: 'CONFIRMING', confirmations: 1, balance: 0 });
    shop.shkeeper.loses = false;
    await shop.shkeeper.poll();
    expect(await read(renter, created.id)).toMatchObject({ state: 'CREDITED', balance: 50 });
  });

  test('is recovered by the next sweep if the database refuses its booking', async () => {
    shop = await openShop();
    const { deps, clock } = shop.gateway;
    const renter = await shop.gateway.renter('0');
    const created = await topUp(renter, 50);
    await shop.chain.pay(created.address, created.amount);
    await shop.chain.mine(6);
    shop.shkeeper.loses = true;
    await shop.shkeeper.poll();
    await deps.db.pool.query(
      `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
       create trigger refuse before insert on payment for each row execute function refuse()`,
    );
    clock.advance(60);
    await expect(reconcile(deps, () => {})).rejects.toThrow('refused');
    await deps.db.pool.query('drop trigger refuse on payment');
    // This happens immediately, since a top-up whose payments were not booked doesn't count as checked.
    expect(await reconcile(deps, () => {})).toBe(1);
    expect(await read(renter, created.id)).toMatchObject({ state: 'CONFIRMING' });
  });

  test("is recovered for last week's top-up while one of its payments is pending", async () => {
    shop = await openShop();
    const { deps, clock } = shop.gateway;
    const renter = await shop.gateway.renter('0');
    const created = await topUp(renter, 600);
    await shop.chain.pay(created.address, created.amount);
    await shop.chain.mine(6);
    clock.advance(8 * 86_400);
    const { shkeeper } = shop;
    shkeeper.mode = 'down';
    await shkeeper.poll();
    expect(await read(renter, created.id)).toMatchObject({ state: 'QUARANTINED', balance: 0 });
    shkeeper.mode = 'ok';
    clock.advance(60);
    expect(await reconcile(deps, () => {})).toBe(1);
    expect(await read(renter, created.id)).toMatchObject({ state: 'LATE', credited: 600 });
  });

  test('is recovered even if the processor knows nothing about ten older top-ups', async () => {
    shop = await openShop();
    const { deps, clock } = shop.gateway;
    const renter = await shop.gateway.renter('0');
    for (let index = 0; index < 10; index += 1) shop.shkeeper.broken.add((await topUp(renter, 50)).id);
    clock.advance(1);
    const created = await topUp(renter, 50);
    await shop.chain.pay(created.address, created.amount);
    await shop.chain.mine(6);
    shop.shkeeper.loses = true;
    await shop.shkeeper.poll();
    clock.advance(60);
    for (let round = 0; round < 3; round += 1) await reconcile(deps, () => {});
    expect(await read(renter, created.id)).toMatchObject({ state: 'CONFIRMING' });
  });

  test('is checked for once a minute per top-up, by one gateway at a time', async () => {
    shop = await openShop({ gateways: 2 });
    const renter = await shop.gateway.renter('0');
    for (let index = 0; index < 3; index += 1) await topUp(renter, 50);
    for (const { clock } of shop.gateways) clock.advance(60);
    const rounds = await Promise.all(shop.gateways.map(({ deps }) => reconcile(deps, () => {})));
    expect(rounds.reduce((sum: number, checked) => sum + (checked ?? 0), 0)).toBe(3);
    expect(await reconcile(shop.gateway.deps, () => {})).toBe(0);
  });
});
