import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A server for tests that implements the parts of BTCPay Server's Greenfield API that the gateway uses, following
 * GreenfieldInvoiceController.cs and WebhookSender.cs. The test sets the payments.
 */
interface Invoice {
  id: string;
  orderId: string;
  amount: string;
  createdTime: number;
  speedPolicy: string;
  paymentMethods: string[];
  lazyPaymentMethods?: boolean;
  payments: Payment[];
}

interface Payment {
  id: string;
  value: string;
  fee: string;
  status: 'Processing' | 'Settled' | 'Invalid';
}

export const STORE = 'store-1';

export class TestBtcpay {
  readonly invoices: Invoice[] = [];
  webhookUrl = '';
  readonly #key: string;
  readonly #secret: string;
  readonly #now: () => number;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  constructor(key: string, secret: string, now: () => number) {
    this.#key = key;
    this.#secret = secret;
    this.#now = now;
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async notify(type: string, invoice: Invoice, secret = this.#secret): Promise<number> {
    const event = {
      deliveryId: 'd',
      webhookId: 'w',
      isRedelivery: false,
      type,
      timestamp: this.#now(),
      storeId: STORE,
    };
    const body = JSON.stringify({ ...event, invoiceId: invoice.id, metadata: { orderId: invoice.orderId } });
    const sig = createHmac('sha256', secret).update(body).digest('hex');
    const headers = { 'content-type': 'application/json', 'btcpay-sig': `sha256=${sig}` };
    return (await fetch(this.webhookUrl, { method: 'POST', body, headers })).status;
  }

  #page(query: URLSearchParams): object[] {
    const [since, skip, take] = ['startDate', 'skip', 'take'].map((name) => Number(query.get(name)));
    return this.invoices
      .filter(({ createdTime }) => createdTime >= since!)
      .slice(skip, skip! + take!)
      .map(({ id, orderId, createdTime, paymentMethods }) => {
        return { id, metadata: { orderId }, createdTime, checkout: { paymentMethods } };
      });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const send = (status: number, answer: unknown) => response.writeHead(status).end(JSON.stringify(answer));
    if (request.headers.authorization !== `token ${this.#key}`) return void send(401, { code: 'unauthenticated' });
    const [path, query] = (request.url ?? '').replace(`/api/v1/stores/${STORE}`, '').split('?');
    if (path === '/payment-methods') return void send(200, [{ paymentMethodId: 'LTC-CHAIN', enabled: true }]);
    if (path === '/invoices' && request.method === 'GET') return void send(200, this.#page(new URLSearchParams(query)));
    if (path === '/invoices') {
      const asked = JSON.parse(Buffer.concat(chunks).toString());
      const invoice: Invoice = {
        id: `invoice-${this.invoices.length + 1}`,
        orderId: asked.metadata.orderId,
        amount: asked.amount,
        createdTime: this.#now(),
        ...asked.checkout,
        payments: [],
      };
      this.invoices.push(invoice);
      return void send(200, { id: invoice.id, storeId: STORE, expirationTime: this.#now() + 900, status: 'New' });
    }
    const invoice = this.invoices.find(({ id }) => path === `/invoices/${id}/payment-methods`);
    if (invoice === undefined) return void send(404, { code: 'invoice-not-found' });
    const address = `ltc-of-${invoice.id}`;
    const payments = invoice.payments.map((payment) => ({ ...payment, destination: address, receivedDate: 0 }));
    // This store is set to lazy payment methods, so there is no address until the invoice's page is opened.
    const activated = invoice.lazyPaymentMethods === false;
    send(200, [
      {
        paymentMethodId: 'LTC-CHAIN',
        destination: activated ? address : null,
        // BTCPay's decimals have up to 28 places.
        rate: '80.0000000000000000000000000000',
        amount: '0.6250000000000000000000000000',
        activated,
        payments,
      },
    ]);
  }
}
