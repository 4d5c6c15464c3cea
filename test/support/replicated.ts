import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { backUp } from '../../src/database/embedded/backup.js';
import { findPostmaster } from '../../src/database/embedded/cluster.js';
import { openEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.js';
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
  const home = folder();
  const [file, dataDir] = [join(home, 'backup.tar.gz'), join(home, 'data')];
  await backUp({ url: primary.url, file });
  await restore(file, dataDir);
  writeFileSync(join(dataDir, 'postgres/standby.signal'), '');
  const settings = {
    ...FAST,
    primary_conninfo: primary.url.replace(/\/[^/]*$/, '/'),
    wal_retrieve_retry_interval: '100ms',
    // A read that conflicts with the primary's changes is cancelled immediately.
    max_standby_streaming_delay: '0',
  };
  const standby = await openEmbeddedPostgres({ dataDir, settings });
  return {
    primaryUrl: primary.url,
    standbyUrl: standby.url,
    onStandby: (text) => query(standby.url, text),
    onPrimary: (text) => query(primary.url, text),
    signalStandby: async (signal) => {
      process.kill((await findPostmaster(join(dataDir, 'postgres')))!.pid, signal);
    },
    close: async () => {
      await standby.release();
      await primary.release();
    },
  };
}

async function query(connectionString: string, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  return client.query(text).finally(() => client.end());
}
