import { setTimeout as sleep } from 'node:timers/promises';
import { isUnavailable } from '../../database/faults.js';
import type { Notice } from '../../database/notices.js';
import { NOTIFY_IN_TRANSACTION } from '../../database/pool.js';
import { inTransaction, StaleReadError, type Transaction } from '../../database/transaction.js';
import { required } from '../../std/required.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { eventsOf, type NewEvent } from '../kernel/events.js';
import { runningOn } from '../kernel/free-machine.js';
import {
  type Account,
  hasMonthlyLimits,
  type Instance,
  isDue,
  type Limited,
  noChanges,
  type Step,
  type StopReason,
  type Volume,
} from '../kernel/lifecycle.js';
import { emit } from '../kernel/outbox.js';
import type { LimitedKey } from '../kernel/spend-limit.js';
import { formatInstant, type Instant, latest, notBefore, type Second, secondOf } from '../kernel/time.js';
import type { LedgerDeps, SettlingDeps } from './deps.js';
import {
  INSERT_ACCOUNT,
  INSTANCE_OF_ACCOUNT,
  LIMITED_KEYS,
  LIVE_INSTANCES_OF_ACCOUNT,
  LIVE_VOLUMES_OF_ACCOUNT,
  LOCK_ACCOUNTS,
  LOCK_MACHINE,
  type LockedAccount,
  type MachineUnderLock,
  machineRows,
  machineStatements,
  RECOMPUTE_KEY,
  RECOMPUTE_TOTALS,
  TRY_ACCOUNT,
  VOLUME_OF_ACCOUNT,
  writesOf,
} from './ledger-rows.js';
import { settle, updateLimits } from './rules/settle.js';

/**
 * This is the only module that writes to the tables account, instance, usage_interval, volume_interval and
 * ledger_entry, and to the volume columns that affect charges. Every write goes through `write`, using the statements
 * in ledger-rows.ts. A write locks the accounts involved, ordered by id, and then the machine's host. After that it
 * reads the time, settles everything due, applies the rules, and commits all changes together. Locking in a different
 * order can cause deadlocks. A test fails if any other code contains statements that write to these tables.
 */

/** Maximum number of candidates that a picker tries to lock in one transaction. */
const MAX_CANDIDATES = 20;

/** An account created by this write, without credit. Its first credit is added by an ordinary step. */
interface NewAccount {
  id: string;
  name: string;
  demo: boolean;
  /** Whether the account was created by sign-up rather than by the operator. */
  signedUp?: boolean;
}

/** The rows needed by a write, which must be known before it starts. */
export interface Scope {
  accountIds: readonly [string, ...string[]];
  /** The account among `accountIds` that this write creates. */
  newAccount?: NewAccount;
  /** The machine to decide on. Accounts with running instances on its GPUs are locked and settled too. */
  machineId?: string;
  /** Picks the machine if `machineId` isn't given. */
  picker?: MachinePicker;
  /** An instance that belongs to the first account. */
  instanceId?: string;
}

/**
 * Picks the machine for a write that doesn't name one. Instead of waiting for rows locked by other transactions, it
 * skips them, so it can lock the holders' accounts after the renter's, regardless of their ids.
 */
export interface MachinePicker {
  /** A machine to wait for before picking. The machine and its holders are locked in the usual order. */
  waitFor: string | null;
  /** Locks the best matching machine that is neither locked nor held by one of `busyAccounts`. */
  lockBest(transaction: Transaction, busyAccounts: readonly string[]): Promise<Candidate | undefined>;
  /** Checks the locked machine again, because earlier reads may be outdated. */
  stillFits(transaction: Transaction, machineId: string): Promise<boolean>;
}

export interface Candidate {
  machineId: string;
  /** Accounts with running instances on the machine's GPUs, which would be preempted. */
  holderIds: readonly string[];
}

