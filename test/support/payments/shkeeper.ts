import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Chain } from './chain.js';

/**
 * A processor for tests that implements SHKeeper's routes and signatures over the given chains, following SHKeeper's
 * code (api_v1.py, callback.py, models.py, webhook_hmac.py). It has SHKeeper's invoices, its two kinds of callbacks,
 * which are repeated until a 202, and its error responses with HTTP 200.
 */
export interface ShkeeperOptions {
  key: string;
  /** Chains by SHKeeper's code for the coin. */
  chains: Record<string, Chain>;
  /** Rate in USD per coin, in whole cents. */
  rates: Record<string, string>;
  /** Confirmations that each wallet requires. SHKeeper's default is 1. */
  confirmations: number;
  /** SHKeeper's own fee on top of the amount. Its default is 2%. */
  fee?: Fee;
  /**
   * Coins whose payments are reported before their first block. SHKeeper does this only if UNCONFIRMED_TX_NOTIFICATION
   * is set and the coin's service shows its memory pool, which those of BTC, LTC and XMR don't.
   */
  reportsUnconfirmed?: readonly string[];
  /** Number of hours after which an invoice is priced again, or 0 for never. */
  recalc?: number;
  /** Returns the time in seconds, for the timestamps of callbacks. */
  now(): number;
}

/** SHKeeper's fee policies. Fees are in USD and percent, as decimal strings. */
export type Fee =
  | { policy: 'NO_FEE' }
  | { policy: 'PERCENT_FEE'; percent: string }
  | { policy: 'FIXED_FEE'; percent?: string; fixed: string }
  | { policy: 'PERCENT_OR_MINIMAL_FIXED_FEE'; percent: string; fixed: string };

type Mode = 'ok' | 'error' | 'nonsense' | 'slow' | 'down';

interface Invoice {
  id: number;
  externalId: string;
  callbackUrl: string;
  crypto: string;
  address: string;
  fiat: bigint;
  coins: bigint;
}

interface Transaction {
  invoice: Invoice;
  txid: string;
  coins: bigint;
  fiat: bigint;
  needsMore: boolean;
  callbackConfirmed: boolean;
}

/** Amounts are counted in units of 10^-10, the precision with which SHKeeper prints them. */
const SCALE = 10_000_000_000n;
const COIN_STEP = 100n;

export class TestShkeeper {
  mode: Mode = 'ok';
  /** Ids of top-ups whose invoices SHKeeper can't report. */
  readonly broken = new Set<string>();
  /** The fee policy. The operator may change it at any time, and callbacks use the current one. */
  fee: Fee;
  /** Whether quotes are available, which they aren't while a coin's node lags. */
  quotes = true;
  /** Whether callbacks are lost. */
  loses = false;
  /** Statuses of the responses to callbacks. */
  readonly answers: number[] = [];
  readonly invoices: Invoice[] = [];
  readonly transactions: Transaction[] = [];
  readonly #unconfirmed = new Map<string, { invoice: Invoice; coins: bigint; isReported: boolean }>();
  readonly #options: Required<Omit<ShkeeperOptions, 'fee'>>;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  constructor(options: ShkeeperOptions) {
    this.fee = options.fee ?? { policy: 'NO_FEE' };
    this.#options = { recalc: 0, reportsUnconfirmed: [], ...options };
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Processes the wallets' reports and repeats callbacks, as SHKeeper does after every block and every minute. */
  async poll(): Promise<void> {
    for (const invoice of this.invoices) {
      for (const { transaction: txid, coins, confirmations } of await this.#chain(invoice).received(invoice.address)) {
        this.#take(invoice, txid, scaled(coins), confirmations);
      }
    }
    await this.sendCallbacks();
  }

