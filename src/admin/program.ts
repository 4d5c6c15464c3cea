import { type Command, CommanderError } from 'commander';
import { ConfigError } from '../compose/config.js';
import { DatabaseUnusable } from '../compose/gateway.js';
import { EmbeddedPostgresUnavailable } from '../database/embedded/embedded-postgres.js';
import { RestoreRefused } from '../database/embedded/restore.js';
import { isUnavailable, unavailableReason } from '../database/faults.js';
import { MoveFailed, MoveRefused } from '../database/move/move.js';
import { DomainError } from '../domain/kernel/errors.js';
import { FileRefused } from '../domain/kernel/import.js';
import { finishProgram, newProgram } from '../std/command-help.js';
import { visible } from '../std/visible.js';
import { addAccountCommands } from './accounts.js';
import { addKeyCommands } from './api-keys.js';
import { addAuditCommand } from './audit.js';
import { addBackupCommands } from './backup.js';
import { addCatalogueCommands } from './catalogue.js';
import { addDatabaseCommands } from './database.js';
import { EXAMPLES } from './examples.js';
import { addExportCommand } from './export.js';
import { addHostCommands } from './hosts.js';
import { addInstanceCommands } from './instances.js';
import { addInvoiceCommand } from './invoices.js';
import { addMachineCommands } from './machines.js';
import { addMarketCommands } from './market.js';
import type { Run } from './run.js';
import { addSecretCommands } from './secrets.js';
import { addSigningKeyCommands } from './signing-keys.js';
import { addStatementCommand } from './statements.js';
import { addTopUpCommands } from './top-ups.js';
import { addVolumeCommands } from './volumes.js';

const BAD_INPUT = 2;

/** Runs an operator command with the dependencies that `run` provides. Returns the exit code. */
export async function runCommand(args: readonly string[], run: Run): Promise<number> {
  try {
    await createProgram(run).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    return exitCodeOf(error);
  }
}

const GROUPS = {
  'Accounts and money:': [
    addAccountCommands,
    addKeyCommands,
    addStatementCommand,
    addInvoiceCommand,
    addTopUpCommands,
    addExportCommand,
    addAuditCommand,
    addSigningKeyCommands,
  ],
  'Rentals:': [addInstanceCommands, addVolumeCommands, addSecretCommands],
  'Machines:': [addMachineCommands, addHostCommands],
  'Catalogue and prices:': [addCatalogueCommands, addMarketCommands],
  'Database:': [addBackupCommands, addDatabaseCommands],
};

const NOTES = `Examples:
  admin account create --name "Acme GmbH" --credit 100
  admin machine enroll rig-1 --region us-tx --online

Exit codes: 0 done; 1 failed, or a check found a fault; 2 bad input, and
nothing was changed`;

/** Returns the program with all operator commands. */
export function createProgram(run: Run): Command {
  const texts = { description: 'Operate a gateway through its database (DATABASE_URL or DATA_DIR).', notes: NOTES };
  const program = newProgram('admin', texts, complain);
  for (const [heading, groups] of Object.entries(GROUPS)) {
    program.commandsGroup(heading);
    for (const add of groups) add(program, run);
  }
  finishProgram(program, EXAMPLES);
  return program;
}

/** Returns the exit code: 0 after help, 2 for bad input that changed nothing, and 1 for any other error. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : BAD_INPUT;
  const refusals = [DomainError, ConfigError, RestoreRefused, MoveRefused];
  const badInput = refusals.some((kind) => error instanceof kind);
  const failures = [DatabaseUnusable, EmbeddedPostgresUnavailable, MoveFailed];
  const expected = badInput || failures.some((kind) => error instanceof kind);
  if (error instanceof FileRefused)
    process.stderr.write(
      error.message
        .split('\n')
        .map((line) => `${visible(line)}\n`)
        .join(''),
    );
  else if (expected) complain((error as Error).message);
  else if (isUnavailable(error)) complain(`temporarily unavailable; try again: ${unavailableReason(error)}`);
  else process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : error}\n`);
  return badInput ? BAD_INPUT : 1;
}

/** Writes one line to standard error. */
export function complain(text: string): void {
  process.stderr.write(`${visible(text.trim().replace(/\s*\n\s*/g, ' '))}\n`);
}
