import { fillAccounts, fillHosts, fillMachines, settleTables } from './fill.mjs';

/** With the default data, this makes 100,000 accounts, 1,000,000 past instances and 100,000 machines in total. */
const ACCOUNTS = { from: 4_000, to: 101_000, past: 10, stopped: 0, daysAgo: 4 };
export const MACHINES = 100_000;
/** Number of eight-GPU hosts, which makes 1,500,000 machines. */
export const HOSTS = 100_000;
/**
 * An account with a long history. Its number is far from all others, because its instances' ids are derived from it.
 */
export const HEAVY_ACCOUNT = 1_000_000;
const HEAVY_PAST = 10_000;
const HEAVY_STOPPED = 10;

/** Copies the default data and adds to it. Fails while any client is connected to the original. */
export async function createLargeData(server, original, database) {
  await server.copy(original, database);
  const url = server.urlOf(database);
  await fillMachines(url, MACHINES);
  await fillAccounts(url, ACCOUNTS);
  const heavy = { from: HEAVY_ACCOUNT, to: HEAVY_ACCOUNT, past: HEAVY_PAST, stopped: HEAVY_STOPPED, daysAgo: 6 };
  await fillAccounts(url, heavy);
  await settleTables(url);
  return url;
}

/** Copies the default data and adds eight-GPU hosts to it. */
export async function createSlicedData(server, original, database) {
  await server.copy(original, database);
  const url = server.urlOf(database);
  await fillHosts(url, HOSTS);
  await settleTables(url);
  return url;
}
