import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { audit } from '../../../src/domain/billing/audit.js';
import { topUpAssets } from '../../../src/domain/top-ups/create-top-up.js';
import { creditPayment } from '../../../src/domain/top-ups/operator.js';
import { reconcile } from '../../../src/domain/top-ups/reconcile.js';
import type { Renter } from '../../support/gateway.js';
import { WrittenChain } from '../../support/payments/chain.js';
import type { Fee } from '../../support/payments/shkeeper.js';
import { openShop, read, type Shop, topUp } from '../../support/payments/shop.js';

/** What the real SHKeeper does that its routes and signatures alone don't show. */

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

describe('the fee that SHKeeper takes on top', () => {
  const PERCENT: Fee = { policy: 'PERCENT_FEE', percent: '2' };
  const FIXED: Fee = { policy: 'FIXED_FEE', percent: '2', fixed: '1.5' };
  const BOTH: Fee = { policy: 'PERCENT_OR_MINIMAL_FIXED_FEE', percent: '2', fixed: '1.5' };

  test.each<[string, Fee, number, string, number]>([
    ['none', { policy: 'NO_FEE' }, 50, '0.625', 50],
    ['2 per cent', PERCENT, 50, '0.6375', 50],
    ['2 per cent, of a part', PERCENT, 50, '0.31875', 25],
    ['2 per cent, of half a dollar', PERCENT, 50, '0.006375', 0.5],
    ['a fixed one', FIXED, 50, '0.64375', 50],
    ['a fixed one, of a part', FIXED, 50, '0.33125', 25],
    ['the larger of both, which is fixed', BOTH, 50, '0.64375', 50],
    ['the larger of both, which is the percentage', BOTH, 200, '2.55', 200],
  ])('%s, is not credited after a lost callback', async (_name, fee, asked, coins, usd) => {
    shop.shkeeper.fee = fee;
    const made = await topUp(renter, asked);
    const transaction = await chain.pay(made.address, coins);
    await chain.mine(6);
    shop.shkeeper.loses = true;
    await shop.shkeeper.poll();
    await sweep();
    expect(await read(renter, made.id)).toMatchObject({ state: 'CONFIRMING', payments: [{ usd }] });
    await creditPayment(shop.gateway.deps, made.id, { transaction, note: 'seen on the chain' });
    expect((await read(renter, made.id)).credited).toBe(usd);
    shop.shkeeper.loses = false;
    // What comes late is answered, and changes nothing.
    await shop.shkeeper.poll();
    expect((await read(renter, made.id)).credited).toBe(usd);
  });

  test('is not known while SHKeeper gives no quote: the operator says what the payment is worth', async () => {
    shop.shkeeper.fee = PERCENT;
    const made = await topUp(renter, 50);
    const transaction = await chain.pay(made.address, '0.6375');
    await chain.mine(6);
    shop.shkeeper.loses = true;
    await shop.shkeeper.poll();
    shop.shkeeper.quotes = false;
    await sweep();
    shop.shkeeper.quotes = true;
    shop.shkeeper.loses = false;
    expect(await read(renter, made.id)).toMatchObject({ state: 'CONFIRMING', payments: [{ usd: null }] });
    const decision = { transaction, note: 'seen on the chain' };
    const { deps } = shop.gateway;
    await expect(creditPayment(deps, made.id, decision)).rejects.toMatchObject({ field: 'amount' });
    await creditPayment(deps, made.id, { ...decision, usdMicro: 50_000_000n });
    expect((await read(renter, made.id)).credited).toBe(50);
  });

  test('when it is more than a payment, keeps that one aside and no other', async () => {
    shop.shkeeper.fee = FIXED;
    const made = await topUp(renter, 50);
    for (const coins of ['0.01', made.amount, '0.64375']) {
      await chain.pay(made.address, coins);
      await chain.mine(6);
      await shop.shkeeper.poll();
    }
    const { payments, credited } = await read(renter, made.id);
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

describe('a transaction that was replaced', () => {
  test('is gone once what replaced it is credited, though SHKeeper never drops it', async () => {
    const made = await topUp(renter, 50);
    const first = await chain.pay(made.address, made.amount);
    await shop.shkeeper.poll();
    expect(await read(renter, made.id)).toMatchObject({ state: 'SEEN', payments: [{ transaction: first }] });
    shop.gateway.clock.advance(60);
    chain.replace(first);
    await chain.pay(made.address, made.amount);
    await chain.mine(6);
    await shop.shkeeper.poll();
    await sweep();
    const paid = await read(renter, made.id);
    expect(paid).toMatchObject({ state: 'CREDITED', credited: 50, confirmations: null, underWay: [] });
    expect(paid.payments).toMatchObject([{ transaction: first, state: 'GONE' }, { state: 'CREDITED' }]);

    // One that is sent afterwards is another payment.
    shop.gateway.clock.advance(60);
    await chain.pay(made.address, '0.1');
    await shop.shkeeper.poll();
    expect(await read(renter, made.id)).toMatchObject({ state: 'SEEN', underWay: [{ id: made.id }] });
    await chain.mine(6);
    await shop.shkeeper.poll();
    expect(await read(renter, made.id)).toMatchObject({ state: 'OVERPAID', credited: 58 });
  });

  test('is gone after a day without a block, and credited all the same if one takes it', async () => {
    const made = await topUp(renter, 50);
    await chain.pay(made.address, made.amount);
    await shop.shkeeper.poll();
    shop.gateway.clock.advance(DAY_SECONDS - 1);
    expect(await read(renter, made.id)).toMatchObject({ state: 'SEEN' });
    shop.gateway.clock.advance(1);
    expect(await read(renter, made.id)).toMatchObject({
      state: 'EXPIRED',
      payments: [{ state: 'GONE' }],
      underWay: [],
    });
    await chain.mine(6);
    await shop.shkeeper.poll();
    expect(await read(renter, made.id)).toMatchObject({ state: 'CREDITED', credited: 50 });
  });
});

describe('a key that SHKeeper does not know', () => {
  test('hides the assets, which it would list to anybody', async () => {
    expect(await topUpAssets(shop.gateway.deps)).toEqual(['LTC']);
    const wrong = await openShop({ config: { paymentsKey: 'another' } });
    await expect(topUpAssets(wrong.gateway.deps)).rejects.toMatchObject({ code: 'unavailable' });
    await wrong.close();
  });
});
