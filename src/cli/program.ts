import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { DEFAULT_BASE_URL } from '../client/send.js';
import { PACKAGE_ROOT } from '../package-root.js';
import { addAccountCommands } from './account.js';
import { addActivityCommand } from './activity.js';
import { addCompletionCommand } from './completion.js';
import { addDeadlineCommand, addIdleCommand } from './deadlines.js';
import { EXIT } from './failure.js';
import { acceptNames } from './instances.js';
import { addKeyCommands } from './keys.js';
import { addLimitCommand } from './limits.js';
import { addMailCommands } from './mail.js';
import { addMarketCommands } from './market.js';
import { addMcpCommand } from './mcp.js';
import { addMetricsCommand } from './metrics.js';
import { addRentalCommands } from './rentals.js';
import { complain, exitCodeOf } from './report.js';
import { addRunCommands } from './run.js';
import { addSecretCommands } from './secrets.js';
import { addSshCommands } from './ssh.js';
import { addStatementCommand } from './statements.js';
import { addTemplateCommands } from './templates.js';
import { addTimelineCommand } from './timeline.js';
import { addTopCommand } from './top.js';
import { addTopUpCommands } from './top-ups.js';
import { addVolumeCommands } from './volumes.js';
import { addWebCommands } from './web.js';
import { addWebhookCommands } from './webhooks.js';

const NOTES = `
Examples:
  gpu offers --gpu rtx-4090 --limit 5
  gpu deploy "$(gpu offers --gpu rtx-4090 --limit 1 --quiet)" --disk-gb 100
  gpu instances --watch

INSTANCE is the id or the name of an instance, as \`gpu instances\` shows them.

Environment:
  GPU_API_KEY    API key, instead of that of \`gpu login\`
  GPU_BASE_URL   address of the service with its path prefix (default: ${DEFAULT_BASE_URL})
  NO_COLOR       no colours

Exit codes:
  0  done
  1  refused by the service; the message is on stderr
  2  wrong usage, or not confirmed; nothing was changed
  3  no connection to the service, or no answer that makes sense`;

/** Runs a command line; returns its exit code. */
export async function runCommand(args: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(args, { from: 'user' });
    return Number(process.exitCode ?? EXIT.done);
  } catch (error) {
    return exitCodeOf(error);
  }
}

function createProgram(): Command {
  const program = new Command('gpu')
    .description('Rents GPUs: prices, offers, instances and balance of a GPU rental service.')
    .version(versionOfPackage(), '-V, --version', 'print the version')
    .option('--base-url <url>', 'address of the service with its path prefix')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .addHelpText('after', NOTES)
    .configureHelp({ minWidthToWrap: 30 })
    .configureOutput({ outputError: (text) => complain(text.replace(/^error: /, '')) });
  addMarketCommands(program);
  addRentalCommands(program);
  addTopCommand(program);
  addMetricsCommand(program);
  addTimelineCommand(program);
  addDeadlineCommand(program);
  addIdleCommand(program);
  addLimitCommand(program);
  addRunCommands(program);
  addSecretCommands(program);
  addVolumeCommands(program);
  addKeyCommands(program);
  addActivityCommand(program);
  addTemplateCommands(program);
  addWebhookCommands(program);
  addMailCommands(program);
  addSshCommands(program);
  addWebCommands(program);
  addTopUpCommands(program);
  addStatementCommand(program);
  addAccountCommands(program);
  addMcpCommand(program);
  addCompletionCommand(program);
  acceptNames(program);
  exitByException(program);
  return program;
}

function versionOfPackage(): string {
  return JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8')).version;
}

function exitByException(command: Command): void {
  command.exitOverride().copyInheritedSettings(command.parent ?? command);
  for (const child of command.commands) exitByException(child);
}
