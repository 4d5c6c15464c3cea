import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { audit } from '../../../src/domain/billing/audit.js';
import { topUpAssets } from '../../../src/domain/top-ups/create-top-up.js';
import { creditPayment } from '../../../src/domain/top-ups/operator.js';
import { reconcile } from '../../../src/domain/top-ups/reconcile.js';
import type { Renter } from '../../support/gateway.js';
import { WrittenChain } from '../../support/payments/chain.js';
import type { Fee } from '../../support/payments/shkeeper.js';
import { openShop, read, type Shop, topUp } from '../../support/payments/shop.js';

/** Behaviour of the real SHKeeper that its routes and signatures don't show. */

const DAY_SECONDS = 86_400;

let shop: Shop;
let chain: WrittenChain;
let renter: Renter;

beforeAll(async () => {
  chain = new WrittenChain();
  shop = await openShop({ chains: { LTC: chain }, reportsUnconfirmed: ['LTC'] });
});
beforeEach(async () => {
  renter = await shop.gateway.renter('0');
});
afterAll(() => shop.close());

async function sweep(): Promise<void> {
  shop.gateway.clock.advance(60);
  await reconcile(shop.gateway.deps, () => {});
}

describe('the fee added by SHKeeper', () => {
  const PERCENT: Fee = { policy: 'PERCENT_FEE', percent: '2' };
  const FIXED: Fee = { policy: 'FIXED_FEE', percent: '2', fixed: '1.5' };
  const BOTH: Fee = { policy: 'PERCENT_OR_MINIMAL_FIXED_FEE', percent: '2', fixed: '1.5' };

  test.each<[string, Fee, number, string, number]>([
    ['none', { policy: 'NO_FEE' }, 50, '0.625', 50],
    ['2 percent', PERCENT, 50, '0.6375', 50],
    ['2 percent of a partial payment', PERCENT, 50, '0.31875', 25],
    ['2 percent of half a dollar', PERCENT, 50, '0.006375', 0.5],
    ['a fixed fee', FIXED, 50, '0.64375', 50],
    ['a fixed fee for a partial payment', FIXED, 50, '0.33125', 25],
    ['the larger of both, the fixed fee', BOTH, 50, '0.64375', 50],
    ['the larger of both, the percentage', BOTH, 200, '2.55', 200],
  ])('is not credited after a lost callback: %s', async (_name, fee, requestedUsd, coins, usd) => {
    shop.shkeeper.fee = fee;
    const created = await topUp(renter, requestedUsd);
    const transaction = await chain.pay(created.address, coins);
    await chain.mine(6);
    shop.shkeeper.loses = true;
    await shop.shkeeper.poll();
    await sweep();
    expect(await read(renter, created.id)).toMatchObject({ state: 'CONFIRMING', payments: [{ usd }] });
    await creditPayment(shop.gateway.deps, created.id, { transaction, note: 'seen on the chain' });
    expect((await read(renter, created.id)).credited).toBe(usd);
    shop.shkeeper.loses = false;
    // A late callback gets a response but changes nothing.
    await shop.shkeeper.poll();
    expect((await read(renter, created.id)).credited).toBe(usd);
  });

  test('is unknown without a quote, so the operator enters the payment’s value', async () => {
    shop.shkeeper.fee = PERCENT;
    const created = await topUp(renter, 50);
    const transaction = await chain.pay(created.address, '0.6375');
    await chain.mine(6);
    shop.shkeeper.loses = true;
    await shop.shkeeper.poll();
    shop.shkeeper.quotes = false;
    await sweep();
    shop.shkeeper.quotes = true;
    shop.shkeeper.loses = false;
    expect(await read(renter, created.id)).toMatchObject({ state: 'CONFIRMING', payments: [{ usd: null }] });
    const decision = { transaction, note: 'seen on the chain' };
    const { deps } = shop.gateway;
    await expect(creditPayment(deps, created.id, decision)).rejects.toMatchObject({ field: 'amount' });
    await creditPayment(deps, created.id, { ...decision, usdMicro: 50_000_000n });
    expect((await read(renter, created.id)).credited).toBe(50);
  });

  test('quarantines only the affected payment if it exceeds the payment', async () => {
    shop.shkeeper.fee = FIXED;
    const created = await topUp(renter, 50);
    for (const coins of ['0.01', created.amount, '0.64375']) {
      await chain.pay(created.address, coins);
      await chain.mine(6);
      await shop.shkeeper.poll();
    }
    const { payments, credited } = await read(renter, created.id);
    expect(payments.map(({ state, usd }: { state: string; usd: number }) => [state, usd])).toEqual([
      ['QUARANTINED', 0],
      ['CREDITED', 50],
      ['CREDITED', 50],
    ]);
    expect(credited).toBe(100);
    shop.shkeeper.fee = { policy: 'NO_FEE' };
    expect((await audit(shop.gateway.deps)).findings).toEqual([]);
  });
});

describe('a replaced transaction', () => {
  test('is gone once its replacement is credited, even though SHKeeper never drops it', async () => {
    const created = await topUp(renter, 50);
    const first = await chain.pay(created.address, created.amount);
    await shop.shkeeper.poll();
    expect(await read(renter, created.id)).toMatchObject({ state: 'SEEN', payments: [{ transaction: first }] });
    shop.gateway.clock.advance(60);
    chain.replace(first);
    await chain.pay(created.address, created.amount);
    await chain.mine(6);
    await shop.shkeeper.poll();
    await sweep();
    const paid = await read(renter, created.id);
    expect(paid).toMatchObject({ state: 'CREDITED', credited: 50, confirmations: null, underWay: [] });
    expect(paid.payments).toMatchObject([{ transaction: first, state: 'GONE' }, { state: 'CREDITED' }]);

    // A transaction that is sent afterwards is another payment.
    shop.gateway.clock.advance(60);
    await chain.pay(created.address, '0.1');
    await shop.shkeeper.poll();
    expect(await read(renter, created.id)).toMatchObject({ state: 'SEEN', underWay: [{ id: created.id }] });
    await chain.mine(6);
    await shop.shkeeper.poll();
    expect(await read(renter, created.id)).toMatchObject({ state: 'OVERPAID', credited: 58 });
  });

  test('is gone after a day without a block, but credited if a later block includes it', async () => {
    const created = await topUp(renter, 50);
    await chain.pay(created.address, created.amount);
    await shop.shkeeper.poll();
    shop.gateway.clock.advance(DAY_SECONDS - 1);
    expect(await read(renter, created.id)).toMatchObject({ state: 'SEEN' });
    shop.gateway.clock.advance(1);
    expect(await read(renter, created.id)).toMatchObject({
      state: 'EXPIRED',
      payments: [{ state: 'GONE' }],
      underWay: [],
    });
    await chain.mine(6);
    await shop.shkeeper.poll();
    expect(await read(renter, created.id)).toMatchObject({ state: 'CREDITED', credited: 50 });
  });
});

describe('an API key unknown to SHKeeper', () => {
  test('hides the assets, even though SHKeeper lists them to any client', async () => {
    expect(await topUpAssets(shop.gateway.deps)).toEqual(['LTC']);
    const wrong = await openShop({ config: { paymentsKey: 'another' } });
    await expect(topUpAssets(wrong.gateway.deps)).rejects.toMatchObject({ code: 'unavailable' });
    await wrong.close();
  });
});
