import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { backUp } from '../../src/database/embedded/backup.js';
import { findPostmaster } from '../../src/database/embedded/cluster.js';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.js';
import { restore } from '../../src/database/embedded/restore.js';
import { folder, preparedFolder } from './process.js';

/** A primary with a seeded database and a streaming standby. */
export interface Replicated {
  primaryUrl: string;
  standbyUrl: string;
  /** Runs a statement on the standby. */
  onStandby(text: string): Promise<pg.QueryResult>;
  onPrimary(text: string): Promise<pg.QueryResult>;
  /** Sends a signal to the standby's server process. */
  signalStandby(signal: NodeJS.Signals): Promise<void>;
  close(): Promise<void>;
}

const FAST = { fsync: 'off', max_connections: '60', shared_buffers: '16MB' };

/** Starts both servers. `cleanUp` removes their folders. */
export async function openReplicated(): Promise<Replicated> {
  const primary = await openEmbeddedPostgres({ dataDir: await preparedFolder(), settings: FAST });
  const standby = await openStandby(primary.url);
  return {
    primaryUrl: primary.url,
    standbyUrl: standby.url,
    onStandby: (text) => query(standby.url, text),
    onPrimary: (text) => query(primary.url, text),
    signalStandby: async (signal) => {
      process.kill((await findPostmaster(join(standby.dataDir, 'postgres')))!.pid, signal);
    },
    close: async () => {
      await standby.release();
      await primary.release();
    },
  };
}

/** Starts a standby of the server. */
export async function openStandby(primaryUrl: string): Promise<EmbeddedPostgres & { dataDir: string }> {
  const home = folder();
  const [file, dataDir] = [join(home, 'backup.tar.gz'), join(home, 'data')];
  await backUp({ url: primaryUrl, file });
  await restore(file, dataDir);
  writeFileSync(join(dataDir, 'postgres/standby.signal'), '');
  const settings = {
    ...FAST,
    primary_conninfo: primaryUrl.replace(/\/[^/]*$/, '/'),
    wal_retrieve_retry_interval: '100ms',
    // A read that conflicts with the primary's changes is cancelled immediately.
    max_standby_streaming_delay: '0',
  };
  return { ...(await openEmbeddedPostgres({ dataDir, settings })), dataDir };
}

async function query(connectionString: string, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  return client.query(text).finally(() => client.end());
}
