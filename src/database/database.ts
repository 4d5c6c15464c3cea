import { PrismaPg } from '@prisma/adapter-pg';
import type pg from 'pg';
import { PrismaClient } from './generated/client/client.js';
import { KeyedQueue } from './keyed-queue.js';
import { Notices } from './notices.js';
import { createPool, type NotifyMode } from './pool.js';
import { PrimaryCheck } from './primary-check.js';
import { Replica } from './replica.js';
import { closeSilentConnections } from './silent-server.js';

export { Prisma, PrismaClient } from './generated/client/client.js';

/** The two ways to access the database: Prisma for reading the graph, and the pool for the domain's own statements. */
export interface Database {
  prisma: PrismaClient;
  pool: pg.Pool;
  /** The replica that `inSnapshot` reads from, or null if none is configured. */
  replica: Replica | null;
  /** Runs each account's writes sequentially. */
  accountQueue: KeyedQueue;
  /** Changes made by any process. */
  notices: Notices;
  close(): Promise<void>;
}

/**
 * Opens the database. `acquireTimeoutMs` is the maximum time to wait for a connection, which defaults to the limit for
 * requests.
 */
export function openDatabase(
  connectionString: string,
  notifyMode: NotifyMode = 'within',
  acquireTimeoutMs?: number,
  replicaUrl: string | null = null,
): Database {
  // Operator commands that only read may run on a standby, and exit before they could reach a former primary.
  const primary = notifyMode === 'after' ? new PrimaryCheck() : null;
  const pool = createPool(connectionString, notifyMode, acquireTimeoutMs, primary);
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
  const notices = new Notices(connectionString, notifyMode, primary);
  const replica = replicaUrl === null ? null : new Replica(replicaUrl, pool);
  const stopClosing = closeSilentConnections(pool, () => notices.isAnswering);
  return {
    prisma,
    pool,
    replica,
    accountQueue: new KeyedQueue(),
    notices,
    close: async () => {
      stopClosing();
      await notices.close();
      await replica?.close();
      await prisma.$disconnect();
      await pool.end();
    },
  };
}
