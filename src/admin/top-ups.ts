import { type Command, InvalidArgumentError, Option } from 'commander';
import { stringify } from 'csv-stringify/sync';
import type { Deps } from '../compose/deps.js';
import { CSV_CAST } from '../domain/kernel/csv.js';
import type { KernelDeps } from '../domain/kernel/deps.js';
import { type Micro, parseUsd, usdNumber } from '../domain/kernel/money.js';
import { type Instant, parseInstant } from '../domain/kernel/time.js';
import { listQuarantined, type QuarantinedCallback, removeQuarantined } from '../domain/top-ups/callbacks.js';
import { findMissingPayments, type MissingPayment } from '../domain/top-ups/missing-payments.js';
import {
  bookedLines,
  creditPayment,
  type Decision,
  listAllTopUps,
  refundTopUp,
  refusePayment,
  showTopUp,
} from '../domain/top-ups/operator.js';
import { creditedMicro, type Payment, type TopUpState } from '../domain/top-ups/rules/top-up.js';
import type { PaidTopUp } from '../domain/top-ups/top-up-rows.js';
import { type Column, type Output, print, printJson, time, timeOrNull, usd } from './output.js';
import type { Run } from './run.js';

const STATES: TopUpState[] = [
  'WAITING',
  'SEEN',
  'CONFIRMING',
  'CREDITED',
  'UNDERPAID',
  'OVERPAID',
  'EXPIRED',
  'LATE',
  'QUARANTINED',
];

const COLUMNS: readonly Column<PaidTopUp>[] = [
  ['ID', ({ id }) => id],
  ['ACCOUNT', ({ accountId }) => accountId],
  ['STATE', ({ state }) => state.toLowerCase()],
  ['ASSET', ({ asset }) => asset],
  ['USD', ({ usdMicro }) => usd(usdMicro)],
  ['CREDITED USD', ({ payments }) => usd(creditedMicro(payments))],
  ['CREATED', ({ createdAt }) => time(createdAt)],
  ['EXPIRES', ({ expiresAt }) => time(expiresAt)],
];

const PAYMENT_COLUMNS: readonly Column<Payment>[] = [
  ['TRANSACTION', ({ transaction }) => transaction],
  ['STATE', ({ state }) => state.toLowerCase()],
  ['ASSET', ({ asset }) => asset],
  ['COINS', ({ coins }) => coins],
  ['USD', ({ usdMicro }) => (usdMicro === null ? '-' : usd(usdMicro))],
  ['CONFIRMATIONS', ({ confirmations }) => String(confirmations)],
  ['SEEN', ({ firstSeenAt }) => time(firstSeenAt)],
  ['CREDITED', ({ creditedAt }) => time(creditedAt)],
  ['REASON', ({ reason }) => reason ?? '-'],
];

const ASIDE_COLUMNS: readonly Column<QuarantinedCallback>[] = [
  ['ID', ({ id }) => id],
  ['PROCESSOR', ({ processor }) => processor],
  ['RECEIVED', ({ receivedAt }) => time(receivedAt)],
  ['TIMES', ({ times }) => String(times)],
  ['REASON', ({ reason }) => reason],
];

const MISSING_COLUMNS: readonly Column<MissingPayment>[] = [
  ['TOP-UP', ({ topUpId }) => topUpId],
  ['ACCOUNT', ({ accountId }) => accountId ?? 'unknown'],
  ['TRANSACTION', ({ payment }) => payment.transaction],
  ['ASSET', ({ payment }) => payment.asset],
  ['COINS', ({ payment }) => payment.coins],
  ['USD', ({ payment }) => (payment.usd === null ? '-' : usd(payment.usd))],
  ['BOOKED AS', ({ booked }) => booked?.toLowerCase() ?? '-'],
];

const LINE_COLUMNS = {
  at: 'at',
  kind: 'kind',
  account: 'account',
  topUp: 'top_up',
  processor: 'processor',
  asset: 'asset',
  transaction: 'transaction',
  coins: 'coins',
  usd: 'usd',
  ledgerEntry: 'ledger_entry',
  note: 'note',
};

export function addTopUpCommands(program: Command, run: Run): void {
  const topUp = program.command('topup').description('Manage credit paid in cryptocurrency');
  topUp
    .command('list')
    .description('List the 1000 newest top-ups across all accounts')
    .option('--account <id>', "Only this account's top-ups")
    .addOption(
      new Option('--state <state>', 'Only top-ups in this state').choices(STATES.map((state) => state.toLowerCase())),
    )
    .option('--aside', 'List quarantined callbacks instead of top-ups')
    .option('--json', 'Print JSON')
    .action((options: Output & { account?: string; state?: string; aside?: boolean }) =>
      run((deps) => (options.aside ? showAside(deps, options) : list(deps, options))),
    );
  topUp
    .command('show <id>')
    .description('Show a top-up with its payments')
    .option('--json', 'Print JSON')
    .action((id: string, options: Output) => run(async (deps) => show(await showTopUp(deps, id), options)));
  decision(topUp.command('credit <id>'), "Credit a payment that is quarantined, isn't final, or was never reported")
    .option('--amount <usd>', "Value in USD, if the processor didn't report one", amount)
    .action((id: string, options: Output & Decision & { amount?: Micro }) =>
      run(async (deps) => show(await creditPayment(deps, id, { ...options, usdMicro: options.amount }), options)),
    );
  decision(topUp.command('refuse <id>'), 'Refuse a payment permanently, or reverse a credited one').action(
    (id: string, options: Output & Decision) =>
      run(async (deps) => show(await refusePayment(deps, id, options), options)),
  );
  topUp
    .command('forget <id>')
    .description('Remove a quarantined callback')
    .action((id: string) => run((deps) => removeQuarantined(deps, id)));
  decision(topUp.command('refund <id>'), 'Record a refund, up to the balance')
    .requiredOption('--amount <usd>', 'Amount refunded, in USD', amount)
    .action((id: string, options: Output & Decision & { amount: Micro }) =>
      run(async (deps) => show(await refundTopUp(deps, id, { ...options, usdMicro: options.amount }), options)),
    );
  topUp
    .command('reconcile')
    .description('List payments that the processor has but a restored database lacks; exit with 1 if any remain')
    .requiredOption('--since <time>', 'Time to which the database was restored, such as 2026-11-27T10:15:00Z', instant)
    .option('--book', 'Book the payments whose top-up is known')
    .option('--json', 'Print JSON')
    .action((options: Output & { since: Instant; book?: boolean }) => run((deps) => listMissing(deps, options)));
  topUp
    .command('export')
    .description("Export the ledger entries for a period's top-ups, for bookkeeping")
    .requiredOption('--from <date>', 'First day, such as 2026-11-01', day)
    .requiredOption('--to <date>', 'Day after the last day', day)
    .option('--csv', 'Print CSV (default)')
    .option('--json', 'Print JSON')
    .action((options: Output & { from: Instant; to: Instant }) => run((deps) => exportLines(deps, options)));
}

