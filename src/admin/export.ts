import { once } from 'node:events';
import type { Command } from 'commander';
import { exportAccount } from '../domain/accounts/export-account.js';
import type { Run } from './run.js';

export function addExportCommand(program: Command, run: Run): void {
  program
    .command('export')
    .description('all that is stored about an account, as JSON; without keys and their hashes')
    .requiredOption('--account <id>', 'the account')
    .action(({ account }: { account: string }) =>
      run((deps) =>
        exportAccount(deps, account, async (text) => {
          if (!process.stdout.write(text)) await once(process.stdout, 'drain');
        }),
      ),
    );
}
