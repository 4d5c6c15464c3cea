import { setTimeout as sleep } from 'node:timers/promises';
import { only } from '../../database/only.js';
import { inTransaction } from '../../database/transaction.js';
import type { Sweep } from '../kernel/background.js';
import type { KernelDeps } from '../kernel/deps.js';

/** Maximum number of entries chained by one transaction, which takes a fraction of a second. */
const BATCH = 500;
/** Maximum number of accounts listed at a time. */
const ACCOUNTS = 1_000;
const RETRY_AFTER_MS = 60_000;

/** Accounts without a complete chain, in the order of their ids. */
const UNCHAINED = `select id from account left join account_chain on account_id = id
  where complete is not true and id > $1 order by id limit ${ACCOUNTS}`;

/**
 * Starts chaining the entries of accounts that existed before chains did, and ends once all chains are complete. Every
 * transaction continues where the last one of any gateway ended, so gateways can do this concurrently and be killed.
 */
export function startChainHistory(deps: Pick<KernelDeps, 'db'>, onFault: (error: unknown) => void): Sweep {
  const stopping = new AbortController();
  const { signal } = stopping;
  const work = async () => {
    while (!signal.aborted && !(await chainHistory(deps, onFault, signal))) {
      await sleep(RETRY_AFTER_MS, undefined, { signal, ref: false }).catch(() => {});
    }
  };
  const ended = work();
  return {
    stop: () => {
      stopping.abort();
      return ended;
    },
  };
}

/**
 * Completes the chains of all accounts, with one transaction at a time. An account that fails doesn't hold up the
 * others. Returns whether all chains are complete.
 */
export async function chainHistory(
  { db: { pool } }: Pick<KernelDeps, 'db'>,
  onFault: (error: unknown) => void,
  signal?: AbortSignal,
): Promise<boolean> {
  let hasFailed = false;
  const attempt = async <T>(work: () => Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      onFault(error);
      hasFailed = true;
      return otherwise;
    }
  };
  const chainBatch = (id: string) =>
    inTransaction(pool, async (transaction) => {
      const text = 'select chain_history($1, $2) as complete';
      return only((await transaction.query<{ complete: boolean }>(text, [id, BATCH])).rows).complete;
    });
  const unchainedAfter = async (last: string | undefined) =>
    (await pool.query<{ id: string }>(UNCHAINED, [last])).rows.map(({ id }) => id);
  for (let after: string | undefined = ''; after !== undefined && !signal?.aborted; ) {
    const ids: string[] = await attempt(() => unchainedAfter(after), []);
    for (const id of ids) while (!signal?.aborted && !(await attempt(() => chainBatch(id), true)));
    after = ids.at(-1);
  }
  return !hasFailed;
}
