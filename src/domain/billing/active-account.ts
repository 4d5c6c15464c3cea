import { DomainError } from '../kernel/errors.js';
import type { Account } from '../kernel/lifecycle.js';
import type { Write } from './ledger.js';

/** Returns the account from the write's scope. Throws unauthorized if the account is unknown or suspended. */
export function activeAccount(current: Write, accountId: string): Account {
  const account = current.account(accountId);
  if (account === undefined || account.suspendedAt !== null) {
    throw new DomainError('unauthorized', 'missing or unknown API key');
  }
  return account;
}
