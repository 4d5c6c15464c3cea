import { type Command, InvalidArgumentError } from 'commander';
import type { Deps } from '../compose/deps.js';
import {
  type AccountState,
  adjustAccount,
  createAccount,
  creditAccount,
  listAccounts,
  rebuildAccount,
  resumeAccount,
  suspendAccount,
} from '../domain/accounts/accounts.js';
import { type Micro, parseUsd, usdNumber } from '../domain/kernel/money.js';
import { type Column, type Output, print, printJson, time, timeOrNull, usd } from './output.js';
import type { Run } from './run.js';

const COLUMNS: readonly Column<AccountState>[] = [
  ['ID', ({ id }) => id],
  ['NAME', ({ name }) => name],
  ['BALANCE USD', ({ balance }) => usd(balance)],
  ['MONTH USD', ({ monthSpend }) => usd(monthSpend)],
  ['BURN USD/H', ({ burnPerHour }) => usd(burnPerHour)],
  ['INSTANCES', ({ liveInstances }) => String(liveInstances)],
  ['EXHAUSTS', ({ exhaustsAt }) => time(exhaustsAt)],
  ['SUSPENDED', ({ suspendedAt }) => time(suspendedAt)],
];

export function addAccountCommands(program: Command, run: Run): void {
  const account = program.command('account').description('Manage customer accounts');
  account
    .command('create')
    .description('Create an account')
    .requiredOption('--name <name>', 'Display name')
    .option('--credit <usd>', 'Initial credit in USD', amount)
    .option('--json', 'Print JSON')
    .action((options: Output & { name: string; credit?: Micro }) =>
      run(async (deps) => {
        const created = await createAccount(deps, {
          name: options.name,
          ...(options.credit !== undefined && { creditMicro: options.credit }),
        });
        if (!options.json) print([created], COLUMNS);
        else printJson({ id: created.id, name: created.name, balance: usdNumber(created.balance) });
      }),
    );
  account
    .command('list')
    .description('List all accounts, with charges up to the current second')
    .option('--json', 'Print JSON')
    .action((options: Output) => run(async (deps) => show(await listAccounts(deps), options)));
  account
    .command('credit <id>')
    .description('Add credit to an account')
    .requiredOption('--amount <usd>', 'Amount to add in USD, above 0', amount)
    .option('--note <text>', 'Note to store with the ledger entry')
    .option('--reference <text>', 'Idempotency reference; repeated requests are credited only once')
    .option('--json', 'Print JSON')
    .action((id: string, options: Output & { amount: Micro; note?: string; reference?: string }) =>
      run(async (deps) => {
        const { amount: amountMicro, note, reference } = options;
        showOne(await creditAccount(deps, id, { amountMicro, note, reference }), options);
      }),
    );
  account
    .command('adjust <id>')
    .description('Record a positive or negative correction')
    .requiredOption('--amount <usd>', 'Amount to add in USD; a negative amount is deducted', amount)
    .requiredOption('--note <text>', 'Reason, stored with the ledger entry')
    .option('--reference <text>', 'Idempotency reference; repeated requests are applied only once')
    .option('--json', 'Print JSON')
    .action((id: string, options: Output & { amount: Micro; note: string; reference?: string }) =>
      run(async (deps) => {
        const { amount: amountMicro, note, reference } = options;
        showOne(await adjustAccount(deps, id, { amountMicro, note, reference }), options);
      }),
    );
  change(account, run, 'suspend', "Reject the account's keys and stop its instances", suspendAccount);
  change(account, run, 'resume', "Accept the account's keys again", resumeAccount);
  change(account, run, 'rebuild', "Recompute the account's totals from the ledger and usage records", rebuildAccount);
}

function change(
  account: Command,
  run: Run,
  name: string,
  description: string,
  apply: (deps: Deps, id: string) => Promise<AccountState>,
): void {
  account
    .command(`${name} <id>`)
    .description(description)
    .option('--json', 'Print JSON')
    .action((id: string, options: Output) => run(async (deps) => showOne(await apply(deps, id), options)));
}

function show(accounts: readonly AccountState[], { json }: Output): void {
  if (json) printJson(accounts.map(asJson));
  else print(accounts, COLUMNS);
}

function showOne(account: AccountState, { json }: Output): void {
  if (json) printJson(asJson(account));
  else print([account], COLUMNS);
}

function asJson(account: AccountState): object {
  return {
    id: account.id,
    name: account.name,
    balance: usdNumber(account.balance),
    month_spend: usdNumber(account.monthSpend),
    burn_per_hour: usdNumber(account.burnPerHour),
    live_instances: account.liveInstances,
    exhausts_at: timeOrNull(account.exhaustsAt),
    suspended_at: timeOrNull(account.suspendedAt),
  };
}

function amount(text: string): Micro {
  const micro = parseUsd(text);
  if (micro === null) throw new InvalidArgumentError('must be an amount in USD with at most 6 decimals.');
  return micro;
}
