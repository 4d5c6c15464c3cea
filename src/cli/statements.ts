import { type Command, InvalidArgumentError, Option } from 'commander';
import { visible } from '../std/visible.js';
import { queryGraphql } from './graphql.js';
import { openSession } from './session.js';
import type { Settings } from './settings.js';
import type { Output } from './show.js';
import { type Column, card, formatUsd, number, table, text } from './table.js';
import { printLines, printText, remark } from './terminal.js';

interface Statement {
  from: string;
  to: string;
  currency: string;
  openingBalance: number;
  closingBalance: number;
  movements: Movement[];
  lines: Line[];
}

interface Movement {
  id: string;
  kind: 'CREDIT' | 'ADJUSTMENT' | 'SERVICE_CREDIT';
  amount: number;
  at: string;
  instanceId: string | null;
  note: string | null;
  reference: string | null;
}

interface Line {
  instanceId: string | null;
  volumeId: string | null;
  kind: string;
  from: string;
  to: string;
  seconds: number;
  ratePerHour: number;
  amount: number;
  units: string;
}

const STATEMENT = `query ($from: DateTime!, $to: DateTime) { statement(from: $from, to: $to) {
  from to currency openingBalance closingBalance
  movements { id kind amount at instanceId note reference }
  lines { instanceId volumeId kind from to seconds ratePerHour amount units } } }`;

const CHARGES: readonly Column<Line>[] = [
  text('INSTANCE', ({ instanceId, volumeId }) => instanceId ?? volumeId ?? '-', { style: () => 'cyan' }),
  text('FOR', ({ kind }) => labelOf(kind)),
  text('FROM', ({ from }) => from, { spare: 1 }),
  text('TO', ({ to }) => to, { spare: 2 }),
  number('SECONDS', ({ seconds }) => seconds),
  text('USD/H', ({ ratePerHour }) => formatUsd(ratePerHour)),
  text('USD', ({ amount }) => formatUsd(amount)),
];
const MOVEMENTS: readonly Column<Movement>[] = [
  text('TIME', ({ at }) => at),
  text('KIND', ({ kind }) => labelOf(kind)),
  text('USD', ({ amount }) => formatUsd(amount)),
  text('INSTANCE', ({ instanceId }) => instanceId ?? '-'),
  text('NOTE', ({ note, reference }) => visible(note ?? reference ?? '-'), { spare: 1 }),
];

interface Options extends Output {
  month?: string;
  signed?: boolean;
  format?: 'focus';
}

export function addStatementCommand(program: Command): void {
  program
    .command('statement')
    .description('List the changes to the balance in a UTC month')
    .option('--month <month>', 'UTC month, such as 2026-10 (default: this month)', monthOf)
    .option('--signed', 'Print the signed document, which `gpu verify` checks')
    .option('--json', 'Print JSON')
    .addOption(
      new Option('--format <format>', 'Print costs per day as CSV in FOCUS 1.2').choices(['focus']).conflicts('json'),
    )
    .action(async ({ month: given, signed, json, format }: Options, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const month = given ?? (await thisMonth(settings));
      if (format === 'focus') return void process.stdout.write(await readFocus(settings, month));
      if (signed) return printText(`${JSON.stringify(await readSigned(settings, month))}\n`);
      const statement = await readStatement(settings, startOf(month), startOf(monthAfter(month)));
      if (json) return printText(JSON.stringify(statement));
      printLines(linesOf(statement));
      remark('Charges are exact to the second. Service credits compensate for undelivered service.');
    });
}

/** Returns the amount that the service has credited since `from`, for one instance or for all of them. */
export async function serviceCreditSince(settings: Settings, from: string, instanceId?: string): Promise<number> {
  const { movements } = await readStatement(settings, from, null);
  const credits = movements.filter(
    (each) => each.kind === 'SERVICE_CREDIT' && (instanceId === undefined || each.instanceId === instanceId),
  );
  // The amounts have six decimals. They are added as integers, because adding doubles wouldn't be exact.
  return credits.reduce((sum, { amount }) => sum + Math.round(amount * 1e6), 0) / 1e6;
}

/** Returns the amount that the service has credited in the current UTC month. */
export async function serviceCreditThisMonth(settings: Settings): Promise<number> {
  return serviceCreditSince(settings, startOf(await thisMonth(settings)));
}

async function readStatement(settings: Settings, from: string, to: string | null): Promise<Statement> {
  const { statement } = await queryGraphql<{ statement: Statement }>(settings, STATEMENT, { from, to });
  return statement;
}

async function readSigned(settings: Settings, month: string): Promise<unknown> {
  const query = 'query ($month: String!) { signedStatement(month: $month) }';
  return (await queryGraphql<{ signedStatement: unknown }>(settings, query, { month })).signedStatement;
}

async function readFocus(settings: Settings, month: string): Promise<string> {
  const query = 'query ($month: String!) { focusExport(month: $month) }';
  return (await queryGraphql<{ focusExport: string }>(settings, query, { month })).focusExport;
}

function linesOf({ from, to, openingBalance, closingBalance, movements, lines }: Statement): string[] {
  return [
    ...card([
      ['From', from],
      ['To', to],
      ['Opening balance', `${formatUsd(openingBalance)} USD`],
      ['Closing balance', `${formatUsd(closingBalance)} USD`],
    ]),
    ...(movements.length === 0 ? [] : ['', ...table(movements, MOVEMENTS)]),
    ...(lines.length === 0 ? [] : ['', ...table(lines, CHARGES)]),
  ];
}

/** Returns a readable label for a kind such as EARLY_EXIT. */
function labelOf(kind: string): string {
  return kind.toLowerCase().replaceAll('_', ' ');
}

/** Returns the current month according to the service's clock. */
export async function thisMonth(settings: Settings): Promise<string> {
  const { balance } = await queryGraphql<{ balance: { asOf: string } }>(settings, '{ balance { asOf } }');
  return balance.asOf.slice(0, 7);
}

function startOf(month: string): string {
  return `${month}-01T00:00:00Z`;
}

function monthAfter(month: string): string {
  const [year, number] = month.split('-').map(Number) as [number, number];
  return new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 7);
}

export function monthOf(given: string): string {
  if (/^(19[7-9]\d|[2-9]\d{3})-(0[1-9]|1[0-2])$/.test(given)) return given;
  throw new InvalidArgumentError('must be a year and month, such as 2026-11.');
}
