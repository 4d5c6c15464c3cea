import type { Database } from '../../src/database/database.js';
import { inTransaction, type Transaction } from '../../src/database/transaction.js';
import type { TestDomain } from './domain.js';

export type Client = Pick<Transaction, 'query'>;

const WITHOUT_TRIGGERS = 'set local session_replication_role = replica';

/** Changes the database without triggers or foreign keys, as its owner could. */
export function withoutTriggers({ db }: TestDomain, change: (transaction: Client) => Promise<unknown>): Promise<void> {
  return inTransaction(db.pool, async (transaction) => {
    await transaction.query(WITHOUT_TRIGGERS);
    await change(transaction);
  });
}

/**
 * Changes the database without triggers or foreign keys, as its owner could. Returns what `read` returns within the same
 * transaction, and undoes the change.
 */
export async function afterChange<T>(
  domain: TestDomain,
  change: (client: Client) => Promise<unknown>,
  read: (db: Database) => Promise<T>,
): Promise<T> {
  const client = await domain.db.pool.connect();
  try {
    await client.query('begin');
    await client.query(WITHOUT_TRIGGERS);
    await change(client as unknown as Client);
    const query = client.query.bind(client);
    const connection = Object.assign(Object.create(client), {
      query: (given: string | { text: string }, values?: unknown[]) => {
        const text = typeof given === 'string' ? given : given.text;
        return /^(BEGIN|COMMIT|ROLLBACK|set transaction)/i.test(text) ? Promise.resolve() : query(text, values);
      },
      release: () => {},
    });
    const pool = Object.assign(Object.create(domain.db.pool), { connect: async () => connection });
    return await read({ ...domain.db, pool });
  } finally {
    await client.query('rollback');
    client.release();
  }
}
