import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { audit } from '../../../src/domain/billing/audit.js';
import { bookedLines, refundTopUp, refusePayment } from '../../../src/domain/top-ups/operator.js';
import { reconcile } from '../../../src/domain/top-ups/reconcile.js';
import { LitecoinChain } from '../../support/payments/litecoin.js';
import { openShop, read, topUp } from '../../support/payments/shop.js';
import { needs } from '../../support/tools.js';

describe('payments of 50 USD in LTC on a real chain', needs('litecoind'), () => {
  let chain: LitecoinChain;
  beforeAll(async () => {
    chain = await LitecoinChain.open();
  });
  afterAll(() => chain?.close());

  test('are shown after the first block and credited once, after 6 confirmations', async () => {
    const shop = await openShop({ chains: { LTC: chain }, fee: { policy: 'PERCENT_FEE', percent: '2' } });
    const renter = await shop.gateway.renter('0');
    const made = await topUp(renter, 50);
    expect(made).toMatchObject({ state: 'WAITING', network: 'Litecoin', amount: '0.6375', rate: '80' });
    expect(made.uri).toBe(`litecoin:${made.address}?amount=0.6375`);
    await chain.pay(made.address, made.amount);
    // SHKeeper's service for LTC doesn't report payments before their first block.
    await shop.shkeeper.poll();
    expect(await read(renter, made.id)).toMatchObject({ state: 'WAITING', payments: [] });
    for (let block = 1; block < 6; block += 1) {
      await chain.mine(1);
      await shop.shkeeper.poll();
      shop.gateway.clock.advance(60);
      await reconcile(shop.gateway.deps, () => {});
      const confirming = await read(renter, made.id);
      expect(confirming).toMatchObject({ state: 'CONFIRMING', confirmations: 1, confirmationsNeeded: 6, balance: 0 });
      expect(confirming.underWay).toEqual([{ id: made.id }]);
    }
    await chain.mine(1);
    await shop.shkeeper.poll();
    expect(await read(renter, made.id)).toMatchObject({ state: 'CREDITED', credited: 50, balance: 50, underWay: [] });
    await chain.mine(10);
    await shop.shkeeper.poll();
    expect((await read(renter, made.id)).balance).toBe(50);
    expect((await audit(shop.gateway.deps)).findings).toEqual([]);
    await shop.close();
  });

  test('are not credited if a reorganization reverts them before 6 confirmations', async () => {
    const shop = await openShop({ chains: { LTC: chain } });
    const renter = await shop.gateway.renter('0');
    const made = await topUp(renter, 50);
    const transaction = await chain.pay(made.address, made.amount);
    await chain.mine(5);
    await shop.shkeeper.poll();
    await chain.reorganise(5, transaction);
    expect(await chain.received(made.address)).toEqual([]);
    await chain.mine(20);
    await shop.shkeeper.poll();
    shop.gateway.clock.advance(300);
    await reconcile(shop.gateway.deps, () => {});
    expect(await read(renter, made.id)).toMatchObject({ credited: 0, balance: 0 });
    expect((await audit(shop.gateway.deps)).findings).toEqual([]);
    await shop.close();
  });

  test('can be reversed by the operator if reverted after 6 confirmations', async () => {
    const shop = await openShop({ chains: { LTC: chain } });
    const { deps, clock } = shop.gateway;
    const renter = await shop.gateway.renter('0');
    const made = await topUp(renter, 50);
    const transaction = await chain.pay(made.address, made.amount);
    await chain.mine(6);
    await shop.shkeeper.poll();
    expect((await read(renter, made.id)).balance).toBe(50);
    await refundTopUp(deps, made.id, { usdMicro: 10_000_000n, transaction: 'outside-1', note: 'asked for' });
    // A repeated reversal is booked once. A reversal of another amount or above the balance is refused.
    await refundTopUp(deps, made.id, { usdMicro: 10_000_000n, transaction: 'outside-1', note: 'asked for' });
    const refund = (usdMicro: bigint, outside: string) =>
      refundTopUp(deps, made.id, { usdMicro, transaction: outside, note: 'asked for' });
    await expect(refund(11_000_000n, 'outside-1')).rejects.toThrow('a different amount');
    await expect(refund(40_000_001n, 'outside-2')).rejects.toThrow('must not exceed the credited amount');
    expect((await read(renter, made.id)).balance).toBe(40);

    await chain.reorganise(6, transaction);
    clock.advance(60);
    await refusePayment(deps, made.id, { transaction, note: 'reorganised away' });
    expect(await read(renter, made.id)).toMatchObject({ credited: 0, balance: -10 });
    await expect(refusePayment(deps, made.id, { transaction, note: 'again' })).rejects.toThrow('no such payment');
    // If the payment is reported again, it stays reversed.
    shop.shkeeper.transactions[0]!.callbackConfirmed = false;
    await shop.shkeeper.sendCallbacks();
    expect((await read(renter, made.id)).balance).toBe(-10);
    const lines = await bookedLines(deps, clock.now() - 3_600n, clock.now() + 1n);
    expect(lines.map(({ kind, usdMicro, transaction: name }) => [kind, usdMicro, name])).toEqual([
      ['refund', -10_000_000n, 'outside-1'],
      ['credit', 50_000_000n, transaction],
      ['reversal', -50_000_000n, transaction],
    ]);
    expect((await audit(deps)).findings).toEqual([]);
    await shop.close();
  });
});
