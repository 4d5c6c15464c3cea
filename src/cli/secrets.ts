import type { Command } from 'commander';
import { EXIT, Failure } from './failure.js';
import { queryGraphql } from './graphql.js';
import { openSession } from './session.js';
import type { Output } from './show.js';
import { table, text } from './table.js';
import { canPrompt, done, printLines, printText, promptSecret, readAll, remark } from './terminal.js';

interface Secret {
  name: string;
  kind: 'VALUE' | 'REGISTRY_LOGIN';
  registry: string | null;
  username: string | null;
  createdAt: string;
}

const SECRET = 'name kind registry username createdAt';

const COLUMNS = [
  text<Secret>('NAME', ({ name }) => name, { style: () => 'cyan' }),
  text<Secret>('FOR', ({ registry, username }) => (registry === null ? 'launches' : `${username} at ${registry}`)),
  text<Secret>('CREATED', ({ createdAt }) => createdAt, { spare: 1 }),
];

export function addSecretCommands(program: Command): void {
  const secret = program.command('secret').description('Manage secrets and registry logins');
  secret
    .command('create <name>')
    .description('Store a secret, typed without echo or read unchanged from stdin')
    .option('--registry <host>', 'Store it as the password for this registry, such as ghcr.io')
    .option('--username <name>', 'User name for the registry')
    .action(create);
  secret
    .command('list')
    .description('List your secrets without their values')
    .option('--json', 'Print JSON')
    .action(async ({ json }: Output, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const { secrets } = await queryGraphql<{ secrets: Secret[] }>(settings, `{ secrets { ${SECRET} } }`);
      if (json) return printText(JSON.stringify(secrets));
      if (secrets.length === 0) remark('No secrets. `gpu secret create NAME` stores one.');
      else printLines(table(secrets, COLUMNS));
    });
  secret
    .command('delete <name>')
    .description('Delete a secret; running containers keep its value')
    .action(async (name: string, _options: object, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      await queryGraphql(settings, 'mutation ($name: String!) { deleteSecret(name: $name) { name } }', { name });
      printLines([done(`${name} has been deleted`)]);
    });
}

interface CreateOptions {
  registry?: string;
  username?: string;
}

async function create(name: string, { registry, username }: CreateOptions, command: Command): Promise<void> {
  if (process.stdin.isTTY && !canPrompt())
    throw new Failure(EXIT.usage, 'no terminal to prompt on; pipe the value to stdin');
  const value = process.stdin.isTTY
    ? await promptSecret(`Value of ${name} (not shown): `)
    : await readAll(process.stdin);
  if (value === '') throw new Failure(EXIT.usage, 'no value was given; type it, or pipe it to stdin');
  const { settings } = openSession(command, { needsKey: true });
  const input = { name, value, registry, username };
  await queryGraphql(settings, 'mutation ($input: SecretInput!) { createSecret(input: $input) { name } }', { input });
  printLines([done(`${name} has been stored`)]);
}
