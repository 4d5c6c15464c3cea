import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { gpu } from '../../support/cli/command.js';
import { gpuInTerminal, readable } from '../../support/cli/gpu.js';
import { subscribe } from '../../support/events.js';
import { type Renter, startGateway } from '../../support/gateway.js';
import { openShop, type Shop, topUp } from '../../support/payments/shop.js';
import { cleanUp, type Env, folder } from '../../support/process.js';
import { needs } from '../../support/tools.js';

let shop: Shop;
let renter: Renter;
let env: Env;

beforeAll(async () => {
  // This coin's service reports unconfirmed payments.
  shop = await openShop({ reportsUnconfirmed: ['LTC'] });
  renter = await shop.gateway.renter('0');
  env = envOf(shop.gateway.address, renter.key);
});
afterAll(async () => {
  await shop.close();
  await cleanUp();
});

function envOf(address: string, key: string): Env {
  return { XDG_CONFIG_HOME: folder(), GPU_BASE_URL: `${address}/v1`, GPU_API_KEY: key };
}

async function pay(id: string): Promise<void> {
  const { address, coins } = shop.shkeeper.invoices.find(({ externalId }) => externalId === id)!;
  await shop.chain.pay(address, `0.${String(coins).padStart(10, '0')}`);
}

describe('topUpChanged', () => {
  const TEXT = 'subscription ($id: ID) { topUpChanged(id: $id) { id state credited confirmations } }';

  test('reports each step of a payment only to its account', async () => {
    const made = await topUp(renter, 50);
    const stream = await subscribe(shop.gateway.address, TEXT, { key: renter.key, variables: { id: made.id } });
    const other = await shop.gateway.renter('0');
    const others = await subscribe(shop.gateway.address, TEXT, { key: other.key });
    const next = () => stream.next();
    expect(await next()).toEqual({ id: made.id, state: 'WAITING', credited: 0, confirmations: null });
    await pay(made.id);
    await shop.shkeeper.poll();
    expect(await next()).toEqual({ id: made.id, state: 'SEEN', credited: 0, confirmations: 0 });
    await shop.chain.mine(6);
    await shop.shkeeper.poll();
    expect(await next()).toEqual({ id: made.id, state: 'CREDITED', credited: 50, confirmations: null });
    expect(others.text()).not.toContain(made.id);
    stream.abort();
    others.abort();
  });

  test('rejects another account’s top-up like an unknown one', async () => {
    const made = await topUp(renter, 50);
    const { key } = await shop.gateway.renter('0');
    const stream = await subscribe(shop.gateway.address, TEXT, { key, variables: { id: made.id } });
    expect((await stream.next()).errors[0].extensions.code).toBe('not_found');
    stream.abort();
  });
});

describe('gpu topup', () => {
  test('prints the top-up, or prints JSON for a script without waiting', async () => {
    const { code, stdout } = await gpu(['topup', 'ltc', '50', '--json'], env);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ state: 'WAITING', asset: 'LTC', usd: 50, amount: '0.625' });
    const plain = await gpu(['topup', 'LTC', '12.50'], env);
    expect(plain.stdout).toMatch(/Send exactly +0\.15625 LTC\n/);
    expect(plain.stdout).toMatch(/For +12\.50 USD at 80 USD per LTC/);
    expect((await gpu(['topups'], env)).stdout).toMatch(/LTC +12\.50 +0\.00/);
    expect((await gpu(['topup'], env)).stdout).toMatch(/LTC +Litecoin +6/);
  });

  test('rejects invalid amounts, amounts that are too small, and unsupported coins', async () => {
    expect(await gpu(['topup', 'LTC', 'much'], env)).toMatchObject({ code: 2, stdout: '' });
    expect(await gpu(['topup', 'LTC', '1'], env)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('must be between 5 and'),
    });
    expect(await gpu(['topup', 'USDT', '50'], env)).toMatchObject({ code: 2, stderr: expect.stringContaining('USDT') });
  });

  test('reports that there are no top-ups', async () => {
    const gateway = await startGateway();
    const { key } = await gateway.renter('0');
    const without = envOf(gateway.address, key);
    for (const args of [['topup'], ['topups']]) {
      expect((await gpu(args, without)).stdout).toContain("This service doesn't accept top-ups");
    }
    const asked = await gpu(['topup', 'LTC', '50'], without);
    expect(asked).toMatchObject({ code: 1, stderr: expect.stringContaining("this service doesn't accept top-ups") });
    await gateway.close();
  });

  test('shows a QR code on a terminal and waits until the payment is credited', needs('script'), async () => {
    const program = gpuInTerminal(['topup', 'LTC', '51'], env, { rows: 50 });
    await program.says(/Ctrl-C stops waiting/);
    const id = /t-[0-9a-f]{20}/.exec(program.stdout())![0];
    await pay(id);
    await shop.shkeeper.poll();
    await program.says(/seen \(0 of 6\)/);
    await shop.chain.mine(6);
    await shop.shkeeper.poll();
    const { code, stdout } = await program.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/[█▀▄]{10}/);
    expect(readable(stdout)).toContain('51.00 USD credited (credited)');
  });
});
