import type pg from 'pg';
import { inTransaction, StaleReadError } from '../database/transaction.js';
import type { Deps } from './deps.js';
import { DomainError } from './rules/errors.js';
import {
  type Account,
  type Changes,
  type Instance,
  isDue,
  noChanges,
  type Step,
  settle,
  type UsageInterval,
} from './rules/lifecycle.js';
import { formatInstant, type Instant, latest } from './rules/time.js';

/**
 * The one place that writes accounts, instances, usage intervals and ledger entries. A write locks the accounts
 * concerned (by id), then the machine, then reads the time, settles what is due, decides by the rules, and commits
 * everything it changed in one statement. Whoever locks in another order may deadlock.
 */
const ACCOUNT_FIELDS = [
  'id',
  'suspendedAt',
  'creditUnits',
  'spendUnits',
  'burnRate',
  'settledAt',
  'monthStartSpendUnits',
  'liveInstances',
  'deployedInstances',
  'exhaustedAt',
  'diskDeleteAt',
  'dueAt',
] as const satisfies (keyof Account)[];

const INSTANCE_FIELDS = [
  'id',
  'accountId',
  'sequence',
  'machineId',
  'status',
  'gpu',
  'numGpus',
  'region',
  'template',
  'diskGb',
  'mode',
  'gpuRate',
  'diskRate',
  'onDemandRate',
  'createdAt',
  'runningSince',
  'stoppedAt',
  'destroyedAt',
  'stopReason',
  'gpuSeconds',
  'gpuIntervals',
  'reservedUntil',
  'earlyExitUnits',
] as const satisfies (keyof Instance)[];

const INTERVAL_FIELDS = [
  'instanceId',
  'resource',
  'ordinal',
  'rate',
  'startedAt',
  'endedAt',
] as const satisfies (keyof UsageInterval)[];

const ENTRY_FIELDS = ['id', 'accountId', 'kind', 'units', 'at', 'instanceId', 'reference', 'note'] as const;

const columnNames = new Map<string, string>();
const ACCOUNT_COLUMNS = columns(ACCOUNT_FIELDS);
const INSTANCE_COLUMNS = columns(INSTANCE_FIELDS);

/** Machines a choice tries to take before it is told that others have all of them in hand. */
const MAX_CHOICES = 20;

/** What may change of an account and of an instance after they began. */
const ACCOUNT_UPDATES = ACCOUNT_FIELDS.filter((field) => field !== 'id');
const INSTANCE_UPDATES = [
  'status',
  'runningSince',
  'stoppedAt',
  'destroyedAt',
  'stopReason',
  'gpuSeconds',
  'gpuIntervals',
  'reservedUntil',
  'earlyExitUnits',
] as const satisfies (keyof Instance)[];

/** A machine under lock, with what lives on it. */
export interface MachineUnderLock {
  id: string;
  gpu: string;
  numGpus: number;
  region: string;
  diskGb: number;
  state: 'LISTED' | 'DRAINED' | 'OFFLINE' | 'RETIRED';
  /** The undestroyed instances on it, of any account. */
  live: Instance[];
}

/** What a write names before it begins. */
export interface Scope {
  accountIds: readonly string[];
  /** The machine to be judged; whoever holds it is locked and settled too. */
  machineId?: string;
  /** Instead of `machineId`. */
  choice?: Choice;
  /** An instance of the first account. */
  instanceId?: string;
}

/**
 * A machine that is chosen rather than named. Choosing locks only what no other transaction has locked and waits for
 * nothing, so that it may lock the holder's account after its own whatever their ids.
 */
export interface Choice {
  /** The machine to wait for before choosing, and whoever holds it, both in the order of all writes. */
  awaited: string | null;
  /** Locks the best machine that fits and nobody has locked, leaving out those that one of `busyAccounts` holds. */
  lockBest(client: pg.PoolClient, busyAccounts: readonly string[]): Promise<Chosen | undefined>;
  /** Judged anew: what was read before the lock may be over. */
  stillFits(client: pg.PoolClient, machineId: string): Promise<boolean>;
}

export interface Chosen {
  machineId: string;
  /** The account whose instance runs on it, and would have to leave. */
  holderId: string | null;
}

/** One write under way: the locked rows, settled to `at`. */
export interface Write {
  client: pg.PoolClient;
  at: Instant;
  readonly changes: Changes;
  account(id: string): Account | undefined;
  instance(id: string): Instance | undefined;
  machine: MachineUnderLock | undefined;
  /** A step of the rules for an account of the scope. */
  step(account: Account): Step;
  /** The undestroyed instances of an account, loaded and locked. */
  liveInstancesOf(account: Account): Promise<Instance[]>;
  /** Writes what changed so far. A refusal must not follow: it would undo nothing of it. */
  flush(): Promise<void>;
}

