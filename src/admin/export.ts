import { once } from 'node:events';
import type { Command } from 'commander';
import { exportAccount } from '../domain/accounts/export-account.js';
import type { Run } from './run.js';

export function addExportCommand(program: Command, run: Run): void {
  program
    .command('export')
    .description("Print an account's stored data as JSON, excluding its keys")
    .requiredOption('--account <id>', 'Account to export')
    .action(({ account }: { account: string }) =>
      run((deps) =>
        exportAccount(deps, account, async (text) => {
          if (!process.stdout.write(text)) await once(process.stdout, 'drain');
        }),
      ),
    );
}
