import type { Command } from 'commander';
import { EXIT, Failure } from './failure.js';
import { askGraphql } from './graphql.js';
import { openSession } from './session.js';
import type { Output } from './show.js';
import { table, text } from './table.js';
import { askSecret, canAsk, done, printLines, printText, readAll, remark } from './terminal.js';

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
  const secret = program.command('secret').description('values that launches name and nobody is shown again');
  secret
    .command('create <name>')
    .description('store a secret: typed without echo, or read from stdin as it is')
    .option('--registry <host>', 'make it the password of a registry login, such as at ghcr.io')
    .option('--username <name>', 'user name at the registry')
    .action(create);
  secret
    .command('list')
    .description('your secrets, without their values')
    .option('--json', 'print JSON')
    .action(async ({ json }: Output, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const { secrets } = await askGraphql<{ secrets: Secret[] }>(settings, `{ secrets { ${SECRET} } }`);
      if (json) return printText(JSON.stringify(secrets));
      if (secrets.length === 0) remark('No secrets. `gpu secret create NAME` stores one.');
      else printLines(table(secrets, COLUMNS));
    });
  secret
    .command('delete <name>')
    .description('delete a secret; containers that run keep what they were given')
    .action(async (name: string, _options: object, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      await askGraphql(settings, 'mutation ($name: String!) { deleteSecret(name: $name) { name } }', { name });
      printLines([done(`${name} is deleted`)]);
    });
}

interface CreateOptions {
  registry?: string;
  username?: string;
}

async function create(name: string, { registry, username }: CreateOptions, command: Command): Promise<void> {
  if (process.stdin.isTTY && !canAsk())
    throw new Failure(EXIT.usage, 'there is no terminal to ask at: pipe the value to stdin');
  const value = process.stdin.isTTY ? await askSecret(`Value of ${name} (not shown): `) : await readAll(process.stdin);
  if (value === '') throw new Failure(EXIT.usage, 'no value was given');
  const { settings } = openSession(command, { needsKey: true });
  const input = { name, value, registry, username };
  await askGraphql(settings, 'mutation ($input: SecretInput!) { createSecret(input: $input) { name } }', { input });
  printLines([done(`${name} is stored`)]);
}
