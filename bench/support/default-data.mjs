// The data for every case: the seed's demo inventory, and accounts with their own histories.
import { withClient } from './database.mjs';
import { fillAccounts, settleTables } from './fill.mjs';
import { startGateway } from './programs.mjs';

export const ACCOUNTS = 3_000;
/** Number of stopped instances per account and, below, of past ones. */
export const STOPPED = 10;
export const PAST = 10;
/** Number of accounts that rent. They have no instances at first and are numbered after the other accounts. */
const RENTERS = 16;

export const renters = Array.from({ length: RENTERS }, (_, index) => ACCOUNTS + 1 + index);

/** Creates the database. No client remains connected to it. */
export async function createDefaultData(server, database) {
  await server.create(database);
  const url = server.urlOf(database);
  // The first start creates the tables and loads the seed.
  const gateway = await startGateway(url, { SEED: 'demo' });
  await gateway.end();
  await fillAccounts(url, { from: 1, to: ACCOUNTS, past: PAST, stopped: STOPPED });
  await fillAccounts(url, { from: renters[0], to: renters.at(-1), past: 0, stopped: 0 });
  await settleTables(url);
  return url;
}

/** Returns a free machine for each renting account. */
export function rentalsOf(url) {
  return withClient(url, async (client) => {
    const { rows } = await client.query(FREE_MACHINES, [RENTERS]);
    return renters.map((account, index) => ({ account, ...rows[index] }));
  });
}

const FREE_MACHINES = `
  select machine.id as "machineId" from machine
  where state = 'LISTED' and num_gpus = 1 and disk_gb >= 100
    and not exists (select 1 from instance where machine_id = machine.id and status <> 'DESTROYED')
  order by machine.id limit $1`;
