import { type Command, InvalidArgumentError } from 'commander';
import { amount } from './market.js';
import { openSession } from './session.js';

interface McpOptions {
  maxPerHour?: number;
  readOnly?: boolean;
  identity?: string;
}

export function addMcpCommand(program: Command): void {
  program
    .command('mcp')
    .description('Serve AI assistants over the Model Context Protocol')
    .option(
      '--max-per-hour <usd>',
      "Limit on the account's hourly cost in USD; refuse any deploy or start that would exceed it",
      cap,
    )
    .option('--read-only', "Offer only tools that don't change anything")
    .option('-i, --identity <file>', 'Private key for run_command (default: the keys that ssh tries)')
    .addHelpText('after', '\nAssistants start this command and use its standard input and output.')
    .action(async (options: McpOptions, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      // The MCP packages are loaded only here, because they would slow down every other command.
      const { serveMcp } = await import('./mcp/serve.js');
      serveMcp({
        settings,
        version: program.version() ?? '',
        maxPerHour: options.maxPerHour ?? null,
        isReadOnly: options.readOnly ?? false,
        identity: options.identity,
      });
    });
}

function cap(text: string): number {
  const usd = amount(text);
  if (usd >= 0) return usd;
  throw new InvalidArgumentError('must be at least 0.');
}
