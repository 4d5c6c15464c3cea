import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { finishProgram, subcommandTerm } from '../std/command-help.js';
import { PACKAGE_ROOT } from '../std/package-root.js';
import { addAccountCommands } from './account.js';
import { addActivityCommand } from './activity.js';
import { addCompletionCommand } from './completion.js';
import { addDeadlineCommand, addIdleCommand } from './deadlines.js';
import { EXAMPLES } from './examples.js';
import { EXIT } from './failure.js';
import { acceptNames } from './instances.js';
import { addInvoiceCommands } from './invoices.js';
import { addKeyCommands } from './keys.js';
import { addLabelCommand } from './labels.js';
import { addLimitCommand } from './limits.js';
import { addMailCommands } from './mail.js';
import { addMarketCommands } from './market.js';
import { addMcpCommand } from './mcp.js';
import { addMetricsCommand } from './metrics.js';
import { addModelCommands } from './models.js';
import { overview } from './overview.js';
import { addPasskeyCommands } from './passkeys.js';
import { addProofCommands } from './proof.js';
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
import { addVerifyCommand } from './verify.js';
import { addVolumeCommands } from './volumes.js';
import { addWebCommands } from './web.js';
import { addWebhookCommands } from './webhooks.js';

/** Runs a command line and returns its exit code. */
export async function runCommand(args: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(args, { from: 'user' });
    return Number(process.exitCode ?? EXIT.done);
  } catch (error) {
    return exitCodeOf(error);
  }
}

/** Returns the program with all commands. */
export function createProgram(): Command {
  const baseUrl = new Option('--base-url <url>', 'Service URL (default: the one shown by `gpu config`)');
  const program = new Command('gpu')
    .version(versionOfPackage(), '-V, --version', 'Print the version')
    .addOption(baseUrl)
    .configureHelp({
      minWidthToWrap: 30,
      showGlobalOptions: true,
      visibleGlobalOptions: () => [baseUrl],
      subcommandTerm,
    });
  addMarketCommands(program);
  addModelCommands(program);
  addRentalCommands(program);
  addTopCommand(program);
  addMetricsCommand(program);
  addTimelineCommand(program);
  addDeadlineCommand(program);
  addLabelCommand(program);
  addIdleCommand(program);
  addLimitCommand(program);
  addRunCommands(program);
  addSecretCommands(program);
  addVolumeCommands(program);
  addKeyCommands(program);
  addPasskeyCommands(program);
  addActivityCommand(program);
  addTemplateCommands(program);
  addWebhookCommands(program);
  addMailCommands(program);
  addSshCommands(program);
  addWebCommands(program);
  addTopUpCommands(program);
  addStatementCommand(program);
  addInvoiceCommands(program);
  addVerifyCommand(program);
  addProofCommands(program);
  addAccountCommands(program);
  addMcpCommand(program);
  addCompletionCommand(program);
  acceptNames(program);
  finishProgram(program, EXAMPLES);
  pointToHelp(program, 'gpu');
  return program.configureHelp({ formatHelp: overview });
}

function versionOfPackage(): string {
  return JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8')).version;
}

/** Makes each command-line error point to the help that explains the command. */
function pointToHelp(command: Command, path: string): void {
  const hint = command.commands.length > 0 ? `\`${path} --help\` lists the commands` : `see \`${path} --help\``;
  command.configureOutput({ outputError: (text) => complain(`${messageOf(text)}; ${hint}`) });
  for (const child of command.commands) pointToHelp(child, `${path} ${child.name()}`);
}

/**
 * Returns commander's message without its prefix and final period. A colon precedes the reason why a value is invalid.
 */
function messageOf(text: string): string {
  return text
    .trim()
    .replace(/^error: /, '')
    .replace(' is invalid. ', ' is invalid: ')
    .replace(/\.$/, '');
}
