// Mercurius with graphql-jit and node-postgres, using the gateway's own schema text. For each request, it hashes the API
// key and reads the account's row and its live instances. As in the gateway, the owner of a key is read from the
// database once and then kept in memory. Scalars are passed through.
import { hash } from 'node:crypto';
import Fastify from 'fastify';
import mercurius from 'mercurius';
import pg from 'pg';
import { balanceOf } from '../support/balance.mjs';

/** An operation is compiled when it is sent for the second time. */
const JIT_AFTER = 1;
/** The same number of connections as the gateway has. */
const MAX_CONNECTIONS = 20;
const MICRO_PER_USD = 1_000_000;

const OWNER = {
  name: 'owner',
  text: `select account_id from api_key join account on account.id = account_id
         where hash = $1 and revoked_at is null and suspended_at is null`,
};
const ACCOUNT = {
  name: 'account',
  text: `select credit_units, spend_units, burn_rate, settled_at, month_start_spend_units from account where id = $1`,
};
const INSTANCES = {
  name: 'instances',
  text: `select id, status, gpu, num_gpus as "numGpus", region, template, disk_gb as "diskGb", mode, gpu_rate,
           created_at as "createdAt", stopped_at as "stoppedAt"
         from instance where account_id = $1 and status <> 'DESTROYED' order by sequence desc`,
};

// GraphQL returns instants as text, so it is faster not to convert them to dates in between.
pg.types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, (text) => `${text.slice(0, 10)}T${text.slice(11, 19)}Z`);

process.once('message', async ({ databaseUrl, schema, serviceDomain }) => {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: MAX_CONNECTIONS, options: '-c TimeZone=UTC' });
  const context = contextFor(pool);
  const app = Fastify();
  app.register(mercurius, { schema, resolvers: resolversFor(pool, serviceDomain), context, jit: JIT_AFTER });
  await app.listen({ port: 0, host: '127.0.0.1' });
  process.send({ port: app.server.address().port });
});

function contextFor(pool) {
  const owners = new Map();
  return async ({ headers }) => {
    const keyHash = hash('sha256', headers.authorization?.slice('Bearer '.length) ?? '', 'hex');
    let accountId = owners.get(keyHash);
    if (accountId === undefined) {
      const { rows } = await pool.query({ ...OWNER, values: [Buffer.from(keyHash, 'hex')] });
      if (rows.length === 0) throw new mercurius.ErrorWithProps('unauthorized', {}, 401);
      accountId = rows[0].account_id;
      owners.set(keyHash, accountId);
    }
    return { accountId };
  };
}

function resolversFor(pool, serviceDomain) {
  return {
    Query: {
      balance: async (_root, _args, { accountId }) => {
        const { rows } = await pool.query({ ...ACCOUNT, values: [accountId] });
        return { currency: 'USD', ...balanceOf(rows[0]) };
      },
      instances: async (_root, _args, { accountId }) => {
        const { rows } = await pool.query({ ...INSTANCES, values: [accountId] });
        return rows;
      },
    },
    Instance: {
      priceHr: ({ gpu_rate }) => Number(gpu_rate) / MICRO_PER_USD,
      hostname: ({ id }) => `${id}.${serviceDomain}`,
    },
  };
}