/**
 * Runs `decide` on the locked and settled rows of the scope and commits what it changed. A DomainError it throws
 * undoes only its own changes: what settling found due is kept. `recall` may give the answer of an earlier, same request.
 */
export async function write<T>(
  deps: Deps,
  scope: Scope,
  decide: (write: Write) => Promise<T> | T,
  recall?: (client: pg.PoolClient) => Promise<T | undefined>,
): Promise<T> {
  type Outcome = { rows: WriteRows | null } & ({ value: T } | { refusal: DomainError });
  const work = async (client: pg.PoolClient): Promise<Outcome> => {
    const recalled = await recall?.(client);
    if (recalled !== undefined) return { rows: null, value: recalled };
    const current = await openWrite(deps, client, scope);
    await settleAll(deps, current);
    await current.flush();
    try {
      const value = await decide(current);
      await current.flush();
      return { rows: current, value };
    } catch (error) {
      if (error instanceof DomainError) return { rows: current, refusal: error };
      throw error;
    }
  };
  const { pool, turns } = deps.db;
  const outcome = await turns.take(scope.accountIds[0]!, () => inTransaction(pool, work));
  if (outcome.rows !== null) tell(deps, outcome.rows);
  if ('refusal' in outcome) throw outcome.refusal;
  return outcome.value;
}

/** Before the answer: what this process keeps must not be behind what it says. */
function tell({ db, callers }: Deps, { written }: WriteRows): void {
  for (const account of written.accounts) callers.noteAccount(account);
  db.notices.tell([
    ...Array.from(written.instances, ({ id, accountId, machineId }) => {
      return { table: 'instance' as const, id, account: accountId, machine: machineId };
    }),
    ...Array.from(written.accounts, ({ id }) => ({ table: 'account' as const, id })),
  ]);
}

/** The account's row as it stands, unsettled; null when there is none. */
export async function readAccount(deps: Deps, id: string): Promise<Account | null> {
  const text = `select ${ACCOUNT_COLUMNS} from account where id = $1`;
  const { rows } = await deps.db.pool.query<Account>({ name: 'read-account', text, values: [id] });
  return rows[0] ?? null;
}

/** The account's undestroyed instances as they stand, newest first. */
export async function readLiveInstances(deps: Deps, accountId: string): Promise<Instance[]> {
  const text = `select ${INSTANCE_COLUMNS} from instance where account_id = $1 and status <> 'DESTROYED' order by sequence desc`;
  const { rows } = await deps.db.pool.query<Instance>({ name: 'read-live', text, values: [accountId] });
  return rows;
}

async function openWrite(deps: Deps, client: pg.PoolClient, scope: Scope): Promise<WriteRows> {
  const rows = new WriteRows(client);
  await rows.lockAccounts(scope);
  if (scope.machineId !== undefined) await rows.lockMachine(scope.machineId);
  if (scope.choice !== undefined) await rows.chooseMachine(scope.choice);
  if (scope.instanceId !== undefined) await rows.lockInstance(scope.accountIds[0]!, scope.instanceId);
  // Taken after the locks: a waiter must not act in a second before that of the one it waited for.
  rows.at = latest(deps.clock.now(), ...rows.accounts().map((account) => account.settledAt));
  return rows;
}

async function settleAll(deps: Deps, rows: WriteRows): Promise<void> {
  for (const account of rows.accounts()) {
    if (!isDue(account, rows.at)) continue;
    settle(account, await rows.liveInstancesOf(account), rows.at, deps.settings.graceSeconds, rows.changes);
  }
}

class WriteRows implements Write {
  readonly client: pg.PoolClient;
  at: Instant = 0n;
  readonly changes = noChanges();
  /** What the flushes so far wrote. */
  readonly written = { accounts: new Set<Account>(), instances: new Set<Instance>() };
  machine: MachineUnderLock | undefined;
  readonly #accounts = new Map<string, Account>();
  /** One object for each row, however it was reached: the rules change it in place. */
  readonly #instances = new Map<string, Instance>();

  constructor(client: pg.PoolClient) {
    this.client = client;
  }

