// Express and node-postgres. Looks up a key's account in memory, reads its row by primary key and computes the balance
// from it. ETag and X-Powered-By are disabled, because they would only slow it down.
import express from 'express';
import pg from 'pg';

const UNITS_PER_MICRO = 3_600;
const MICRO_PER_USD = 1_000_000;
/** The same number of connections as the gateway has. */
const MAX_CONNECTIONS = 20;

process.once('message', ({ databaseUrl, accountOfKey }) => {
  const accounts = new Map(Object.entries(accountOfKey));
  const pool = new pg.Pool({ connectionString: databaseUrl, max: MAX_CONNECTIONS, options: '-c TimeZone=UTC' });
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.get('/v1/balance', async (request, response) => {
    const id = accounts.get(request.headers.authorization?.slice('Bearer '.length));
    if (id === undefined) return response.status(401).json({ error: { code: 'unauthorized' } });
    const { rows } = await pool.query({ name: 'account', text: 'select * from account where id = $1', values: [id] });
    response.json(balanceOf(rows[0], Math.floor(Date.now() / 1_000)));
  });
  const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
});

/** Computes with ordinary numbers, because the amounts are far below 2^53 units. */
function balanceOf(row, now) {
  const monthStart = Date.UTC(new Date(now * 1_000).getUTCFullYear(), new Date(now * 1_000).getUTCMonth()) / 1_000;
  const settledAt = row.settled_at.getTime() / 1_000;
  const spendAt = (second) => Number(row.spend_units) + Number(row.burn_rate) * Math.max(second - settledAt, 0);
  const spend = microOf(spendAt(now));
  const before = microOf(monthStart <= settledAt ? Number(row.month_start_spend_units) : spendAt(monthStart));
  const credit = microOf(Number(row.credit_units));
  return {
    object: 'balance',
    currency: 'USD',
    balance: (credit - spend) / MICRO_PER_USD,
    month_spend: (spend - before) / MICRO_PER_USD,
  };
}

function microOf(units) {
  return Math.floor(units / UNITS_PER_MICRO);
}