  #chain({ crypto }: Invoice): Chain {
    return this.#options.chains[crypto]!;
  }

  #take(invoice: Invoice, txid: string, coins: bigint, confirmations: number): void {
    const key = `${invoice.id} ${txid}`;
    const known = this.transactions.find((each) => each.txid === txid && each.invoice === invoice);
    if (confirmations === 0) {
      // A transaction that has lost its block keeps its state. A replaced one is never dropped.
      const isStored = known !== undefined || this.#unconfirmed.has(key);
      if (!isStored && this.#options.reportsUnconfirmed.includes(invoice.crypto)) {
        this.#unconfirmed.set(key, { invoice, coins, isReported: false });
      }
      return;
    }
    this.#unconfirmed.delete(key);
    const isEnough = confirmations >= this.#options.confirmations;
    if (known !== undefined) known.needsMore &&= !isEnough;
    else {
      const fiat = (coins * scaled(this.#options.rates[invoice.crypto]!)) / SCALE;
      this.transactions.push({ invoice, txid, coins, fiat, needsMore: !isEnough, callbackConfirmed: false });
    }
  }

  async sendCallbacks(): Promise<void> {
    for (const [key, unconfirmed] of this.#unconfirmed) {
      if (unconfirmed.isReported) continue;
      const { invoice, coins } = unconfirmed;
      const [, txid] = key.split(' ');
      unconfirmed.isReported = await this.#post(invoice.callbackUrl, {
        status: 'unconfirmed',
        external_id: invoice.externalId,
        crypto: invoice.crypto,
        addr: invoice.address,
        txid,
        amount: printed(coins),
      });
    }
    for (const transaction of this.transactions) {
      if (transaction.needsMore || transaction.callbackConfirmed) continue;
      transaction.callbackConfirmed = await this.#post(transaction.invoice.callbackUrl, this.notification(transaction));
    }
  }

  /** Returns the callback for an invoice about this transaction. */
  notification({ invoice, txid }: Pick<Transaction, 'invoice' | 'txid'>) {
    const paid = this.transactions.filter((each) => each.invoice === invoice);
    const balance = paid.reduce((sum, { fiat }) => sum + fiat, 0n);
    return {
      external_id: invoice.externalId,
      crypto: invoice.crypto,
      addr: invoice.address,
      fiat: 'USD',
      balance_fiat: printed(balance),
      balance_crypto: printed(paid.reduce((sum, { coins }) => sum + coins, 0n)),
      paid: balance * 100n >= invoice.fiat * 95n,
      status:
        balance * 100n < invoice.fiat * 95n ? 'PARTIAL' : balance * 100n < invoice.fiat * 105n ? 'PAID' : 'OVERPAID',
      transactions: paid.map((each) => ({
        txid: each.txid,
        date: '2026-11-20 12:00:00',
        amount_crypto: printed(each.coins),
        amount_fiat: printed(each.fiat),
        amount_fiat_without_fee: printed(this.#withoutFee(each.fiat)),
        fee_fiat: printed(each.fiat - this.#withoutFee(each.fiat)),
        trigger: each.txid === txid,
        crypto: invoice.crypto,
      })),
      ...this.#feeFields(),
      overpaid_fiat: '0.00',
    };
  }

  #feeFields(): object {
    const { percent, fixed } = this.#feeRates();
    return { fee_percent: printed(percent), fee_fixed: printed(fixed), fee_policy: this.fee.policy };
  }

  /** Returns the fee settings, whether or not the policy uses them. */
  #feeRates(): { percent: bigint; fixed: bigint } {
    const { percent = '2', fixed = '0' } = this.fee as { percent?: string; fixed?: string };
    return { percent: scaled(percent), fixed: scaled(fixed) };
  }

  /** Returns the fee on top of the requested amount. */
  #feeOf(fiat: bigint): bigint {
    const { percent, fixed } = this.#feeRates();
    const share = (fiat * percent) / (100n * SCALE);
    const { policy } = this.fee;
    if (policy === 'NO_FEE') return 0n;
    if (policy === 'PERCENT_FEE') return share;
    if (policy === 'FIXED_FEE') return fixed;
    return share > fixed ? share : fixed;
  }

  /** Returns a payment without the fee. It is below zero if a fixed fee exceeds the payment. */
  #withoutFee(fiat: bigint): bigint {
    const { percent, fixed } = this.#feeRates();
    const share = (fiat * 100n * SCALE) / (100n * SCALE + percent);
    const { policy } = this.fee;
    if (policy === 'NO_FEE') return fiat;
    if (policy === 'PERCENT_FEE') return share;
    if (policy === 'FIXED_FEE') return fiat - fixed;
    return share < fiat - fixed ? share : fiat - fixed;
  }

  async #post(url: string, payload: object): Promise<boolean> {
    if (this.loses) return false;
    const body = Buffer.from(JSON.stringify(payload));
    const headers = signature(this.#options.key, body, this.#options.now());
    try {
      const response = await fetch(url, { method: 'POST', body, headers });
      await response.arrayBuffer();
      this.answers.push(response.status);
      return response.status === 202;
    } catch {
      return false;
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk as Buffer);
    if (this.mode === 'slow') return;
    if (this.mode === 'down') return void request.socket.destroy();
    if (this.mode === 'nonsense') return void response.end('<html>Bad gateway</html>');
    const send = (answer: object) => response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    const path = (request.url ?? '').replace('/api/v1', '');
    // This is the only one of these routes that requires no key.
    if (path === '/crypto') {
      return void send({ status: 'success', crypto: Object.keys(this.#options.chains), crypto_list: [] });
    }
    if (request.headers['x-shkeeper-api-key'] === undefined) {
      return void send({ status: 'error', message: 'No API key' });
    }
    if (request.headers['x-shkeeper-api-key'] !== this.#options.key) {
      return void send({ status: 'error', message: 'Bad API key' });
    }
    if (this.mode === 'error')
      return void send({ status: 'error', message: 'connection refused', traceback: 'Traceback' });
    const [, first = '', second = '', third = ''] = path.split('/');
    if (first === 'invoices' && this.broken.has(second ?? ''))
      return void send({ status: 'error', message: 'a fault' });
    if (first === 'invoices') return void send({ status: 'success', invoices: this.#invoicesOf(second) });
    if (first === 'tx-info') {
      const found = this.transactions.find(({ txid, invoice }) => txid === second && invoice.externalId === third);
      const info = found && { crypto: found.invoice.crypto, amount: printed(found.fiat), addr: found.invoice.address };
      return void send({ status: 'success', info: info ?? {} });
    }
    const asked = () => JSON.parse(Buffer.concat(body).toString());
    if (second === 'payment_request') return void send(await this.#open(first, asked()));
    if (second === 'quote') return void send(this.#quote(first, asked()));
    response.statusCode = 404;
    send({ status: 'error' });
  }

  /** Returns the invoices with this id, or all of them. */
  #invoicesOf(externalId: string) {
    return this.invoices
      .filter((invoice) => externalId === '' || invoice.externalId === externalId)
      .map((invoice) => ({
        txs: [
          ...this.transactions
            .filter((each) => each.invoice === invoice)
            .map(({ txid, coins }) => ({ amount: printed(coins), txid, status: 'CONFIRMED' })),
          ...[...this.#unconfirmed]
            .filter(([, each]) => each.invoice === invoice)
            .map(([key, { coins }]) => ({ amount: printed(coins), txid: key.split(' ')[1], status: 'UNCONFIRMED' })),
        ].map((each) => ({ ...each, crypto: invoice.crypto, addr: invoice.address })),
        external_id: invoice.externalId,
        balance_fiat: '0',
        fiat: 'USD',
        amount_fiat: printed(invoice.fiat),
        status: 'UNPAID',
      }));
  }

  /** Returns the current cost of an amount, including its fee. */
  #quote(crypto: string, asked: { fiat: string; amount: string }) {
    if (this.#options.chains[crypto] === undefined || !this.quotes) {
      return { status: 'error', message: `${crypto} payment gateway is unavailable because of lagging` };
    }
    return {
      status: 'success',
      fiat: asked.fiat,
      amount_fiat: asked.amount,
      crypto,
      amount_crypto: printed(this.#coinsFor(crypto, scaled(asked.amount))),
      exchange_rate: printed(scaled(this.#options.rates[crypto]!)),
    };
  }

  /** Returns the price in coins, including the fee and rounded half up to 8 decimals. */
  #coinsFor(crypto: string, fiat: bigint): bigint {
    const exact = ((fiat + this.#feeOf(fiat)) * SCALE) / scaled(this.#options.rates[crypto]!);
    return ((exact + COIN_STEP / 2n) / COIN_STEP) * COIN_STEP;
  }

  async #open(crypto: string, asked: { external_id: string; fiat: string; amount: string; callback_url: string }) {
    const chain = this.#options.chains[crypto];
    if (chain === undefined) return { status: 'error', message: `${crypto} payment gateway is unavailable` };
    const fiat = scaled(asked.amount);
    const rate = scaled(this.#options.rates[crypto]!);
    const invoice: Invoice = {
      id: this.invoices.length + 1,
      externalId: asked.external_id,
      callbackUrl: asked.callback_url,
      crypto,
      address: await chain.newAddress(),
      fiat,
      coins: this.#coinsFor(crypto, fiat),
    };
    this.invoices.push(invoice);
    return {
      status: 'success',
      id: invoice.id,
      exchange_rate: printed(rate),
      amount: printed(invoice.coins),
      wallet: invoice.address,
      recalculate_after: this.#options.recalc,
      display_name: crypto,
    };
  }
}

/** Returns the headers of SHKeeper's signature. */
export function signature(key: string, body: Buffer, timestamp: number): Record<string, string> {
  const hmac = createHmac('sha256', key).update(`${timestamp}.`).update(body).digest('hex');
  return {
    'content-type': 'application/json',
    'x-shkeeper-api-key': key,
    'x-shkeeper-timestamp': String(timestamp),
    'x-shkeeper-signature': hmac,
  };
}

function scaled(text: string): bigint {
  const [whole, decimals = ''] = text.split('.');
  return BigInt(whole! + decimals.slice(0, 10).padEnd(10, '0'));
}

function printed(value: bigint): string {
  if (value < 0n) return `-${printed(-value)}`;
  const text = value.toString().padStart(11, '0');
  return `${text.slice(0, -10)}.${text.slice(-10)}`.replace(/0+$/, '').replace(/\.$/, '');
}