function decision(command: Command, description: string): Command {
  return command
    .description(description)
    .requiredOption('--transaction <id>', 'Transaction id on its network')
    .requiredOption('--note <text>', 'Reason, stored with the payment or ledger entry')
    .option('--json', 'Print JSON');
}

async function list(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  options: Output & { account?: string; state?: string },
): Promise<void> {
  const state = STATES.find((each) => each.toLowerCase() === options.state);
  const topUps = await listAllTopUps(deps, { accountId: options.account, state });
  if (options.json) printJson(topUps.map(asJson));
  else print(topUps, COLUMNS);
}

async function showAside(deps: Pick<KernelDeps, 'db'>, { json }: Output): Promise<void> {
  const aside = await listQuarantined(deps);
  if (!json) return print(aside, ASIDE_COLUMNS);
  printJson(
    aside.map(({ receivedAt, lastAt, ...rest }) => ({ ...rest, received_at: time(receivedAt), last_at: time(lastAt) })),
  );
}

async function listMissing(
  deps: Deps,
  { since, book = false, json }: Output & { since: Instant; book?: boolean },
): Promise<void> {
  const missing = await findMissingPayments(deps, since, book);
  if (missing.some(({ booked }) => booked === null)) process.exitCode = 1;
  if (!json) return print(missing, MISSING_COLUMNS);
  printJson(
    missing.map(({ topUpId, accountId, payment, booked }) => ({
      top_up: topUpId,
      account: accountId,
      transaction: payment.transaction,
      asset: payment.asset,
      coins: payment.coins,
      usd: payment.usd === null ? null : usdNumber(payment.usd),
      booked: booked?.toLowerCase() ?? null,
    })),
  );
}

function show(topUp: PaidTopUp, { json }: Output): void {
  if (json) {
    printJson(asJson(topUp));
    return;
  }
  print([topUp], COLUMNS);
  if (topUp.payments.length === 0) return;
  process.stdout.write('\n');
  print(topUp.payments, PAYMENT_COLUMNS);
}

function asJson(topUp: PaidTopUp): object {
  return {
    id: topUp.id,
    account: topUp.accountId,
    state: topUp.state.toLowerCase(),
    processor: topUp.processor,
    asset: topUp.asset,
    usd: usdNumber(topUp.usdMicro),
    credited: usdNumber(creditedMicro(topUp.payments)),
    address: topUp.address,
    amount: topUp.amount,
    rate: topUp.rate,
    created_at: time(topUp.createdAt),
    expires_at: time(topUp.expiresAt),
    payments: topUp.payments.map((payment) => ({
      transaction: payment.transaction,
      state: payment.state.toLowerCase(),
      asset: payment.asset,
      coins: payment.coins,
      usd: payment.usdMicro === null ? null : usdNumber(payment.usdMicro),
      confirmations: payment.confirmations,
      seen_at: time(payment.firstSeenAt),
      credited_at: timeOrNull(payment.creditedAt),
      asked_back: payment.confirmedByProcessor,
      reason: payment.reason,
    })),
  };
}

async function exportLines(
  deps: Pick<KernelDeps, 'db'>,
  { from, to, json }: Output & { from: Instant; to: Instant },
): Promise<void> {
  const lines = (await bookedLines(deps, from, to)).map((line) => ({
    at: time(line.at),
    kind: line.kind,
    account: line.accountId,
    topUp: line.topUpId,
    processor: line.processor,
    asset: line.asset,
    transaction: line.transaction,
    coins: line.coins,
    usd: usd(line.usdMicro),
    ledgerEntry: line.ledgerEntryId,
    note: line.note ?? '',
  }));
  if (json)
    printJson(lines.map(({ topUp, ledgerEntry, ...rest }) => ({ ...rest, top_up: topUp, ledger_entry: ledgerEntry })));
  else process.stdout.write(stringify(lines, { header: true, columns: LINE_COLUMNS, cast: CSV_CAST }));
}

function amount(text: string): Micro {
  const micro = parseUsd(text);
  if (micro === null) throw new InvalidArgumentError('must be an amount in USD with at most 6 decimals.');
  return micro;
}

function instant(text: string): Instant {
  const at = parseInstant(text);
  if (at === null) throw new InvalidArgumentError('must be a time with a zone, such as 2026-11-27T10:15:00Z.');
  return at;
}

function day(text: string): Instant {
  const at = parseInstant(`${text}T00:00:00Z`);
  if (at === null) throw new InvalidArgumentError('must be a UTC date such as 2026-11-01.');
  return at;
}
