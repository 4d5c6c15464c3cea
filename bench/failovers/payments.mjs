// A payment processor with SHKeeper's routes and signatures, and payers. Each payment's callback is delivered to both
// gateways, and repeated until it has been acknowledged two or three times.
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { repeatedRequests } from './clients.mjs';
import { call } from './tools.mjs';

const KEY = 'failovers';
const USD = '5.00';
const COINS = '0.0625';
const RATE = '80.00';
/** Number of top-ups that are opened in advance, so that payments also arrive while no top-up can be opened. */
const OPENED_AHEAD = 48;
const PAY_EVERY_MS = 700;
const RETRY_MS = 300;
const OPEN = `mutation ($input: CreateTopUpInput!) { createTopUp(input: $input) { id address } }`;

export async function openProcessor() {
  let invoices = 0;
  const server = createServer(async (request, response) => {
    const send = (answer) => response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    const [, , , first, second] = request.url.split('/');
    if (first === 'crypto') return send({ status: 'success', crypto: ['LTC'] });
    if (first === 'invoices') return send({ status: 'success', invoices: [] });
    if (second !== 'payment_request') return response.writeHead(404).end();
    const { external_id: id } = await json(request);
    invoices += 1;
    const price = { exchange_rate: RATE, amount: COINS, recalculate_after: 0 };
    send({ status: 'success', id: invoices, wallet: addressOf(id), display_name: 'LTC', ...price });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    env: {
      PAYMENTS: 'shkeeper',
      PAYMENTS_URL: `http://127.0.0.1:${server.address().port}`,
      PAYMENTS_KEY: KEY,
      PAYMENTS_CALLBACK_URL: 'http://127.0.0.1/payments/callback',
      TOPUP_ASK_ABOVE_USD: '1000000',
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function addressOf(topUpId) {
  return `ltc-of-${topUpId}`;
}

/** Opens top-ups of accounts 1 to `accounts`, and pays them, until `state.isOver`. */
export async function payRepeatedly(accounts, run) {
  const opened = [];
  const paying = [];
  const opening = openRepeatedly(accounts, opened, run);
  while (!run.state.isOver) {
    const id = opened.shift();
    if (id !== undefined) paying.push(pay(id, 2 + (paying.length % 2), run));
    await sleep(PAY_EVERY_MS);
  }
  await Promise.all([opening, ...paying]);
}

async function openRepeatedly(accounts, opened, { gateways, record, state }) {
  const clients = Array.from({ length: accounts }, (_, index) => repeatedRequests(index + 1, gateways, record));
  for (let n = 0; !state.isOver; n += 1) {
    if (opened.length >= OPENED_AHEAD) {
      await sleep(PAY_EVERY_MS);
      continue;
    }
    const variables = { input: { asset: 'LTC', usd: Number(USD), idempotencyKey: `top-up-${n}` } };
    const body = JSON.stringify({ query: OPEN, variables });
    while (!state.isOver) {
      const { status, body: text } = await clients[n % accounts]('POST', '/graphql', body);
      const { data, errors } = JSON.parse(text);
      if (data?.createTopUp) {
        opened.push(data.createTopUp.id);
        break;
      }
      const code = errors?.[0]?.extensions?.code;
      if (!['unavailable', 'UNAVAILABLE', 'idempotency_in_progress'].includes(code)) {
        record.unexpected.push(`createTopUp: ${status} ${text}`);
      }
      await sleep(RETRY_MS);
    }
  }
}

/** Pays a top-up and delivers the callback until it has been acknowledged `times` times. The first two are concurrent. */
async function pay(id, times, { gateways, record }) {
  const transaction = `tx-${id}`;
  const body = JSON.stringify({
    ...{ external_id: id, crypto: 'LTC', addr: addressOf(id), fiat: 'USD', paid: true, status: 'PAID' },
    transactions: [
      {
        ...{ txid: transaction, crypto: 'LTC', amount_crypto: COINS, trigger: true },
        ...{ amount_fiat: USD, amount_fiat_without_fee: USD, fee_fiat: '0.00' },
      },
    ],
  });
  let turn = 0;
  const deliver = async () => {
    for (;;) {
      turn += 1;
      const { port } = gateways[turn % gateways.length];
      const answer = await call(port, 'POST', '/payments/callback', signed(body), body).catch((error) => ({
        status: error.code ?? error.message,
      }));
      record.count(answer.status, answer.body);
      if (answer.status === 202) break;
      await sleep(RETRY_MS);
    }
    record.callbacks += 1;
    record.paid.set(id, transaction);
  };
  await Promise.all([deliver(), deliver()]);
  for (let more = 2; more < times; more += 1) await deliver();
}

function signed(body) {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  return {
    'content-type': 'application/json',
    'x-shkeeper-timestamp': timestamp,
    'x-shkeeper-signature': createHmac('sha256', KEY).update(`${timestamp}.${body}`).digest('hex'),
  };
}
