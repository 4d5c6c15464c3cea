import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PaymentEvent } from '../../../src/domain/top-ups/book-payments.js';
import { reconcile } from '../../../src/domain/top-ups/reconcile.js';
import { readConfirmations } from '../../../src/domain/top-ups/rules/top-up-assets.js';
import { createBtcpay } from '../../../src/payments/btcpay.js';
import { type Renter, startGateway, type TestGateway } from '../../support/gateway.js';
import { STORE, TestBtcpay } from '../../support/payments/btcpay.js';
import { read, topUp } from '../../support/payments/shop.js';

let gateway: TestGateway;
let btcpay: TestBtcpay;
let paymentsUrl: string;
let renter: Renter;

beforeAll(async () => {
  btcpay = new TestBtcpay('key', 'secret', () => Number(gateway.clock.now()));
  paymentsUrl = await btcpay.listen();
  const settings = { payments: 'btcpay' as const, paymentsUrl, paymentsKey: 'key' };
  gateway = await startGateway({ ...settings, paymentsSecret: 'secret', paymentsStore: STORE });
  btcpay.webhookUrl = `${gateway.address}/payments/callback`;
  renter = await gateway.renter('0');
});
afterAll(async () => {
  await gateway.close();
  await btcpay.close();
});

async function invoiceOf(usd = 50) {
  const created = await topUp(renter, usd);
  return { created, invoice: btcpay.invoices.find(({ orderId }) => orderId === created.id)! };
}

describe('the BTCPay integration', () => {
  test('opens an invoice for one coin, to settle after the configured confirmations', async () => {
    const { created, invoice } = await invoiceOf();
    expect(invoice).toMatchObject({ amount: '50.00', speedPolicy: 'LowSpeed', paymentMethods: ['LTC-CHAIN'] });
    expect(created).toMatchObject({ address: `ltc-of-${invoice.id}`, amount: '0.625', rate: '80', state: 'WAITING' });
  });

  // Payments are final after 1, 2 and 6 confirmations.
  test.each([
    [1, 'MediumSpeed'],
    [2, 'LowMediumSpeed'],
    [3, 'LowSpeed'],
    [6, 'LowSpeed'],
  ])('maps %i confirmations to the policy %s', async (confirmations, speedPolicy) => {
    const processor = createBtcpay({
      url: paymentsUrl,
      key: 'key',
      secret: 'secret',
      store: STORE,
      confirmations: readConfirmations(`LTC=${confirmations}`)!,
      moreHeaders: () => ({}),
    });
    await processor.open({ id: `t-${confirmations}`, asset: 'LTC', usd: 5_000_000n });
    expect(btcpay.invoices.at(-1)).toMatchObject({ orderId: `t-${confirmations}`, speedPolicy });
  });

  test('credits once, minus the network fee, if settlement is reported twice and late', async () => {
    const { created, invoice } = await invoiceOf();
    invoice.payments.push({ id: 'tx-1-0', value: '0.635', fee: '0.01', status: 'Processing' });
    expect(await btcpay.notify('InvoiceReceivedPayment', invoice)).toBe(202);
    expect(await read(renter, created.id)).toMatchObject({ state: 'SEEN', balance: 0 });
    // The invoice first expired and then settled. Its payment counts, not its status.
    gateway.clock.advance(1_000);
    expect(await btcpay.notify('InvoiceExpired', invoice)).toBe(202);
    invoice.payments[0]!.status = 'Settled';
    for (const type of ['InvoicePaymentSettled', 'InvoiceSettled', 'InvoiceSettled']) {
      expect(await btcpay.notify(type, invoice)).toBe(202);
    }
    expect(await read(renter, created.id)).toMatchObject({ state: 'CREDITED', credited: 50, balance: 50 });
  });

  test('recovers a lost webhook through the sweep within 5 minutes', async () => {
    const { created, invoice } = await invoiceOf();
    invoice.payments.push({ id: 'tx-2-0', value: '0.625', fee: '0', status: 'Settled' });
    gateway.clock.advance(60);
    await reconcile(gateway.deps, () => {});
    expect(await read(renter, created.id)).toMatchObject({ state: 'CREDITED', credited: 50 });
  });

  test('never credits a reversed payment, and reports one that had already been credited', async () => {
    const { created, invoice } = await invoiceOf();
    invoice.payments.push({ id: 'tx-3-0', value: '0.625', fee: '0', status: 'Processing' });
    await btcpay.notify('InvoiceReceivedPayment', invoice);
    invoice.payments[0]!.status = 'Invalid';
    await btcpay.notify('InvoiceInvalid', invoice);
    const reversed = await read(renter, created.id);
    expect(reversed).toMatchObject({ credited: 0, payments: [{ state: 'GONE' }] });
    invoice.payments[0]!.status = 'Settled';
    await btcpay.notify('InvoiceSettled', invoice);
    invoice.payments[0]!.status = 'Invalid';
    gateway.clock.advance(60);
    const events: PaymentEvent[] = [];
    await reconcile(gateway.deps, (event) => events.push(event));
    expect(events.filter(({ topUpId }) => topUpId === created.id)).toMatchObject([
      { state: 'LOST', usdMicro: 50_000_000n },
    ]);
    expect((await read(renter, created.id)).credited).toBe(50);
  });

  test('rejects wrongly signed webhooks and ignores those for other stores or orders', async () => {
    const { created, invoice } = await invoiceOf();
    invoice.payments.push({ id: 'tx-4-0', value: '0.625', fee: '0', status: 'Settled' });
    expect(await btcpay.notify('InvoiceSettled', invoice, 'another')).toBe(401);
    expect((await read(renter, created.id)).payments).toEqual([]);
    expect(await btcpay.notify('InvoiceSettled', { ...invoice, orderId: 'of-the-shop' })).toBe(202);
    expect((await read(renter, created.id)).payments).toEqual([]);
    expect(await btcpay.notify('InvoiceSettled', invoice)).toBe(202);
    expect((await read(renter, created.id)).credited).toBe(50);
  });
});
