import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { audit } from '../../../src/domain/billing/audit.js';
import { listQuarantined } from '../../../src/domain/top-ups/callbacks.js';
import { reconcile } from '../../../src/domain/top-ups/reconcile.js';
import type { Renter } from '../../support/gateway.js';
import { signature } from '../../support/payments/shkeeper.js';
import { KEY, openShop, read, type Shop, topUp } from '../../support/payments/shop.js';
import { startReceiver } from '../../support/webhooks/receiver.js';

let shop: Shop;
let renter: Renter;

beforeAll(async () => {
  const config = { webhookNetworks: ['127.0.0.0/8'], secretsKeys: ['ab'.repeat(32)] };
  shop = await openShop({ gateways: 2, config });
  renter = await shop.gateway.renter('0');
});
afterAll(() => shop.close());

const path = (index = 0) => `${shop.gateways[index]!.address}/payments/callback`;
const now = () => Number(shop.gateway.clock.now());

function post(body: string | Buffer, headers?: Record<string, string>, index = 0): Promise<Response> {
  const bytes = Buffer.from(body);
  return fetch(path(index), { method: 'POST', body: bytes, headers: headers ?? signature(KEY, bytes, now()) });
}

/** Pays a top-up and returns it with its callback, which is not sent yet. */
async function paid(usd = 50, coins?: string) {
  const created = await topUp(renter, usd);
  const txid = await shop.chain.pay(created.address, coins ?? created.amount);
  await shop.chain.mine(6);
  shop.shkeeper.loses = true;
  await shop.shkeeper.poll();
  shop.shkeeper.loses = false;
  const transaction = shop.shkeeper.transactions.find((each) => each.txid === txid)!;
  // Only the test sends the callback.
  transaction.callbackConfirmed = true;
  return { created, txid, notification: shop.shkeeper.notification(transaction) };
}

async function lines(): Promise<number> {
  const { rows } = await shop.gateway.deps.db.pool.query('select count(*)::int as n from ledger_entry');
  return Number(rows[0].n);
}

