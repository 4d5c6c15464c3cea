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
    .description('serve the Model Context Protocol on standard input and output, for assistants that rent for you')
    .option('--max-per-hour <usd>', 'rent and start nothing that takes what the account pays per hour above this', cap)
    .option('--read-only', 'offer only the tools that change nothing')
    .option('-i, --identity <file>', 'private key that run_command logs in with, instead of those that ssh tries')
    .action(async (options: McpOptions, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      // Loaded only here, because its packages would slow down every other command.
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
  throw new InvalidArgumentError('must be a number of 0 or more.');
}