/** A write in progress. Its rows are locked and settled up to `at`, the second in which the write takes place. */
export interface Write extends Second {
  transaction: Transaction;
  account(id: string): Account | undefined;
  /** Returns an account of the scope that is known to exist. */
  lockedAccount(id: string): Account;
  instance(id: string): Instance | undefined;
  machine: MachineUnderLock | undefined;
  /** Returns the rules' inputs for a step on one of the scope's accounts. */
  step(account: Account): Step;
  /** Loads and locks the account's live instances. */
  liveInstancesOf(account: Account): Promise<Instance[]>;
  /** Loads and locks the account's volumes that haven't been deleted, oldest first. */
  liveVolumesOf(account: Account): Promise<Volume[]>;
  /** Loads and locks one of the account's volumes, even if it is deleted. */
  volumeOf(account: Account, id: string): Promise<Volume | undefined>;
  /** Loads and locks the rows needed to check the account's monthly limits. Later steps keep them up to date. */
  limitedOf(account: Account): Promise<Limited>;
  /**
   * Returns one of the account's keys, even if it isn't limited yet. Its spend this month is recomputed from the rows.
   */
  limitedKey(account: Account, id: string): Promise<LimitedKey>;
  /** Recomputes the account's running totals from its ledger entries and usage intervals. */
  recomputeTotals(account: Account): Promise<void>;
  /** Sends an event to the account. The event is written in the same transaction as the change that it reports. */
  emit(event: NewEvent): void;
  /** Writes the changes made so far. They are kept even if a later part of the write is rejected. */
  flush(): void;
}

/**
 * Locks and settles the scope's rows, runs `decide` on them, and commits its changes. If `decide` throws a DomainError,
 * only its own changes are undone, and the settled rows are still written. `recall` can return the response stored for
 * an earlier identical request.
 */
export async function write<T>(
  deps: LedgerDeps,
  scope: Scope,
  decide: (write: Write) => Promise<T> | T,
  recall?: (transaction: Transaction) => Promise<T | undefined>,
): Promise<T> {
  type Outcome = { rows: WriteRows | null } & ({ value: T } | { refusal: DomainError });
  let attempted: WriteRows | null = null;
  const work = async (transaction: Transaction): Promise<Outcome> => {
    attempted = null;
    // While this process can't receive notices, it makes the database send them on commit, because it could crash
    // before sending them itself.
    if (!deps.db.notices.isListening) transaction.later(NOTIFY_IN_TRANSACTION);
    const recalled = await recall?.(transaction);
    if (recalled !== undefined) return { rows: null, value: recalled };
    const current = await openWrite(deps, transaction, scope);
    attempted = current;
    await settleAll(deps, current);
    current.flush();
    try {
      const value = await decide(current);
      current.flush();
      deps.activity?.writeWith(transaction, current.at, current.created(scope.accountIds[0]));
      return { rows: current, value };
    } catch (error) {
      if (error instanceof DomainError) return { rows: current, refusal: error };
      throw error;
    }
  };
  const { pool, accountQueue } = deps.db;
  const outcome = await accountQueue
    .run(scope.accountIds[0], () => inTransaction(pool, work))
    .catch((error) => {
      // If the connection broke during the commit, the changes may have been made.
      if (attempted !== null && isUnavailable(error)) void publishPossibleChanges(deps, attempted);
      throw error;
    });
  if (outcome.rows !== null) publishChanges(deps, outcome.rows);
  if ('refusal' in outcome) throw outcome.refusal;
  if (outcome.rows !== null) deps.activity?.committed();
  return outcome.value;
}

/**
 * Publishes the changes before the response is sent, so that this process's caches are never older than its responses.
 */
function publishChanges(
  { db, apiKeyCache, events }: Pick<SettlingDeps, 'db' | 'apiKeyCache' | 'events'>,
  { written }: WriteRows,
): void {
  for (const reason of written.stops) events.stopped(reason);
  for (const account of written.accounts) apiKeyCache.updateAccount(account);
  db.notices.publish(noticesOf(written));
}

/**
 * Makes all gateways reread what a failed write may have changed. The server may still be committing it, for example
 * while it waits for a standby, so they reread it once more when its locks are released.
 */
