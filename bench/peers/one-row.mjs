// Express and node-postgres. Looks up a key's account in memory, reads its row by primary key and computes the balance
// from it. ETag and X-Powered-By are disabled, because they would only slow it down.
import express from 'express';
import pg from 'pg';
import { balanceOf } from '../support/balance.mjs';

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
    const { balance, monthSpend } = balanceOf(rows[0]);
    response.json({ object: 'balance', currency: 'USD', balance, month_spend: monthSpend });
  });
  const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
});
