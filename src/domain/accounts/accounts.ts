import type { Account as AccountRow } from '../../database/generated/client/client.js';
import type { SettlingDeps } from '../billing/deps.js';
import { billingFields } from '../billing/fields.js';
import { type Write, write } from '../billing/ledger.js';
import { settledAccount } from '../billing/settlement.js';
import { balanceAt, lifetimeSpendAt, monthSpendAt } from '../kernel/accrual.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { check, checkOptional } from '../kernel/field.js';
import {
  type Account,
  credit,
  diskDeleteAtOf,
  exhaustsAtOf,
  type LedgerKind,
  resume,
  suspend,
} from '../kernel/lifecycle.js';
import { type Micro, unitsOfMicro } from '../kernel/money.js';
import { randomId } from '../kernel/random-id.js';
import { limitReachedAt } from '../kernel/spend-limit.js';
import { type Instant, instantOf, latest } from '../kernel/time.js';
import { accountFields } from './fields.js';
import { requestsPerMinute } from './rules/rate-tier.js';

/** Number of random bytes in an account id. */
export const ACCOUNT_ID_BYTES = 8;
const ENTRY_ID_BYTES = 8;
const ACCOUNT_ID = /^acc-[0-9a-f]{16}$/;
/** Maximum amount of one credit: 1 million USD. This keeps the sum of all credits, in units, well within 64 bits. */
const MAX_CREDIT_MICRO: Micro = 1_000_000_000_000n;
const END_SESSIONS = {
  name: 'end-sessions',
  text: 'delete from console_session where key_id in (select id from api_key where account_id = $1)',
};
const MAX_LISTED_ACCOUNTS = 10_000;
/** First half of an advisory lock key. The second half is a hash of the reference. */
const REFERENCE_LOCK = 4_207_010;

/** An account's state at one second, including when its credit will run out at the current burn. */
export interface AccountState {
  id: string;
  name: string;
  demo: boolean;
  createdAt: Instant;
  suspendedAt: Instant | null;
  balance: Micro;
  monthSpend: Micro;
  lifetimeSpend: Micro;
  /** Sum of all GPU and disk rates currently being charged, in micro-USD per hour. */
  burnPerHour: Micro;
  /** The second in which credit runs out at the current burn or already ran out. Null if it won't run out. */
  exhaustsAt: Instant | null;
  /** End of the current or next grace period, when instances are destroyed unless credit is added first. */
  diskDeleteAt: Instant | null;
  /**
   * Maximum spend per UTC month (null for no limit), and the second in which it was or will be reached this month (null
   * if it won't be).
   */
  monthlyLimit: Micro | null;
  limitReachedAt: Instant | null;
  liveInstances: number;
  requestsPerMinute: number;
  /** The second to which all figures refer. */
  asOf: Instant;
}

export async function accountState(deps: SettlingDeps, accountId: string): Promise<AccountState> {
  return describeAccount(deps, await settledAccount(deps, checkedId(accountId)));
}

/** Describes a settled account, including the fields that never change. */
export async function describeAccount(
  deps: Pick<KernelDeps, 'db' | 'clock' | 'settings'>,
  account: Account,
): Promise<AccountState> {
  const row = await deps.db.prisma.account.findUniqueOrThrow({ where: { id: account.id } });
  return stateOf(deps, account, row);
}

/** Returns up to 10,000 settled accounts, oldest first. */
export async function listAccounts(deps: SettlingDeps): Promise<AccountState[]> {
  const order = [{ createdAt: 'asc' as const }, { id: 'asc' as const }];
  const rows = await deps.db.prisma.account.findMany({ orderBy: order, take: MAX_LISTED_ACCOUNTS });
  const states: AccountState[] = [];
  for (const row of rows) states.push(stateOf(deps, await settledAccount(deps, row.id), row));
  return states;
}

function stateOf(deps: Pick<KernelDeps, 'clock' | 'settings'>, account: Account, row: AccountRow): AccountState {
  const now = latest(deps.clock.now(), account.settledAt);
  return {
    id: account.id,
    name: row.name,
    demo: row.demo,
    createdAt: instantOf(row.createdAt),
    suspendedAt: account.suspendedAt,
    balance: balanceAt(account, now),
    monthSpend: monthSpendAt(account, now),
    lifetimeSpend: lifetimeSpendAt(account, now),
    burnPerHour: account.burnRate,
    exhaustsAt: exhaustsAtOf(account),
    diskDeleteAt: diskDeleteAtOf(account, deps.settings.graceSeconds),
    monthlyLimit: account.monthlyLimit,
    limitReachedAt: limitReachedAt(account, now),
    liveInstances: account.liveInstances,
    requestsPerMinute: requestsPerMinute(deps.settings.rateLimitPerMinute, lifetimeSpendAt(account, now)),
    asOf: now,
  };
}

/** Creates an account, with initial credit if an amount is given. */
export async function createAccount(
  deps: SettlingDeps,
  input: { name: string; creditMicro?: Micro; demo?: boolean },
): Promise<AccountState> {
  const name = check('name', accountFields.name, input.name);
  if (input.creditMicro !== undefined) checkCredit(input.creditMicro);
  const id = randomId('acc', ACCOUNT_ID_BYTES);
  await write(deps, { accountIds: [id], newAccount: { id, name, demo: input.demo ?? false } }, (current) => {
    if (input.creditMicro === undefined) return;
    book(current, current.lockedAccount(id), 'CREDIT', input.creditMicro, { note: 'first credit', reference: null });
  });
  return accountState(deps, id);
}

