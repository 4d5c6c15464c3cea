import { openServer } from './database.mjs';
import { endAll } from './programs.mjs';

/**
 * Calls `work` with the run's PostgreSQL. Afterwards, even on failure, ends every process and removes the data, except
 * data in `keptDir`. `settings` override the server's.
 */
export async function withServer(work, keptDir, settings) {
  const server = await openServer(keptDir, settings);
  const close = async () => {
    await endAll();
    await server.close();
  };
  const closeEarly = (reason) => {
    console.error(reason);
    close().finally(() => process.exit(1));
  };
  process.once('SIGINT', closeEarly).once('SIGTERM', closeEarly).once('uncaughtException', closeEarly);
  try {
    return await work(server);
  } finally {
    await close();
  }
}
