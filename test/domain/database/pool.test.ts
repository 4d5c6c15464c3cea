import { type AddressInfo, createServer, connect as dial } from 'node:net';
import { expect, it } from 'vitest';
import { isUnavailable } from '../../../src/database/faults.js';
import { createPool } from '../../../src/database/pool.js';
import { inTransaction } from '../../../src/database/transaction.js';
import { createTestDatabase } from '../../support/database.js';

/** The last message before a session is ready, and the message that ends a session. */
const READY = Buffer.from('Z\0\0\0\x05I', 'latin1');
const FIELDS = Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0');
const LENGTH = Buffer.alloc(4);
LENGTH.writeInt32BE(FIELDS.length + 4);
const ONE = { name: 'one', text: 'select 1', values: [] };
const ENDED = Buffer.concat([Buffer.from('E'), LENGTH, FIELDS]);

it('the pool survives a session that ends in the same packet that reports it ready', async () => {
  const target = new URL(await createTestDatabase());
  const wire = createServer((client) => {
    const server = dial(Number(target.port), target.hostname);
    client.on('error', () => {}).on('close', () => server.destroy());
    client.pipe(server.on('error', () => {}));
    server.on('data', (chunk) => {
      if (chunk.includes(READY)) client.end(Buffer.concat([chunk, ENDED]));
      else client.write(chunk);
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => wire.once('listening', resolve));
  const url = new URL(target);
  url.port = String((wire.address() as AddressInfo).port);
  const pool = createPool(url.href, 'within');
  const uncaught: unknown[] = [];
  const onUncaught = (error: unknown) => void uncaught.push(error);
  process.on('uncaughtException', onUncaught);
  const refusals = await Promise.all(
    [() => inTransaction(pool, (transaction) => transaction.run(ONE)), () => pool.query('select 1')].map((use) =>
      use().catch((error) => error),
    ),
  );
  for (const refusal of refusals) expect([isUnavailable(refusal), String(refusal)]).toEqual([true, expect.any(String)]);
  expect(pool.totalCount).toBe(0);
  process.off('uncaughtException', onUncaught);
  // An error without a listener would crash the gateway.
  expect(uncaught).toEqual([]);
  await pool.end();
  wire.close();
});

it('the pool drops a connection whose server only accepts reads', async () => {
  const pool = createPool(await createTestDatabase(), 'within');
  const write = () =>
    inTransaction(pool, (transaction) =>
      transaction.run({ name: 'write', text: 'update account set name = name', values: [] }),
    );
  await pool.query('set default_transaction_read_only = on');
  const refusal = await write().catch((error) => error);
  expect([refusal.code, isUnavailable(refusal)]).toEqual(['25006', true]);
  expect(pool.totalCount).toBe(0);
  await write();
  await pool.end();
});
