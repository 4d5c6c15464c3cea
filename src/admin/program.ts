import { Command, CommanderError } from 'commander';
import { DatabaseUnusable } from '../compose.js';
import { ConfigError } from '../config.js';
import { EmbeddedPostgresUnavailable } from '../database/embedded/embedded-postgres.js';
import { RestoreRefused } from '../database/embedded/restore.js';
import { isUnavailable, unavailableReason } from '../database/faults.js';
import { FileRefused } from '../domain/import.js';
import { DomainError } from '../domain/rules/errors.js';
import { visible } from '../visible.js';
import { addAccountCommands } from './accounts.js';
import { addKeyCommands } from './api-keys.js';
import { addAuditCommand } from './audit.js';
import { addBackupCommands } from './backup.js';
import { addCatalogueCommands } from './catalogue.js';
import { addExportCommand } from './export.js';
import { addHostCommands } from './hosts.js';
import { addInstanceCommands } from './instances.js';
import { addMachineCommands } from './machines.js';
import { addMarketCommands } from './market.js';
import type { Run } from './run.js';
import { addSecretCommands } from './secrets.js';
import { addStatementCommand } from './statements.js';
import { addTopUpCommands } from './top-ups.js';
import { addVolumeCommands } from './volumes.js';

const BAD_INPUT = 2;
const NO_COMMAND = 'a command is missing; --help lists them';

/** Runs an operator command; `run` gives it a database. Returns its exit code. */
export async function runCommand(args: readonly string[], run: Run): Promise<number> {
  try {
    await createProgram(run).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    return exitCodeOf(error);
  }
}

/** All operator commands; each does its work through `run`. */
export function createProgram(run: Run): Command {
  const program = new Command('admin')
    .description('Operator commands of the GPU rental gateway. DATABASE_URL or DATA_DIR selects the database.')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeErr: (text) => complain(text.replace(/^error: /, '').replace(/^Usage:.*/s, NO_COMMAND)) });
  addAccountCommands(program, run);
  addKeyCommands(program, run);
  addInstanceCommands(program, run);
  addMarketCommands(program, run);
  addCatalogueCommands(program, run);
  addMachineCommands(program, run);
  addHostCommands(program, run);
  addStatementCommand(program, run);
  addTopUpCommands(program, run);
  addSecretCommands(program, run);
  addVolumeCommands(program, run);
  addAuditCommand(program, run);
  addBackupCommands(program, run);
  addExportCommand(program, run);
  exitByException(program);
  return program;
}

function exitByException(command: Command): void {
  command.exitOverride();
  for (const child of command.commands) exitByException(child);
}

/** 0 success, 2 bad input (nothing was changed), 1 any other error. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : BAD_INPUT;
  const badInput = error instanceof DomainError || error instanceof ConfigError || error instanceof RestoreRefused;
  const expected = badInput || error instanceof DatabaseUnusable || error instanceof EmbeddedPostgresUnavailable;
  if (error instanceof FileRefused)
    process.stderr.write(
      error.message
        .split('\n')
        .map((line) => `${visible(line)}\n`)
        .join(''),
    );
  else if (expected) complain((error as Error).message);
  else if (isUnavailable(error)) complain(`temporarily unavailable, try again: ${unavailableReason(error)}`);
  else process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : error}\n`);
  return badInput ? BAD_INPUT : 1;
}

/** Always one line. */
export function complain(text: string): void {
  process.stderr.write(`${visible(text.trim().replace(/\s*\n\s*/g, ' '))}\n`);
}
