import { type Command, InvalidArgumentError } from 'commander';
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
import type { Deps } from '../domain/deps.js';
import { type Micro, parseUsd, usdNumber } from '../domain/rules/money.js';
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
  const account = program.command('account').description('customer accounts');
  account
    .command('create')
    .description('create an account')
    .requiredOption('--name <name>', 'name for people')
    .option('--credit <usd>', 'first credit in USD', amount)
    .option('--json', 'print JSON')
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
    .description('all accounts, settled to this second')
    .option('--json', 'print JSON')
    .action((options: Output) => run(async (deps) => show(await listAccounts(deps), options)));
  account
    .command('credit <id>')
    .description('add credit')
    .requiredOption('--amount <usd>', 'USD to add, above 0', amount)
    .option('--note <text>', 'kept with the ledger entry')
    .option('--reference <text>', 'the same reference twice credits once')
    .option('--json', 'print JSON')
    .action((id: string, options: Output & { amount: Micro; note?: string; reference?: string }) =>
      run(async (deps) => {
        const { amount: amountMicro, note, reference } = options;
        showOne(await creditAccount(deps, id, { amountMicro, note, reference }), options);
      }),
    );
  account
    .command('adjust <id>')
    .description('book a correction of either sign')
    .requiredOption('--amount <usd>', 'USD to add, or with a minus to take', amount)
    .requiredOption('--note <text>', 'why, kept with the ledger entry')
    .option('--reference <text>', 'the same reference twice adjusts once')
    .option('--json', 'print JSON')
    .action((id: string, options: Output & { amount: Micro; note: string; reference?: string }) =>
      run(async (deps) => {
        const { amount: amountMicro, note, reference } = options;
        showOne(await adjustAccount(deps, id, { amountMicro, note, reference }), options);
      }),
    );
  change(account, run, 'suspend', 'refuse its keys and stop its instances', suspendAccount);
  change(account, run, 'resume', 'accept its keys again', resumeAccount);
  change(account, run, 'rebuild', 'recompute its totals from ledger and usage', rebuildAccount);
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
    .option('--json', 'print JSON')
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
