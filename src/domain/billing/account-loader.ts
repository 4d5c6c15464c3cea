import DataLoader from 'dataloader';
import type pg from 'pg';
import type { Account, Instance } from '../kernel/lifecycle.js';
import { ACCOUNT_COLUMNS, INSTANCE_COLUMNS } from './ledger-rows.js';

/** Maximum number of accounts read by one statement. */
const MAX_BATCH = 50;

/** A batch contains all loads requested in the same turn of the event loop. */
const BATCHING = {
  cache: false,
  maxBatchSize: MAX_BATCH,
  batchScheduleFn: (send: () => void) => setImmediate(send),
};

const ACCOUNTS = {
  name: 'read-accounts',
  text: `select ${ACCOUNT_COLUMNS} from account where id = any($1::text[])`,
};
const LIVE_INSTANCES = {
  name: 'read-live',
  text: `select ${INSTANCE_COLUMNS} from instance where account_id = any($1::text[]) and status <> 'DESTROYED'
         order by account_id, sequence desc`,
};

/**
 * Reads accounts and their live instances, which every authenticated request needs. All loads requested in the same
 * turn of the event loop, by any request, share one statement, which is sent at the end of that turn. Nothing is
 * cached, so a caller never gets rows older than its call.
 */
export class AccountLoader {
  readonly #accounts: DataLoader<string, Readonly<Account> | null>;
  readonly #liveInstances: DataLoader<string, readonly Readonly<Instance>[]>;

  constructor(pool: pg.Pool) {
    this.#accounts = new DataLoader(async (ids) => {
      const { rows } = await pool.query<Account>({ ...ACCOUNTS, values: [ids] });
      const byId = new Map(rows.map((account) => [account.id, account]));
      return ids.map((id) => byId.get(id) ?? null);
    }, BATCHING);
    this.#liveInstances = new DataLoader(async (ids) => {
      const { rows } = await pool.query<Instance>({ ...LIVE_INSTANCES, values: [ids] });
      const byAccount = new Map<string, Instance[]>(ids.map((id) => [id, []]));
      for (const instance of rows) byAccount.get(instance.accountId)?.push(instance);
      return ids.map((id) => byAccount.get(id) ?? []);
    }, BATCHING);
  }

  /** Returns the account as stored, without settling it, or null if it doesn't exist. */
  account(id: string): Promise<Readonly<Account> | null> {
    return this.#accounts.load(id);
  }

  /** Returns the account's live (not destroyed) instances as stored, newest first. */
  liveInstances(accountId: string): Promise<readonly Readonly<Instance>[]> {
    return this.#liveInstances.load(accountId);
  }
}
