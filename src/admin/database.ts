import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { ConfigError } from '../compose/config.js';
import { openDatabase } from '../database/database.js';
import { holdsDatabase } from '../database/embedded/embedded-postgres.js';
import {
  MoveFailed,
  type MoveOptions,
  MoveRefused,
  type MoveReport,
  moveDatabase,
  planMove,
  type UndoOptions,
  undoMove,
} from '../database/move/move.js';
import { PACKAGE_ROOT } from '../std/package-root.js';
import { auditAll } from './audit.js';
import { builtInDataDir } from './backup.js';
import { type Column, type Output, print, printJson } from './output.js';

/** Gateways may be using the database during the audit. */
const AUDIT_CONNECTIONS = 2;

const COLUMNS: readonly Column<MoveReport['tables'][number]>[] = [
  ['TABLE', ({ table }) => table],
  ['ROWS', ({ rows }) => String(rows)],
  ['COPIED', ({ copied }) => String(copied)],
];

interface MoveFlags extends Output {
  to?: string;
  dryRun?: boolean;
  undo?: boolean;
  loseChanges?: boolean;
}

export function addDatabaseCommands(program: Command): void {
  program
    .command('database')
    .description('Move the built-in PostgreSQL to another server')
    .command('move')
    .description('Copy the database to another server, check the copy, and switch to it')
    .option('--to <url>', 'URL of an empty database or, with --undo, of the one to which it was moved')
    .option('--dry-run', 'Only check whether the move is possible')
    .option('--undo', 'Use the built-in database again, if the other one was not changed since the move')
    .option('--lose-changes', 'With --undo: lose what was changed in the other one')
    .option('--json', 'Print JSON')
    .action(async (flags: MoveFlags) => {
      const dataDir = builtInDataDir('database move');
      const { to = null, undo: isUndo = false, loseChanges = false } = flags;
      if (to !== null) refuseInvalid(to);
      if (isUndo && flags.dryRun) throw new MoveRefused('use --dry-run without --undo');
      if (loseChanges && !isUndo) throw new MoveRefused('use --lose-changes only with --undo');
      if (!holdsDatabase(dataDir)) throw new ConfigError(`DATA_DIR ${dataDir} contains no database`);
      if (isUndo) await undo({ dataDir, from: to, mayLoseChanges: loseChanges }, flags);
      else if (to !== null) await move({ dataDir, to }, flags);
      else throw new MoveRefused('use --to or --undo');
    });
}

async function undo(options: UndoOptions, { json }: Output): Promise<void> {
  const former = await undoMove(options);
  if (json) printJson({ state: 'undone', was: former?.state ?? null, target: former?.target ?? null });
  else if (former === null) process.stdout.write('the database has not been moved\n');
  else process.stdout.write(`${options.dataDir} can be used again; don't use ${former.target} any more\n`);
}

async function move({ dataDir, to }: Pick<MoveOptions, 'dataDir' | 'to'>, flags: MoveFlags): Promise<void> {
  const options = {
    dataDir,
    to,
    migrations: join(PACKAGE_ROOT, 'prisma/migrations'),
    audit: auditDatabase,
    onNote: (note: string) => process.stderr.write(`${note}\n`),
  };
  const report = await (flags.dryRun ? planMove : moveDatabase)(options);
  if (flags.json) printJson(forJson(report));
  else {
    if (report.tables.length > 0) print(report.tables, COLUMNS);
    for (const line of nextSteps(report, dataDir)) process.stdout.write(`${line}\n`);
  }
}

function refuseInvalid(to: string): void {
  const { protocol = '' } = URL.canParse(to) ? new URL(to) : {};
  if (!/^postgres(ql)?:$/.test(protocol)) throw new MoveRefused('--to must be a URL that begins with postgresql://');
}

async function auditDatabase(url: string): Promise<void> {
  const db = openDatabase(url);
  try {
    const { findings } = await auditAll({ db }, AUDIT_CONNECTIONS);
    if (findings.length === 0) return;
    const { check, accountId, subject, detail } = findings[0]!;
    const first = `${check} ${accountId} ${subject}: ${detail}`;
    throw new MoveFailed(`the audit found ${findings.length} mismatches, first: ${first}`);
  } finally {
    await db.close();
  }
}

function forJson({ state, target, users, tables, sequences, seconds, downtimeSeconds }: MoveReport) {
  return {
    state,
    target,
    other_processes: users,
    rows: rowsIn(tables),
    tables,
    sequences,
    seconds: rounded(seconds),
    downtime_seconds: downtimeSeconds === null ? null : rounded(downtimeSeconds),
  };
}

function nextSteps({ state, target, users, tables, sequences, seconds, downtimeSeconds }: MoveReport, dataDir: string) {
  const rows = `${rowsIn(tables)} rows in ${tables.length} tables`;
  if (state === 'planned') return [`would move ${rows} to ${target}; ${inUse(users)}`];
  if (state === 'copied') {
    return [
      `copied ${rows} to ${target} in ${rounded(seconds)} s; ${inUse(users)}`,
      'Not moved yet: stop all gateways, and repeat this command. It copies only what changes until then.',
    ];
  }
  const moved =
    downtimeSeconds === null
      ? `the database has been moved to ${target}`
      : `moved ${rows} and ${sequences} sequences to ${target}; all rows are equal, and the audit found no mismatch; ${rounded(downtimeSeconds)} s without a gateway`;
  const key = join(dataDir, 'secrets.key');
  return [
    moved,
    'Before you start the gateways, set DATABASE_URL to the URL of --to.',
    ...(existsSync(key) ? [`Set SECRETS_KEY to the content of ${key}.`] : []),
    ...(existsSync(join(dataDir, 'volumes')) ? [`Keep ${join(dataDir, 'volumes')}, which contains volumes.`] : []),
    `${dataDir} still contains the old database. Gateways refuse it until you run: admin database move --undo --to URL`,
  ];
}

function inUse(users: number): string {
  return `${users} other processes use the built-in database`;
}

function rowsIn(tables: MoveReport['tables']): number {
  return tables.reduce((sum, { rows }) => sum + rows, 0);
}

function rounded(seconds: number): number {
  return Math.round(seconds * 10) / 10;
}
