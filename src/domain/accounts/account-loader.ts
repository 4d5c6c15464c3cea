import DataLoader from 'dataloader';
import type pg from 'pg';
import { ACCOUNT_COLUMNS, INSTANCE_COLUMNS } from '../billing/ledger-rows.js';
import type { Account, Instance } from '../rules/lifecycle.js';

/** Accounts that one statement reads at most. */
const MAX_TOGETHER = 50;

/** Of one turn of the event loop. */
const TOGETHER = {
  cache: false,
  maxBatchSize: MAX_TOGETHER,
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
 * What every request with a key reads. What is asked for in one turn of the event loop, by whichever requests, is read
 * by one statement, sent after the last was asked: nobody gets what is older than his question, and nothing is kept.
 */
export class AccountLoader {
  readonly #accounts: DataLoader<string, Readonly<Account> | null>;
  readonly #liveInstances: DataLoader<string, readonly Readonly<Instance>[]>;

  constructor(pool: pg.Pool) {
    this.#accounts = new DataLoader(async (ids) => {
      const { rows } = await pool.query<Account>({ ...ACCOUNTS, values: [ids] });
      const byId = new Map(rows.map((account) => [account.id, account]));
      return ids.map((id) => byId.get(id) ?? null);
    }, TOGETHER);
    this.#liveInstances = new DataLoader(async (ids) => {
      const { rows } = await pool.query<Instance>({ ...LIVE_INSTANCES, values: [ids] });
      const byAccount = new Map<string, Instance[]>(ids.map((id) => [id, []]));
      for (const instance of rows) byAccount.get(instance.accountId)!.push(instance);
      return ids.map((id) => byAccount.get(id)!);
    }, TOGETHER);
  }

  /** The account as it stands, unsettled; null when there is none. */
  account(id: string): Promise<Readonly<Account> | null> {
    return this.#accounts.load(id);
  }

  /** The account's undestroyed instances as they stand, newest first. */
  liveInstances(accountId: string): Promise<readonly Readonly<Instance>[]> {
    return this.#liveInstances.load(accountId);
  }
}