describe('a payment callback', () => {
  test('credits once and always gets a 202 when sent 200 times to two gateways at once', async () => {
    const target = await startReceiver();
    const hook = await renter.graphql('mutation ($url: String!) { createWebhook(url: $url) { webhook { id } } }', {
      url: target.url,
    });
    const { created, notification } = await paid();
    const before = await lines();
    const body = JSON.stringify(notification);
    const answers = await Promise.all(Array.from({ length: 200 }, (_, index) => post(body, undefined, index % 2)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    expect(await lines()).toBe(before + 1);
    expect(await read(renter, created.id)).toMatchObject({ state: 'CREDITED', credited: 50 });
    const { rows } = await shop.gateway.deps.db.pool.query(
      `select note, reference from ledger_entry where id like 'topup/${created.id}/%'`,
    );
    expect(rows).toEqual([
      {
        note: `${created.amount} LTC (Litecoin) at 80 USD`,
        reference: expect.stringContaining(`top-up ${created.id}/LTC/`),
      },
    ]);
    expect((await audit(shop.gateway.deps)).findings).toEqual([]);
    // The webhook is also notified of the credit once.
    const types = () => target.types().sort();
    await expect.poll(types, { timeout: 30_000 }).toEqual(['balance.credited', 'topup.credited']);
    const [event] = target.received.filter(({ type }) => type === 'topup.credited');
    expect(event!.data).toMatchObject({ top_up: created.id, asset: 'LTC', usd: '50.000000' });
    await renter.graphql('mutation ($id: ID!) { deleteWebhook(id: $id) { id } }', hook.body.data.createWebhook.webhook);
    await target.close();
  });

  test('credits only the triggering transaction, since others may not be final', async () => {
    const { created, notification } = await paid();
    notification.transactions.push({ ...notification.transactions[0]!, txid: 'not-final', trigger: false });
    expect((await post(JSON.stringify(notification))).status).toBe(202);
    const topUpNow = await read(renter, created.id);
    expect(topUpNow.payments.map(({ state }: { state: string }) => state).sort()).toEqual(['CONFIRMING', 'CREDITED']);
    expect(topUpNow).toMatchObject({ state: 'CONFIRMING', credited: 50, confirmations: 1, confirmationsNeeded: 6 });
  });

  test('is quarantined if one transaction is unreadable, while the others are credited', async () => {
    const { created, notification } = await paid();
    const before = (await listQuarantined(shop.gateway.deps)).length;
    notification.transactions.unshift({ ...notification.transactions[0]!, txid: 'odd', amount_crypto: 'NaN' });
    for (let time = 0; time < 2; time += 1) expect((await post(JSON.stringify(notification))).status).toBe(202);
    expect(await read(renter, created.id)).toMatchObject({ state: 'CREDITED', credited: 50, payments: [{}] });
    const listed = await listQuarantined(shop.gateway.deps);
    expect(listed).toHaveLength(before + 1);
    expect(listed.at(-1)).toMatchObject({ reason: 'amount_crypto is not a decimal string', times: 2 });
  });

  test('is rejected with any byte altered, a header missing, or a wrong secret or time', async () => {
    const { created, notification } = await paid();
    const body = Buffer.from(JSON.stringify(notification));
    const good = signature(KEY, body, now());
    const before = await lines();
    for (let index = 0; index < body.length; index += 1) {
      const altered = Buffer.from(body);
      altered[index]! ^= 1;
      const { status } = await post(altered, good);
      if (status !== 401) throw new Error(`byte ${index} altered: ${status}`);
    }
    const headers: [string, Record<string, string>][] = [
      ['another secret', signature('another', body, now())],
      ['an old timestamp', signature(KEY, body, now() - 301)],
      ['a future timestamp', signature(KEY, body, now() + 301)],
      ['a timestamp that was not signed', { ...good, 'x-shkeeper-timestamp': String(now() + 1) }],
      ['a timestamp that is not an integer', { ...good, 'x-shkeeper-timestamp': `${now()}.0` }],
      ['a missing timestamp', { 'x-shkeeper-signature': good['x-shkeeper-signature']! }],
      ['a missing signature', { 'x-shkeeper-timestamp': good['x-shkeeper-timestamp']!, 'x-shkeeper-api-key': KEY }],
      ['half a signature', { ...good, 'x-shkeeper-signature': good['x-shkeeper-signature']!.slice(0, 32) }],
      ['an empty signature', { ...good, 'x-shkeeper-signature': '' }],
    ];
    for (const [name, requestHeaders] of headers)
      expect([name, (await post(body, requestHeaders)).status]).toEqual([name, 401]);
    expect((await post(Buffer.alloc(1_100_000, ' '))).status).toBe(413);
    expect((await fetch(path())).status).toBe(405);
    expect(await lines()).toBe(before);
    expect((await read(renter, created.id)).payments).toEqual([]);
    // At the edge of the window, it is accepted.
    expect((await post(body, signature(KEY, body, now() - 300))).status).toBe(202);
    expect((await read(renter, created.id)).credited).toBe(50);
  });

  test('is quarantined without booking anything if it is signed but invalid', async () => {
    const { created, notification } = await paid();
    const other = await topUp(renter, 50);
    const [transaction] = notification.transactions;
    const changed = (change: object) =>
      JSON.stringify({ ...notification, transactions: [{ ...transaction, ...change }] });
    const table: Record<string, string> = {
      'invalid JSON': 'paid',
      'a list': '[]',
      null: 'null',
      'invalid UTF-8': '',
      'an unknown top-up': JSON.stringify({ ...notification, external_id: 't-00000000000000000000' }),
      'an id with a NUL': JSON.stringify({ ...notification, external_id: 't-\u0000' }),
      'too many transactions': JSON.stringify({ ...notification, transactions: Array(1_000).fill(transaction) }),
      'a missing id': JSON.stringify({ ...notification, external_id: undefined }),
      'another currency': JSON.stringify({ ...notification, fiat: 'EUR' }),
      'a number instead of a string': changed({ amount_fiat_without_fee: 50.5 }),
      'a float with 18 places': changed({ amount_fiat_without_fee: '50.123456789012345678' }),
      'an exponent': changed({ amount_fiat_without_fee: '5e1' }),
      'a sign': changed({ amount_fiat_without_fee: '+50' }),
      'a negative amount': changed({ amount_crypto: '-0.625' }),
      NaN: changed({ amount_fiat_without_fee: 'NaN' }),
      'Arabic digits': changed({ amount_fiat_without_fee: '٥٠' }),
      blanks: changed({ amount_fiat_without_fee: ' 50' }),
      'a trigger that is a string': changed({ trigger: 'true' }),
      'a missing transaction id': changed({ txid: '' }),
      'a transaction id with a line end': changed({ txid: 'a\nb' }),
      'invalid transactions': JSON.stringify({ ...notification, transactions: [1] }),
      '101 transactions': JSON.stringify({ ...notification, transactions: Array(101).fill(transaction) }),
    };
    const before = await lines();
    const countBefore = (await listQuarantined(shop.gateway.deps)).length;
    for (const [name, text] of Object.entries(table)) {
      const body = name === 'invalid UTF-8' ? Buffer.from([0x7b, 0xff, 0x7d]) : Buffer.from(text);
      const answer = await post(body, signature(KEY, body, now()));
      expect([name, answer.status]).toEqual([name, 202]);
    }
    expect((await listQuarantined(shop.gateway.deps)).length - countBefore).toBe(Object.keys(table).length);
    expect(await lines()).toBe(before);
    expect((await read(renter, created.id)).payments).toEqual([]);

    // For a known top-up, invalid payments are quarantined with it.
    const quarantined: Record<string, string> = {
      'a negative sum': changed({ amount_fiat_without_fee: '-1', txid: 'negative' }),
      'a sum of zero': changed({ amount_fiat_without_fee: '0', txid: 'zero' }),
      'less than a micro-USD': changed({ amount_fiat_without_fee: '0.0000009', txid: 'dust' }),
      'more than the maximum payment': changed({ amount_fiat_without_fee: '999999999999', txid: 'much' }),
      'another coin': changed({ crypto: 'BTC', txid: 'coin' }),
      "another top-up's address": JSON.stringify({ ...notification, addr: other.address }),
    };
    for (const [name, text] of Object.entries(quarantined)) {
      expect([name, (await post(text)).status]).toEqual([name, 202]);
    }
    expect(await lines()).toBe(before);
    const kept = await read(renter, created.id);
    expect(kept.state).toBe('QUARANTINED');
    expect(kept.payments).toHaveLength(Object.keys(quarantined).length);
    expect((await audit(shop.gateway.deps)).findings).toEqual([]);
  });

  test('is quarantined once, no matter how often it arrives', async () => {
    const before = (await listQuarantined(shop.gateway.deps)).length;
    for (let round = 0; round < 3; round += 1) expect((await post('{"again":1}')).status).toBe(202);
    const listed = await listQuarantined(shop.gateway.deps);
    expect(listed).toHaveLength(before + 1);
    expect(listed.find(({ body }) => body === '{"again":1}')!.times).toBe(3);
  });
});

describe('a payment', () => {
  test('counts toward the unverified sum once it is credited, not when first seen', async () => {
    const fair = await shop.gateway.renter('0');
    // The payment is visible for more than a day before it is final.
    const slow = await topUp(fair, 400);
    await shop.chain.pay(slow.address, slow.amount);
    await shop.chain.mine(1);
    await shop.shkeeper.poll();
    for (const { clock } of shop.gateways) clock.advance(60);
    await reconcile(shop.gateway.deps, () => {});
    expect((await read(fair, slow.id)).state).toBe('CONFIRMING');
    for (const { clock } of shop.gateways) clock.advance(86_400);
    await shop.chain.mine(5);
    await shop.shkeeper.poll();
    expect((await read(fair, slow.id)).credited).toBe(400);
    // The next payment raises the sum above the limit, so SHKeeper must confirm it, but SHKeeper is unreachable.
    const created = await topUp(fair, 400);
    await shop.chain.pay(created.address, created.amount);
    await shop.chain.mine(6);
    shop.shkeeper.mode = 'down';
    await shop.shkeeper.poll();
    shop.shkeeper.mode = 'ok';
    expect(await read(fair, created.id)).toMatchObject({ state: 'QUARANTINED', credited: 0, balance: 400 });
  });

  test.each([
    ['in two parts of 60% has two entries and is credited in full at 120%', ['0.375', '0.375'], 60, 'OVERPAID'],
    ['of 94% of the amount is credited as 94%', ['0.5875'], 47, 'UNDERPAID'],
    ['of the full amount that is repeated is credited again', ['0.625', '0.625'], 100, 'OVERPAID'],
    ['that is short only because of rounding counts as complete', ['0.62499999'], 49.999999, 'CREDITED'],
  ] as const)('%s', async (_, coins, credited, state) => {
    const created = await topUp(renter, 50);
    for (const each of coins) {
      await shop.chain.pay(created.address, each);
      await shop.chain.mine(6);
      await shop.shkeeper.poll();
    }
    const paidNow = await read(renter, created.id);
    expect(paidNow).toMatchObject({ credited, state });
    expect(paidNow.payments).toHaveLength(coins.length);
  });

  test('that arrives after the rate expires is credited as late', async () => {
    const created = await topUp(renter, 50);
    for (const { clock } of shop.gateways) clock.advance(86_400);
    expect(await read(renter, created.id)).toMatchObject({ state: 'EXPIRED' });
    await shop.chain.pay(created.address, created.amount);
    await shop.chain.mine(6);
    await shop.shkeeper.poll();
    expect(await read(renter, created.id)).toMatchObject({ state: 'LATE', credited: 50 });
  });

  test('above TOPUP_ASK_ABOVE_USD is credited only if the processor confirms it', async () => {
    const big = await shop.gateway.renter('0');
    const created = await topUp(big, 600);
    // The transaction is forged with a leaked secret, and the processor doesn't know it.
    const invoice = shop.shkeeper.invoices.find(({ externalId }) => externalId === created.id)!;
    const forged = shop.shkeeper.notification({ invoice, txid: 'forged' });
    const transaction = {
      txid: 'forged',
      date: '',
      amount_crypto: '7.5',
      amount_fiat: '600',
      amount_fiat_without_fee: '600',
      fee_fiat: '0',
      trigger: true,
      crypto: 'LTC',
    };
    expect((await post(JSON.stringify({ ...forged, transactions: [transaction] }))).status).toBe(202);
    expect(await read(big, created.id)).toMatchObject({ state: 'QUARANTINED', credited: 0, balance: 0 });
    // It is split into amounts below the limit, which are added up over a day.
    for (const part of ['a', 'b', 'c', 'd']) {
      const parts = [{ ...transaction, txid: `split-${part}`, amount_fiat_without_fee: '200' }];
      expect((await post(JSON.stringify({ ...forged, transactions: parts }))).status).toBe(202);
    }
    expect((await read(big, created.id)).credited).toBe(400);
    // Payments in one callback are added up, too.
    const combined = await shop.gateway.renter('0');
    const whole = await topUp(combined, 600);
    const parts = ['a', 'b', 'c'].map((part) => {
      return { ...transaction, txid: `at-once-${part}`, amount_fiat_without_fee: '200' };
    });
    const about = shop.shkeeper.invoices.find(({ externalId }) => externalId === whole.id)!;
    const callback = { ...shop.shkeeper.notification({ invoice: about, txid: 'at-once-a' }), transactions: parts };
    expect((await post(JSON.stringify(callback))).status).toBe(202);
    expect(await read(combined, whole.id)).toMatchObject({ state: 'QUARANTINED', credited: 400 });

    // A genuine payment is credited immediately, or once the processor is reachable again.
    const fair = await shop.gateway.renter('0');
    const first = await topUp(fair, 600);
    await shop.chain.pay(first.address, first.amount);
    const second = await topUp(fair, 700);
    await shop.chain.pay(second.address, second.amount);
    await shop.chain.mine(6);
    shop.shkeeper.mode = 'down';
    await shop.shkeeper.poll();
    expect(await read(fair, first.id)).toMatchObject({ state: 'QUARANTINED', balance: 0 });
    shop.shkeeper.mode = 'ok';
    for (const { clock } of shop.gateways) clock.advance(61);
    await reconcile(shop.gateway.deps, () => {});
    expect(await read(fair, first.id)).toMatchObject({ state: 'CREDITED', credited: 600, balance: 1300 });
    // The forged payment was checked again and stays quarantined.
    expect((await read(big, created.id)).credited).toBe(400);
    expect((await audit(shop.gateway.deps)).findings).toEqual([]);
  });
});
