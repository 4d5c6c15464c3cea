import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { audit } from '../../../src/domain/billing/audit.js';
import { MoneroChain } from '../../support/payments/monero.js';
import { openShop, read, topUp } from '../../support/payments/shop.js';
import { needs } from '../../support/tools.js';

describe('an XMR payment on a real Monero node', needs('monerod', 'monero-wallet-rpc'), () => {
  let chain: MoneroChain;
  beforeAll(async () => {
    chain = await MoneroChain.open();
  });
  afterAll(() => chain?.close());

  test('is credited exactly once, after 10 confirmations', async () => {
    const shop = await openShop({ chains: { XMR: chain }, rates: { XMR: '160' }, confirmations: 10 });
    const renter = await shop.gateway.renter('0');
    const made = await topUp(renter, 50, 'XMR');
    expect(made.uri).toBe(`monero:${made.address}?tx_amount=0.3125`);
    await chain.pay(made.address, made.amount);
    await shop.shkeeper.poll();
    expect(await read(renter, made.id)).toMatchObject({ state: 'WAITING', balance: 0, confirmationsNeeded: 10 });
    await chain.mine(9);
    await shop.shkeeper.poll();
    expect((await read(renter, made.id)).balance).toBe(0);
    await chain.mine(2);
    await shop.shkeeper.poll();
    await shop.shkeeper.poll();
    expect(await read(renter, made.id)).toMatchObject({ state: 'CREDITED', credited: 50, balance: 50 });
    expect((await audit(shop.gateway.deps)).findings).toEqual([]);
    await shop.close();
  });
});