async function publishPossibleChanges(
  { db, apiKeyCache }: Pick<SettlingDeps, 'db' | 'apiKeyCache'>,
  { written }: WriteRows,
): Promise<void> {
  const ids = Array.from(written.accounts, ({ id }) => id);
  const publish = () => {
    for (const id of ids) apiKeyCache.forgetAccount(id);
    db.notices.publish(noticesOf(written));
  };
  publish();
  for (let attempt = 1; attempt <= MAX_LOCK_ATTEMPTS; attempt += 1) {
    try {
      await inTransaction(db.pool, (transaction) =>
        transaction.query('select from account where id = any($1) order by id for update', [ids]),
      );
      return publish();
    } catch {
      await sleep(LOCK_AGAIN_MS, undefined, { ref: false });
    }
  }
}

/** Attempts to lock the accounts of a write in doubt, which add up to at least ten minutes. */
const MAX_LOCK_ATTEMPTS = 600;
const LOCK_AGAIN_MS = 1_000;

function noticesOf({ instances, accounts }: WriteRows['written']): Notice[] {
  return [
    ...Array.from(instances, ({ id, accountId, hostId }) => {
      return { table: 'instance' as const, id, account: accountId, machine: hostId };
    }),
    ...Array.from(accounts, ({ id }) => ({ table: 'account' as const, id })),
  ];
}

async function openWrite(deps: Pick<KernelDeps, 'clock'>, transaction: Transaction, scope: Scope): Promise<WriteRows> {
  const rows = new WriteRows(transaction);
  if (scope.newAccount !== undefined) rows.create(scope.newAccount, deps.clock.now());
  await rows.lock(scope);
  if (scope.picker !== undefined) await rows.pickMachine(scope.picker);
  for (const account of rows.accounts()) if (hasMonthlyLimits(account)) await rows.limitedOf(account);
  // The time is read after the locks are acquired, so that a write that had to wait doesn't take effect in an earlier
  // second than the write it waited for.
  rows.second = notBefore(rows.earliestSecond(), secondOf(deps.clock.nowMs()));
  return rows;
}

async function settleAll(deps: Pick<KernelDeps, 'settings'>, rows: WriteRows): Promise<void> {
  for (const account of rows.accounts()) {
    if (!isDue(account, rows.at)) continue;
    const live = await rows.liveInstancesOf(account);
    // During settlement, volumes end only with the grace period, and most accounts have no volumes.
    const volumes = account.liveVolumes === 0 ? [] : await rows.liveVolumesOf(account);
    settle(account, { live, volumes }, rows.at, deps.settings.graceSeconds, rows.changes);
  }
}

class WriteRows implements Write {
  readonly transaction: Transaction;
  second: Second = { at: 0n, end: 0n };
  readonly changes = noChanges();
  /** The rows written so far. */
  readonly written = { accounts: new Set<Account>(), instances: new Set<Instance>(), stops: [] as StopReason[] };
  machine: MachineUnderLock | undefined;
  readonly #accounts = new Map<string, LockedAccount>();
  /** Each row has exactly one object, no matter how it was read, because the rules change it in place. */
  readonly #instances = new Map<string, Instance>();
  readonly #volumes = new Map<string, Volume>();
  readonly #created: { id: string; accountId: string }[] = [];
  readonly #events: NewEvent[] = [];

  constructor(transaction: Transaction) {
    this.transaction = transaction;
  }

