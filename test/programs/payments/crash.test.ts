import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { createTestDatabase } from '../../support/database.js';
import { freePort } from '../../support/free-port.js';
import { client } from '../../support/gateway.js';
import { killsOf } from '../../support/long.js';
import { admin, adminJson } from '../../support/operator.js';
import { WrittenChain } from '../../support/payments/chain.js';
import { TestShkeeper } from '../../support/payments/shkeeper.js';
import { KEY, topUp } from '../../support/payments/shop.js';
import { cleanUp, connect, query, startProcess } from '../../support/process.js';

afterAll(cleanUp);

const ROUNDS = killsOf(20);
/** Number of milliseconds in which most callbacks get a response. */
const ANSWERED_MS = 40;

test(`a gateway killed ${ROUNDS} times before a commit credits payments exactly once`, {
  timeout: 300_000,
}, async () => {
  const chain = new WrittenChain();
  const shkeeper = new TestShkeeper({
    key: KEY,
    chains: { LTC: chain },
    rates: { LTC: '80' },
    confirmations: 6,
    now: () => Math.floor(Date.now() / 1_000),
  });
  const url = await createTestDatabase();
  const env = {
    DATABASE_URL: url,
    SEED: 'none',
    LOG_LEVEL: 'error',
    RATE_LIMIT_PER_MINUTE: '0',
    PORT: String(await freePort()),
    PAYMENTS: 'shkeeper',
    PAYMENTS_URL: await shkeeper.listen(),
    PAYMENTS_KEY: KEY,
  };
  let gateway = await startProcess(env);
  const account = await adminJson(['account', 'create', '--name', 'Crash'], env);
  const { api_key } = await adminJson(['key', 'create', '--account', account.id], env);
  const renter = client(gateway.address, api_key, account.id);
  const made: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { id, address, amount } = await topUp(renter, 5);
    made.push(id);
    await chain.pay(address, amount);
    await chain.mine(6);
    // In every other round, the callback is forced to wait for its account when the gateway is killed. In the
    // remaining rounds, the gateway is killed at a random moment.
    const holder = round % 2 === 0 ? await connect(url) : null;
    await holder?.query('begin');
    await holder?.query('select 1 from account where id = $1 for update', [account.id]);
    const telling = shkeeper.poll();
    await sleep(holder === null ? (round / ROUNDS) * ANSWERED_MS : 100);
    await gateway.kill();
    await telling;
    await holder?.query('rollback');
    await holder?.end();
    gateway = await startProcess(env);
  }
  const lostAnswers = shkeeper.transactions.filter(({ callbackConfirmed }) => !callbackConfirmed).length;
  // Each round's callback was repeated after the next start. The last round's callbacks are repeated now.
  await shkeeper.poll();
  await shkeeper.poll();
  expect(shkeeper.transactions.every(({ callbackConfirmed }) => callbackConfirmed)).toBe(true);
  expect(lostAnswers).toBeGreaterThan(0);
  const credits = await query(url, `select id, units from ledger_entry where account_id = '${account.id}' order by id`);
  expect(credits.map(({ id }) => String(id).split('/')[1])).toEqual([...made].sort());
  expect(await query(url, `select 1 from payment where state <> 'CREDITED'`)).toEqual([]);
  expect((await renter.rest('GET', '/balance')).body.balance).toBe(5 * ROUNDS);
  expect((await admin(['audit'], env)).stdout).toContain('no mismatch');

  // The operator sees the payment.
  const [newest] = await adminJson(['topup', 'list'], env);
  expect(newest).toMatchObject({ id: made.at(-1), state: 'credited', asset: 'LTC', usd: 5, credited: 5 });
  const shown = await admin(['topup', 'show', made[0]!], env);
  expect(shown.stdout).toMatch(/TRANSACTION +STATE[\s\S]*written-transaction-1-\S+ +credited +LTC +0\.0625 +5\.00/);
  const csv = await admin(['topup', 'export', '--csv', '--from', '2020-01-01', '--to', '2100-01-01'], env);
  expect(csv.stdout.split('\n')[0]).toBe(
    'at,kind,account,top_up,processor,asset,transaction,coins,usd,ledger_entry,note',
  );
  expect(csv.stdout.trim().split('\n')).toHaveLength(1 + ROUNDS);
  const refund = ['topup', 'refund', made[0]!, '--amount', '5', '--transaction', 'outside', '--note', 'asked for'];
  expect((await admin(refund, env)).code).toBe(0);
  expect((await admin(refund, env)).code).toBe(0);
  const tooMuch = await admin(['topup', 'refund', made[0]!, '--amount', '1', '--transaction', 'x', '--note', 'y'], env);
  expect(tooMuch).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('a refund must be above 0 and must not exceed'),
  });
  expect((await renter.rest('GET', '/balance')).body.balance).toBe(5 * ROUNDS - 5);
  expect((await admin(['audit'], env)).stdout).toContain('no mismatch');

  // A top-up that is missing, because the database was restored to an earlier time.
  expect((await admin(['topup', 'reconcile', '--since', '2026-01-01T00:00:00Z'], env)).code).toBe(0);
  const id = `t-${'0'.repeat(20)}`;
  const headers = { 'x-shkeeper-api-key': KEY };
  const body = JSON.stringify({ external_id: id, fiat: 'USD', amount: '5', callback_url: gateway.address });
  await fetch(`${env.PAYMENTS_URL}/api/v1/LTC/payment_request`, { method: 'POST', headers, body });
  const transaction = await chain.pay(shkeeper.invoices.at(-1)!.address, '0.0625');
  await chain.mine(6);
  await shkeeper.poll();
  const missing = await admin(['topup', 'reconcile', '--since', '2026-01-01T00:00:00Z', '--json'], env);
  expect(missing.code).toBe(1);
  const lost = { top_up: id, account: null, transaction, asset: 'LTC', coins: '0.0625', usd: 5, booked: null };
  expect(JSON.parse(missing.stdout)).toEqual([lost]);
  const unclear = await admin(['topup', 'reconcile', '--since', 'yesterday'], env);
  expect(unclear).toMatchObject({ code: 2, stderr: expect.stringContaining('must be a time with a zone') });
  await gateway.end();
  await shkeeper.close();
});