  accounts(): Account[] {
    return [...this.#accounts.values()];
  }

  account(id: string): Account | undefined {
    return this.#accounts.get(id);
  }

  instance(id: string): Instance | undefined {
    return this.#instances.get(id);
  }

  step(account: Account): Step {
    return { account, at: this.at, changes: this.changes };
  }

  async lockAccounts({ accountIds, machineId, choice }: Scope): Promise<void> {
    const { rows } = await this.client.query<Account>({
      name: 'lock-accounts',
      text: `select ${ACCOUNT_COLUMNS} from account
             where id = any($1) or id = (select account_id from instance where machine_id = $2 and status = 'RUNNING')
             order by id for no key update`,
      values: [accountIds, machineId ?? choice?.awaited ?? null],
    });
    for (const row of rows) this.#accounts.set(row.id, row);
  }

  async lockMachine(machineId: string): Promise<void> {
    const machine = await this.#lockRow(machineId);
    if (machine === undefined) return;
    const live = await this.#readLive(machineId);
    // Taken by another between the look at the holder and the lock: its account must be locked before the machine.
    if (!this.#isHolderLocked(live)) throw new StaleReadError();
    this.machine = { ...machine, live: this.#known(live) };
  }

  /** Leaves `machine` undefined when what fits, if anything, is in the hands of others for the moment. */
  async chooseMachine(choice: Choice): Promise<void> {
    if (choice.awaited !== null) await this.#lockRow(choice.awaited);
    const busyAccounts: string[] = [];
    for (let tries = 0; tries < MAX_CHOICES && this.machine === undefined; tries += 1) {
      // Going back to it gives free what was locked for nothing.
      await this.client.query('savepoint choice');
      const chosen = await choice.lockBest(this.client, busyAccounts);
      if (chosen === undefined) return;
      const outcome = await this.#take(choice, chosen);
      if (outcome === 'busy') busyAccounts.push(chosen.holderId!);
      if (outcome !== 'taken') await this.client.query('rollback to savepoint choice');
    }
  }

  async #take(choice: Choice, { machineId, holderId }: Chosen): Promise<'taken' | 'lost' | 'busy'> {
    const isOurs = holderId === null || this.#accounts.has(holderId);
    const holder = isOurs ? undefined : await this.#tryAccount(holderId);
    if (!isOurs && holder === undefined) return 'busy';
    const machine = await this.#lockRow(machineId);
    const live = await this.#readLive(machineId);
    const isHolderLocked = this.#isHolderLocked(live, holder);
    if (machine === undefined || !isHolderLocked || !(await choice.stillFits(this.client, machineId))) return 'lost';
    if (holder !== undefined) this.#accounts.set(holder.id, holder);
    this.machine = { ...machine, live: this.#known(live) };
    return 'taken';
  }

  async #tryAccount(id: string): Promise<Account | undefined> {
    const text = `select ${ACCOUNT_COLUMNS} from account where id = $1 for no key update skip locked`;
    const { rows } = await this.client.query<Account>({ name: 'try-account', text, values: [id] });
    return rows[0];
  }

  async #lockRow(machineId: string): Promise<Omit<MachineUnderLock, 'live'> | undefined> {
    const { rows } = await this.client.query<Omit<MachineUnderLock, 'live'>>({
      name: 'lock-machine',
      text: `select id, gpu, num_gpus as "numGpus", region, disk_gb as "diskGb", state
             from machine where id = $1 for no key update`,
      values: [machineId],
    });
    return rows[0];
  }

  #readLive(machineId: string): Promise<Instance[]> {
    return this.#read(`machine_id = $1 and status <> 'DESTROYED'`, 'live-on-machine', [machineId]);
  }

  #isHolderLocked(live: readonly Instance[], alsoLocked?: Account): boolean {
    const holder = live.find((instance) => instance.status === 'RUNNING');
    return holder === undefined || holder.accountId === alsoLocked?.id || this.#accounts.has(holder.accountId);
  }

  async lockInstance(accountId: string, instanceId: string): Promise<void> {
    await this.#load('account_id = $1 and id = $2', 'instance-of-account', [accountId, instanceId]);
  }

  liveInstancesOf(account: Account): Promise<Instance[]> {
    return this.#load(`account_id = $1 and status <> 'DESTROYED'`, 'live-of-account', [account.id]);
  }

  /** All changes in one statement. */
  async flush(): Promise<void> {
    const { accounts, created, updated, opened, closed, entries } = this.changes;
    const records: [Part, string][] = [
      ['accounts', asRecords(accounts, ACCOUNT_FIELDS)],
      ['created', asRecords(created, INSTANCE_FIELDS)],
      ['updated', asRecords(updated, INSTANCE_FIELDS)],
      ['opened', asRecords(opened, INTERVAL_FIELDS)],
      ['closed', asRecords(closed, INTERVAL_FIELDS)],
      ['entries', asRecords(entries, ENTRY_FIELDS)],
    ];
    const given = records.filter(([, json]) => json !== NO_RECORDS);
    if (given.length === 0) return;
    for (const account of accounts) this.written.accounts.add(account);
    for (const instance of [...created, ...updated]) this.written.instances.add(instance);
    // Emptied in place: a step of the rules made before this goes on noting what it changes here.
    for (const noted of [accounts, created, updated]) noted.clear();
    for (const noted of [opened, closed, entries]) noted.length = 0;
    const statement = commitStatement(given.map(([part]) => part));
    await this.client.query({ ...statement, values: given.map(([, json]) => json) });
  }

  async #load(condition: string, name: string, values: string[]): Promise<Instance[]> {
    return this.#known(await this.#read(condition, name, values));
  }

  /** Instances need no lock of their own: only a holder of their account's lock changes them. */
  async #read(condition: string, name: string, values: string[]): Promise<Instance[]> {
    const text = `select ${INSTANCE_COLUMNS} from instance where ${condition} order by sequence, id`;
    const { rows } = await this.client.query<Instance>({ name, text, values });
    return rows;
  }

  #known(rows: readonly Instance[]): Instance[] {
    return rows.map((row) => {
      const known = this.#instances.get(row.id);
      if (known === undefined) this.#instances.set(row.id, row);
      return known ?? row;
    });
  }
}