  accounts(): LockedAccount[] {
    return [...this.#accounts.values()];
  }

  account(id: string): Account | undefined {
    return this.#accounts.get(id);
  }

  lockedAccount(id: string): Account {
    return required(this.account(id), 'locked account');
  }

  instance(id: string): Instance | undefined {
    return this.#instances.get(id);
  }

  get at(): Instant {
    return this.second.at;
  }

  get end(): Instant {
    return this.second.end;
  }

  /**
   * Returns the earliest second in which this write may take place. Time never runs backwards, because everything
   * settled or sold so far ended with a second that started before this one.
   */
  earliestSecond(): Instant {
    const settled = this.accounts().map(({ settledAt }) => settledAt);
    return latest(this.machine?.soldUntil ?? 0n, ...settled) - 1n;
  }

  step(account: Account): Step {
    return { ...this.second, account, changes: this.changes };
  }

  create({ id, name, demo, signedUp = false }: NewAccount, at: Instant): void {
    const createdAt = formatInstant(at);
    this.transaction.later({
      ...INSERT_ACCOUNT,
      values: [id, name, String(demo), createdAt, signedUp ? createdAt : null],
    });
  }

  /**
   * Locks the scope's rows in a single round trip. Each statement reads only after the previous ones have acquired
   * their locks.
   */
  async lock({ accountIds, machineId, picker, instanceId }: Scope): Promise<void> {
    const [accounts, ...others] = await this.transaction.run(
      { ...LOCK_ACCOUNTS, values: [accountIds, machineId ?? picker?.waitFor ?? null] },
      ...(machineId === undefined ? [] : machineStatements(machineId)),
      ...(instanceId === undefined ? [] : [{ ...INSTANCE_OF_ACCOUNT, values: [accountIds[0], instanceId] }]),
    );
    for (const row of accounts as LockedAccount[]) this.#accounts.set(row.id, row);
    if (instanceId !== undefined) this.#known(others.pop() as Instance[]);
    if (machineId === undefined) return;
    const { row, liveInstances } = machineRows(others);
    // If another account rented the machine before it was locked, that account must be locked first.
    if (row === undefined) return;
    if (!this.#areHoldersLocked(row, liveInstances)) throw new StaleReadError();
    this.machine = { ...row, liveInstances: this.#known(liveInstances) };
  }

  /**
   * Picks a machine. Leaves `machine` undefined if no machine matches or if all matching machines are locked by others.
   */
  async pickMachine(picker: MachinePicker): Promise<void> {
    if (picker.waitFor !== null) await this.transaction.run({ ...LOCK_MACHINE, values: [picker.waitFor] });
    const busyAccounts: string[] = [];
    for (let tries = 0; tries < MAX_CANDIDATES && this.machine === undefined; tries += 1) {
      // Rolling back to this savepoint releases the rejected candidate's locks.
      await this.transaction.query('savepoint candidate');
      const candidate = await picker.lockBest(this.transaction, busyAccounts);
      if (candidate === undefined) return;
      const rejected = await this.#accept(picker, candidate);
      if (rejected !== null) {
        busyAccounts.push(...rejected.busyAccounts);
        await this.transaction.query('rollback to savepoint candidate');
      }
    }
  }

  /**
   * Accepts a candidate and returns null. Otherwise, returns the accounts to treat as busy: the holder's account if
   * another transaction has locked it, or none if the candidate changed before it was locked.
   */
  async #accept(
    picker: MachinePicker,
    { machineId, holderIds }: Candidate,
  ): Promise<{ busyAccounts: string[] } | null> {
    const holders: LockedAccount[] = [];
    for (const id of new Set(holderIds)) {
      if (this.#accounts.has(id)) continue;
      const holder = await this.#tryAccount(id);
      if (holder === undefined) return { busyAccounts: [id] };
      holders.push(holder);
    }
    const { row, liveInstances } = machineRows(await this.transaction.run(...machineStatements(machineId)));
    const areLocked = row !== undefined && this.#areHoldersLocked(row, liveInstances, holders);
    if (!areLocked || !(await picker.stillFits(this.transaction, machineId))) return { busyAccounts: [] };
    for (const holder of holders) this.#accounts.set(holder.id, holder);
    this.machine = { ...row, liveInstances: this.#known(liveInstances) };
    return null;
  }

  async #tryAccount(id: string): Promise<LockedAccount | undefined> {
    const [rows] = await this.transaction.run({ ...TRY_ACCOUNT, values: [id] });
    return rows[0] as LockedAccount | undefined;
  }

  #areHoldersLocked(
    machine: Pick<Instance, 'firstGpu' | 'numGpus'>,
    liveInstances: readonly Instance[],
    alsoLocked: readonly Account[] = [],
  ): boolean {
    const isLocked = ({ accountId }: Instance) =>
      this.#accounts.has(accountId) || alsoLocked.some(({ id }) => id === accountId);
    return runningOn(machine, liveInstances).every(isLocked);
  }

  async liveInstancesOf(account: Account): Promise<Instance[]> {
    const [rows] = await this.transaction.run({ ...LIVE_INSTANCES_OF_ACCOUNT, values: [account.id] });
    return this.#known(rows as Instance[]);
  }

  async liveVolumesOf(account: Account): Promise<Volume[]> {
    const [rows] = await this.transaction.run({ ...LIVE_VOLUMES_OF_ACCOUNT, values: [account.id] });
    return knownOf(this.#volumes, rows as Volume[]);
  }

  async volumeOf(account: Account, id: string): Promise<Volume | undefined> {
    const [rows] = await this.transaction.run({ ...VOLUME_OF_ACCOUNT, values: [account.id, id] });
    return knownOf(this.#volumes, rows as Volume[])[0];
  }

  async limitedOf(account: Account): Promise<Limited> {
    if (account.limited !== undefined) return account.limited;
    const live = await this.liveInstancesOf(account);
    const [keys] = await this.transaction.run({ ...LIMITED_KEYS, values: [account.id] });
    account.limited = { keys: keys as LimitedKey[], live };
    return account.limited;
  }

  async limitedKey(account: Account, id: string): Promise<LimitedKey> {
    const settledAt = latest(this.at, account.settledAt);
    const values = [account.id, id, formatInstant(settledAt)];
    const [rows] = await this.transaction.run({ ...RECOMPUTE_KEY, values });
    const spent = rows[0] as Pick<LimitedKey, 'spendUnits' | 'burnRate'>;
    return {
      id,
      monthlyLimit: null,
      limitReachedAt: null,
      limitAt: null,
      monthStartSpendUnits: 0n,
      settledAt,
      ...spent,
    };
  }

  async recomputeTotals(account: Account): Promise<void> {
    const [rows] = await this.transaction.run({ ...RECOMPUTE_TOTALS, values: [account.id] });
    Object.assign(account, rows[0]);
    for (const key of account.limited?.keys ?? []) {
      const { settledAt, spendUnits, burnRate, monthStartSpendUnits } = await this.limitedKey(account, key.id);
      this.changes.keys.add(Object.assign(key, { settledAt, spendUnits, burnRate, monthStartSpendUnits }));
    }
    this.changes.accounts.add(account);
  }

  emit(event: NewEvent): void {
    this.#events.push(event);
  }

  /** Returns the ids of the account's instances and volumes created by this write. */
  created(accountId: string): string[] {
    return this.#created.filter((row) => row.accountId === accountId).map(({ id }) => id);
  }

  #eventsOfChanges(): NewEvent[] {
    if (!this.accounts().some(({ hasActiveWebhook }) => hasActiveWebhook)) return [];
    const events = [...eventsOf(this.changes, this.machine?.hasHost !== true), ...this.#events.splice(0)];
    return events.filter(({ accountId }) => this.#accounts.get(accountId)?.hasActiveWebhook === true);
  }

  flush(): void {
    const { accounts, created, updated, closed, createdVolumes } = this.changes;
    for (const account of accounts)
      if (account.limited !== undefined) updateLimits(account, account.limited.live, this.changes);
    this.#created.push(...created, ...createdVolumes);
    const events = this.#eventsOfChanges();
    this.transaction.later(...writesOf(this.changes), ...(events.length === 0 ? [] : [emit(events)]));
    for (const account of accounts) this.written.accounts.add(account);
    for (const instance of [...created, ...updated]) this.written.instances.add(instance);
    for (const { resource, instanceId } of closed) {
      const { stopReason = null } = (resource === 'GPU' && this.#instances.get(instanceId)) || {};
      if (stopReason !== null) this.written.stops.push(stopReason);
    }
    // Cleared in place, because existing steps keep recording their changes here.
    for (const collection of Object.values(this.changes) as (Set<unknown> | unknown[])[])
      if (Array.isArray(collection)) collection.length = 0;
      else collection.clear();
  }

  #known(rows: readonly Instance[]): Instance[] {
    return knownOf(this.#instances, rows);
  }
}

/** Returns the known object for each row and registers rows that aren't known yet. */
function knownOf<T extends { id: string }>(known: Map<string, T>, rows: readonly T[]): T[] {
  return rows.map((row) => {
    const before = known.get(row.id);
    if (before === undefined) known.set(row.id, row);
    return before ?? row;
  });
}
