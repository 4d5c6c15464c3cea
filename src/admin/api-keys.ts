import type { Command } from 'commander';
import { accountState } from '../domain/accounts/accounts.js';
import { type ApiKey, createApiKey, listApiKeys, revokeApiKey } from '../domain/accounts/api-keys.js';
import { type Column, type Output, print, printJson, time, timeOrNull } from './output.js';
import type { Run } from './run.js';

const COLUMNS: readonly Column<ApiKey>[] = [
  ['ID', ({ id }) => id],
  ['KEY', ({ prefix, lastFour }) => `${prefix}…${lastFour}`],
  ['CREATED', ({ createdAt }) => time(createdAt)],
  ['LAST USED', ({ lastUsedAt }) => time(lastUsedAt)],
  ['REVOKED', ({ revokedAt }) => time(revokedAt)],
];

export function addKeyCommands(program: Command, run: Run): void {
  const key = program.command('key').description('Manage API keys');
  key
    .command('create')
    .description("Create a key and print it; it can't be shown again")
    .requiredOption('--account <id>', 'Account to create the key for')
    .option('--json', 'Print JSON')
    .action((options: Output & { account: string }) =>
      run(async (deps) => {
        await accountState(deps, options.account);
        const { apiKey, secret } = await createApiKey(deps, options.account);
        if (options.json) printJson({ id: apiKey.id, account_id: apiKey.accountId, api_key: secret });
        else process.stdout.write(`${secret}\n`);
      }),
    );
  key
    .command('list')
    .description("List an account's keys, newest first")
    .requiredOption('--account <id>', 'Account whose keys to list')
    .option('--json', 'Print JSON')
    .action((options: Output & { account: string }) =>
      run(async (deps) => {
        await accountState(deps, options.account);
        const keys = await listApiKeys(deps, options.account);
        if (options.json) printJson(keys.map(asJson));
        else print(keys, COLUMNS);
      }),
    );
  key
    .command('revoke <id>')
    .description('Revoke a key immediately')
    .option('--json', 'Print JSON')
    .action((id: string, { json }: Output) =>
      run(async (deps) => {
        const revoked = await revokeApiKey(deps, null, id);
        if (json) printJson(asJson(revoked));
        else print([revoked], COLUMNS);
      }),
    );
}

function asJson(key: ApiKey): object {
  return {
    id: key.id,
    account_id: key.accountId,
    last_four: key.lastFour,
    created_at: timeOrNull(key.createdAt),
    last_used_at: timeOrNull(key.lastUsedAt),
    revoked_at: timeOrNull(key.revokedAt),
  };
}
