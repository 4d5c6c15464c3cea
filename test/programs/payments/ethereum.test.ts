import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { audit } from '../../../src/domain/billing/audit.js';
import { AnvilChain, TokenChain } from '../../support/payments/anvil.js';
import { openShop, read, topUp } from '../../support/payments/shop.js';
import { needs } from '../../support/tools.js';

describe('payments on a real Ethereum node', needs('anvil'), () => {
  let chain: AnvilChain;
  beforeAll(async () => {
    chain = await AnvilChain.open();
  });
  afterAll(() => chain?.close());

  test('are credited once, after 12 confirmations, in ETH and in a token like USDT', async () => {
    const token = await TokenChain.open(chain);
    const shop = await openShop({
      chains: { ETH: chain, 'ETH-USDT': token },
      rates: { ETH: '2500', 'ETH-USDT': '1' },
      confirmations: 12,
      reportsUnconfirmed: ['ETH', 'ETH-USDT'],
    });
    const renter = await shop.gateway.renter('0');
    const ether = await topUp(renter, 50, 'ETH');
    expect(ether.uri).toBe(`ethereum:${ether.address}@1?value=20000000000000000`);
    const tether = await topUp(renter, 5.25, 'USDT-ETH');
    expect(tether).toMatchObject({ amount: '5.25', network: 'Ethereum' });
    expect(tether.uri).toMatch(/^ethereum:0xdAC17F958D2ee523a2206206994597C13D831ec7@1\/transfer\?.*uint256=5250000$/);
    await chain.pay(ether.address, ether.amount);
    await token.pay(tether.address, tether.amount);
    await shop.shkeeper.poll();
    expect(await read(renter, ether.id)).toMatchObject({ state: 'SEEN', balance: 0 });
    await chain.mine(11);
    await shop.shkeeper.poll();
    expect((await read(renter, ether.id)).balance).toBe(0);
    await chain.mine(1);
    await shop.shkeeper.poll();
    await shop.shkeeper.poll();
    expect(await read(renter, ether.id)).toMatchObject({ state: 'CREDITED', credited: 50, balance: 55.25 });
    expect(await read(renter, tether.id)).toMatchObject({ state: 'CREDITED', credited: 5.25 });
    expect((await audit(shop.gateway.deps)).findings).toEqual([]);
    await shop.close();
  });

  test('are not credited if a reorganization reverts them before 12 confirmations', async () => {
    const shop = await openShop({ chains: { ETH: chain }, rates: { ETH: '2500' }, confirmations: 12 });
    const renter = await shop.gateway.renter('0');
    const made = await topUp(renter, 50, 'ETH');
    await chain.pay(made.address, made.amount);
    await chain.mine(5);
    await shop.shkeeper.poll();
    await chain.reorganise(5);
    await chain.mine(20);
    expect(await chain.received(made.address)).toEqual([]);
    await shop.shkeeper.poll();
    expect(await read(renter, made.id)).toMatchObject({ credited: 0, balance: 0 });
    await shop.close();
  });
});
