import { type Command, InvalidArgumentError, Option } from 'commander';
import { stringify } from 'csv-stringify/sync';
import type { SettlingDeps } from '../domain/billing/deps.js';
import { focusExport } from '../domain/billing/focus.js';
import { type Statement, statement } from '../domain/billing/statement.js';
import { CSV_CAST } from '../domain/kernel/csv.js';
import { DomainError } from '../domain/kernel/errors.js';
import { usdNumber } from '../domain/kernel/money.js';
import { addMonths, type Instant, monthStartOf, parseInstant } from '../domain/kernel/time.js';
import { signedStatement } from '../domain/proof/signed-statement.js';
import { required } from '../std/required.js';
import { type Column, print, printJson, time, usd } from './output.js';
import type { Run } from './run.js';

interface Options {
  from?: Instant;
  to?: Instant;
  month?: string;
  signed?: boolean;
  format: 'table' | 'json' | 'csv' | 'focus';
  json?: boolean;
}

/** A row in the printed statement. */
interface Row {
  kind: string;
  subject: string;
  at: string;
  seconds: string;
  ratePerHour: string;
  amount: string;
  units: string;
  note: string;
}

const COLUMNS: readonly Column<Row>[] = [
  ['KIND', ({ kind }) => kind],
  ['SUBJECT', ({ subject }) => subject],
  ['AT', ({ at }) => at],
  ['SECONDS', ({ seconds }) => seconds],
  ['USD/H', ({ ratePerHour }) => ratePerHour],
  ['AMOUNT USD', ({ amount }) => amount],
  ['NOTE', ({ note }) => note],
];

export function addStatementCommand(program: Command, run: Run): void {
  program
    .command('statement <account>')
    .description("Show each change to an account's balance in a period")
    .option('--from <time>', 'Inclusive start, such as 2026-11-01 or 2026-11-01T00:00:00Z', instant)
    .option('--to <time>', 'Exclusive end (default: now)', instant)
    .addOption(
      new Option('--format <format>', 'Output format; focus is FOCUS 1.2 per day')
        .choices(['table', 'json', 'csv', 'focus'])
        .default('table'),
    )
    .option('--json', 'Same as --format json')
    .option('--month <month>', 'UTC month of a signed statement, such as 2026-11')
    .option('--signed', 'Print the signed statement of the month, which `gpu verify` checks')
    .action((account: string, { from, to, format, json, month, signed }: Options) =>
      run(async (deps) => {
        if (signed || month !== undefined) {
          if (!signed || month === undefined || from !== undefined || to !== undefined)
            throw new DomainError('invalid_request', '--signed needs --month, and neither --from nor --to', {
              field: 'month',
            });
          return void process.stdout.write(`${JSON.stringify(await signedStatement(deps, account, month))}\n`);
        }
        if (from === undefined) throw new DomainError('invalid_request', '--from is required', { field: 'from' });
        if (format === 'focus' && !json) return void process.stdout.write(await focus(deps, account, from, to));
        write(await statement(deps, account, { from, to: to ?? null }), json ? 'json' : format);
      }),
    );
}

/** Returns the month from `from` to `to` in FOCUS. A FOCUS export always covers one billing period. */
async function focus(deps: SettlingDeps, account: string, from: Instant, to: Instant | undefined): Promise<string> {
  const month = time(from).slice(0, MONTH_LENGTH);
  const isMonth = from === monthStartOf(from) && (to === undefined || to === addMonths(from, 1));
  if (!isMonth)
    throw new DomainError(
      'invalid_request',
      '--format focus needs one UTC month: --from its start, --to its end or omitted',
    );
  return focusExport(deps, account, month);
}

function write(result: Statement, format: Options['format']): void {
  if (format === 'json') printJson(asJson(result));
  else if (format === 'csv')
    process.stdout.write(stringify(rowsOf(result), { header: true, columns: CSV_COLUMNS, cast: CSV_CAST }));
  else print(rowsOf(result), COLUMNS);
}

const CSV_COLUMNS = {
  kind: 'kind',
  subject: 'subject',
  at: 'at',
  seconds: 'seconds',
  ratePerHour: 'rate_per_hour',
  amount: 'amount',
  units: 'units',
  note: 'note',
};

/** Returns a statement's rows. Charges are negative, so that the amounts above the closing balance add up to it. */
function rowsOf({ from, to, openingBalance, closingBalance, movements, lines }: Statement): Row[] {
  const empty = { seconds: '', ratePerHour: '', units: '', note: '' };
  return [
    { ...empty, kind: 'opening', subject: 'balance', at: time(from), amount: usd(openingBalance) },
    ...movements.map(({ id, kind, at, amount, note, reference }) => ({
      ...empty,
      kind: kind.toLowerCase(),
      subject: id,
      at: time(at),
      amount: usd(amount),
      note: [reference, note].filter((text) => text !== null).join(': '),
    })),
    ...lines.map(({ instanceId, volumeId, kind, seconds, rate, amount, units }) => ({
      kind: kind.toLowerCase(),
      subject: required(instanceId ?? volumeId, 'subject of a statement line'),
      at: '',
      seconds: String(seconds),
      ratePerHour: usd(rate),
      amount: usd(-amount),
      units: String(units),
      note: '',
    })),
    { ...empty, kind: 'closing', subject: 'balance', at: time(to), amount: usd(closingBalance) },
  ];
}

function asJson({ accountId, from, to, openingBalance, closingBalance, movements, lines }: Statement): object {
  return {
    object: 'statement',
    account_id: accountId,
    currency: 'USD',
    from: time(from),
    to: time(to),
    opening_balance: usdNumber(openingBalance),
    closing_balance: usdNumber(closingBalance),
    movements: movements.map(({ id, kind, at, amount, reference, note }) => ({
      id,
      kind: kind.toLowerCase(),
      at: time(at),
      amount: usdNumber(amount),
      reference,
      note,
    })),
    lines: lines.map(({ instanceId, volumeId, kind, seconds, rate, amount, units }) => ({
      ...(volumeId === null ? { instance_id: instanceId } : { volume_id: volumeId }),
      kind: kind.toLowerCase(),
      seconds: Number(seconds),
      rate_per_hour: usdNumber(rate),
      amount: usdNumber(amount),
      units: String(units),
    })),
  };
}

const MONTH_LENGTH = '2026-11'.length;
const DAY_LENGTH = '2026-11-01'.length;

function instant(text: string): Instant {
  const at = parseInstant(text.length === DAY_LENGTH ? `${text}T00:00:00Z` : text);
  if (at === null)
    throw new InvalidArgumentError('must be a UTC date or time such as 2026-11-01 or 2026-11-01T00:00:00Z.');
  return at;
}