/** What each kind of change is written by, from its records as JSON in `$n`. */
const WRITES = {
  accounts: (n: number) => `
    update account set ${assignments(ACCOUNT_UPDATES)}
    from jsonb_populate_recordset(null::account, $${n}::jsonb) as new where account.id = new.id`,
  created: (n: number) => `
    insert into instance (${names(INSTANCE_FIELDS)})
    select ${names(INSTANCE_FIELDS)} from jsonb_populate_recordset(null::instance, $${n}::jsonb)`,
  updated: (n: number) => `
    update instance set ${assignments(INSTANCE_UPDATES)}
    from jsonb_populate_recordset(null::instance, $${n}::jsonb) as new where instance.id = new.id`,
  opened: (n: number) => `
    insert into usage_interval (${names(INTERVAL_FIELDS)})
    select ${names(INTERVAL_FIELDS)} from jsonb_populate_recordset(null::usage_interval, $${n}::jsonb)`,
  closed: (n: number) => `
    update usage_interval set ended_at = new.ended_at
    from jsonb_populate_recordset(null::usage_interval, $${n}::jsonb) as new
    where usage_interval.instance_id = new.instance_id and usage_interval.resource = new.resource
      and usage_interval.ordinal = new.ordinal and usage_interval.ended_at is null`,
  entries: (n: number) => `
    insert into ledger_entry (${names(ENTRY_FIELDS)})
    select ${names(ENTRY_FIELDS)} from jsonb_populate_recordset(null::ledger_entry, $${n}::jsonb)`,
};
type Part = keyof typeof WRITES;

/** By the parts they write: one statement for all that a request changes. */
const commitStatements = new Map<string, { name: string; text: string }>();

function commitStatement(parts: readonly Part[]): { name: string; text: string } {
  const name = `commit-${parts.join('-')}`;
  const known = commitStatements.get(name);
  if (known !== undefined) return known;
  const writes = parts.map((part, index) => `${part} as (${WRITES[part](index + 1)})`);
  const statement = { name, text: `with ${writes.join(', ')} select` };
  commitStatements.set(name, statement);
  return statement;
}

const INSTANTS: ReadonlySet<string> = new Set([
  'suspendedAt',
  'settledAt',
  'exhaustedAt',
  'diskDeleteAt',
  'dueAt',
  'createdAt',
  'runningSince',
  'stoppedAt',
  'destroyedAt',
  'reservedUntil',
  'startedAt',
  'endedAt',
  'at',
]);

const NO_RECORDS = '[]';

/** JSON of rows by column name; bigints travel as text, instants as RFC 3339. */
function asRecords<T extends object>(rows: Iterable<T>, fields: readonly (keyof T & string)[]): string {
  const records = Array.from(rows, (row) =>
    Object.fromEntries(fields.map((field) => [columnOf(field), columnValue(field, row[field])])),
  );
  return JSON.stringify(records);
}

function columnValue(field: string, value: unknown): unknown {
  if (typeof value !== 'bigint') return value;
  return INSTANTS.has(field) ? formatInstant(value) : value.toString();
}

function columnOf(field: string): string {
  const known = columnNames.get(field);
  if (known !== undefined) return known;
  const name = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  columnNames.set(field, name);
  return name;
}

function columns(fields: readonly string[]): string {
  return fields.map((field) => `${columnOf(field)} as "${field}"`).join(', ');
}

function names(fields: readonly string[]): string {
  return fields.map(columnOf).join(', ');
}

function assignments(fields: readonly string[]): string {
  return fields.map((field) => `${columnOf(field)} = new.${columnOf(field)}`).join(', ');
}
