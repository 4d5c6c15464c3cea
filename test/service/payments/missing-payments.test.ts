import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findMissingPayments } from '../../../src/domain/top-ups/missing-payments.js';
import { startGateway, type TestGateway } from '../../support/gateway.js';
import { STORE, TestBtcpay } from '../../support/payments/btcpay.js';
import { WrittenChain } from '../../support/payments/chain.js';
import { openShop, read, type Shop, topUp } from '../../support/payments/shop.js';

/** Payments that the processor reported before the database was restored to an earlier time. */

/** Removes a top-up, as if the database had been restored to a time before it. */
async function forget({ deps }: TestGateway, id: string): Promise<void> {
  await deps.db.pool.query('delete from top_up where id = $1', [id]);
}

describe('with SHKeeper', () => {
  let shop: Shop;
  let chain: WrittenChain;
  beforeAll(async () => {
    chain = new WrittenChain();
    shop = await openShop({ chains: { LTC: chain } });
  });
  afterAll(() => shop.close());

  test('finds the payments of known and unknown top-ups, and books only the known ones', async () => {
    const { gateway, shkeeper } = shop;
    const renter = await gateway.renter('0');
    const [known, unknown, kept] = [await topUp(renter, 50), await topUp(renter, 50), await topUp(renter, 50)];
    await topUp(renter, 50);
    await chain.pay(kept.address, '0.625');
    await chain.mine(6);
    await shkeeper.poll();
    // SHKeeper's callbacks about these payments were answered after the restored time.
    shkeeper.loses = true;
    const [first, second] = [await chain.pay(known.address, '0.625'), await chain.pay(unknown.address, '0.625')];
    await chain.mine(6);
    await shkeeper.poll();
    await forget(gateway, unknown.id);
    const found = await findMissingPayments(gateway.deps, 0n, false);
    expect(found).toMatchObject([
      {
        topUpId: known.id,
        accountId: expect.any(String),
        payment: { transaction: first, usd: 50_000_000n },
        booked: null,
      },
      { topUpId: unknown.id, accountId: null, payment: { transaction: second, usd: 50_000_000n }, booked: null },
    ]);
    const booked = await findMissingPayments(gateway.deps, 0n, true);
    // SHKeeper says only in its callback that a payment is final, and doesn't repeat the callback.
    expect(booked.map((each) => each.booked)).toEqual(['CONFIRMING', null]);
    expect((await findMissingPayments(gateway.deps, 0n, true)).map(({ topUpId }) => topUpId)).toEqual([unknown.id]);
  });
});

describe('with BTCPay Server', () => {
  let gateway: TestGateway;
  let btcpay: TestBtcpay;
  beforeAll(async () => {
    btcpay = new TestBtcpay('key', 'secret', () => Number(gateway.clock.now()));
    const settings = { payments: 'btcpay' as const, paymentsUrl: await btcpay.listen(), paymentsKey: 'key' };
    gateway = await startGateway({ ...settings, paymentsSecret: 'secret', paymentsStore: STORE });
  });
  afterAll(async () => {
    await gateway.close();
    await btcpay.close();
  });

  test('finds invoices from up to a month before, and credits a known payment once', async () => {
    const renter = await gateway.renter('0');
    const paid = async (transaction: string) => {
      const { id } = await topUp(renter, 50);
      const invoice = btcpay.invoices.find(({ orderId }) => orderId === id)!;
      invoice.payments.push({ id: transaction, value: '0.625', fee: '0', status: 'Settled' });
      return id;
    };
    await paid('tx-too-old');
    gateway.clock.advance(60);
    const known = await paid('tx-known');
    gateway.clock.advance(30 * 86_400);
    const since = gateway.clock.now();
    const unknown = await paid('tx-unknown');
    await forget(gateway, unknown);
    // Invoices for other goods.
    btcpay.invoices.push({ ...btcpay.invoices[0]!, id: 'other', orderId: 'order-7', createdTime: Number(since) });
    expect(await findMissingPayments(gateway.deps, since, false)).toMatchObject([
      { topUpId: known, payment: { transaction: 'tx-known' }, booked: null },
      { topUpId: unknown, accountId: null, payment: { transaction: 'tx-unknown' }, booked: null },
    ]);
    const booked = await findMissingPayments(gateway.deps, since, true);
    expect(booked.map((each) => each.booked)).toEqual(['CREDITED', null]);
    expect(await read(renter, known)).toMatchObject({ state: 'LATE', credited: 50, balance: 50 });
    expect(await findMissingPayments(gateway.deps, since, true)).toMatchObject([{ topUpId: unknown }]);
    expect(await read(renter, known)).toMatchObject({ balance: 50 });
  });

  test('reads every page of the list', async () => {
    const since = gateway.clock.now() + 1n;
    const { id } = await topUp(await gateway.renter('0'), 50);
    const [invoice] = btcpay.invoices.filter(({ orderId }) => orderId === id);
    btcpay.invoices.pop();
    const others = Array.from({ length: 150 }, (_, n) => ({ ...invoice!, id: `o-${n}`, orderId: `order-${n}` }));
    for (const each of [...others, invoice!]) btcpay.invoices.push({ ...each, createdTime: Number(since) });
    const listed = await gateway.deps.payments!.list(since);
    expect(listed).toHaveLength(151);
    expect(listed.at(-1)).toMatchObject({ id, asset: 'LTC' });
  });
});
