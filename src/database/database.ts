import { PrismaPg } from '@prisma/adapter-pg';
import type pg from 'pg';
import { PrismaClient } from './generated/client/client.js';
import { Turns } from './keyed-queue.js';
import { Notices } from './notices.js';
import { createPool, type Telling } from './pool.js';

export type { Prisma } from './generated/client/client.js';
export { PrismaClient } from './generated/client/client.js';

/** Both ways to the one database: Prisma for reading the graph, the pool for the domain's own statements. */
export interface Database {
  prisma: PrismaClient;
  pool: pg.Pool;
  /** Takes writes of one account one after the other. */
  turns: Turns;
  /** What any process changes. */
  notices: Notices;
  close(): Promise<void>;
}

export function openDatabase(connectionString: string, telling: Telling = 'within'): Database {
  const pool = createPool(connectionString, telling);
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
  const notices = new Notices(connectionString, telling);
  return {
    prisma,
    pool,
    turns: new Turns(),
    notices,
    close: async () => {
      await notices.close();
      await prisma.$disconnect();
      await pool.end();
    },
  };
}