export interface Movement {
  amountMicro: Micro;
  note?: string | null;
  /** Identifies the movement across all accounts. Reusing a reference doesn't move money again. */
  reference?: string | null;
}

/** Adds credit. If the balance rises above zero, the grace period ends. Stopped instances stay stopped. */
export async function creditAccount(deps: SettlingDeps, accountId: string, movement: Movement): Promise<AccountState> {
  checkCredit(movement.amountMicro);
  return move(deps, accountId, 'CREDIT', movement);
}

/** Adds a positive or negative correction. It counts as credit, not as spend. Existing ledger entries never change. */
export async function adjustAccount(deps: SettlingDeps, accountId: string, movement: Movement): Promise<AccountState> {
  const size = movement.amountMicro < 0n ? -movement.amountMicro : movement.amountMicro;
  if (size === 0n || size > MAX_CREDIT_MICRO) {
    throw new DomainError('invalid_request', 'amount must be between -1000000 and 1000000 USD, and not 0', {
      field: 'amount',
    });
  }
  return move(deps, accountId, 'ADJUSTMENT', movement);
}

async function move(
  deps: SettlingDeps,
  accountId: string,
  kind: LedgerKind,
  movement: Movement,
): Promise<AccountState> {
  const { amountMicro } = movement;
  const note = checkOptional('note', billingFields.note, movement.note) ?? null;
  const reference = checkOptional('reference', billingFields.reference, movement.reference) ?? null;
  return changeAccount(deps, accountId, async (current, account) => {
    if (await isBooked(current, { accountId, kind, units: unitsOfMicro(amountMicro), reference })) return;
    book(current, account, kind, amountMicro, { note, reference });
  });
}

function book(
  current: Write,
  account: Account,
  kind: LedgerKind,
  amountMicro: Micro,
  { note, reference }: { note: string | null; reference: string | null },
): void {
  credit(current.step(account), {
    id: randomId(kind.toLowerCase(), ENTRY_ID_BYTES),
    accountId: account.id,
    kind,
    units: unitsOfMicro(amountMicro),
    at: current.at,
    instanceId: null,
    reference,
    note,
  });
}

/**
 * Whether the reference has already moved exactly this amount. Throws if the reference was used for a different
 * account, kind of movement or amount. Concurrent writes with the same reference wait for each other.
 */
async function isBooked(
  { transaction }: Write,
  movement: { accountId: string; kind: LedgerKind; units: bigint; reference: string | null },
): Promise<boolean> {
  const { accountId, kind, units, reference } = movement;
  if (reference === null) return false;
  await transaction.query('select pg_advisory_xact_lock($1, hashtext($2))', [REFERENCE_LOCK, reference]);
  const { rows } = await transaction.query<{ accountId: string; kind: LedgerKind; units: bigint }>(
    'select account_id as "accountId", kind, units from ledger_entry where reference = $1',
    [reference],
  );
  const fault = rows.some((row) => row.accountId !== accountId)
    ? 'another account'
    : rows.some((row) => row.kind !== kind)
      ? 'a movement of another kind'
      : rows.some((row) => row.units !== units)
        ? 'another amount'
        : null;
  if (fault === null) return rows.length > 0;
  throw new DomainError('invalid_request', `reference was already used for ${fault}`, { field: 'reference' });
}

/** Suspends the account: its API keys are rejected, its console sessions end, and its running instances stop. */
export function suspendAccount(deps: SettlingDeps, accountId: string): Promise<AccountState> {
  return changeAccount(deps, accountId, async (current, account) => {
    suspend(current.step(account), await current.liveInstancesOf(account));
    current.transaction.later({ ...END_SESSIONS, values: [accountId] });
  });
}

/** Accepts the account's API keys again. Its stopped instances stay stopped. */
export function resumeAccount(deps: SettlingDeps, accountId: string): Promise<AccountState> {
  return changeAccount(deps, accountId, async (current, account) => {
    resume(current.step(account));
  });
}

/** Recomputes the account's running totals from its ledger entries and usage intervals. */
export async function rebuildAccount(deps: SettlingDeps, accountId: string): Promise<AccountState> {
  // The following statements recreate the checkpoints.
  await deps.db.pool.query('delete from account_checkpoint where account_id = $1', [accountId]);
  return changeAccount(deps, accountId, (current, account) => current.recomputeTotals(account));
}

/** Runs `decide` on the locked account and returns the account's new state. Throws not_found. */
async function changeAccount(
  deps: SettlingDeps,
  accountId: string,
  decide: (current: Write, account: Account) => Promise<void>,
): Promise<AccountState> {
  await write(deps, { accountIds: [checkedId(accountId)] }, async (current) => {
    const account = current.account(accountId);
    if (account === undefined) throw noAccount(accountId);
    await decide(current, account);
  });
  return accountState(deps, accountId);
}

function checkCredit(amountMicro: Micro): void {
  if (amountMicro > 0n && amountMicro <= MAX_CREDIT_MICRO) return;
  throw new DomainError('invalid_request', 'amount must be between 0.000001 and 1000000 USD', { field: 'amount' });
}

function checkedId(accountId: string): string {
  if (!ACCOUNT_ID.test(accountId)) throw noAccount(accountId);
  return accountId;
}

export function noAccount(accountId: string): DomainError {
  return new DomainError('not_found', `no such account: ${accountId}`);
}
