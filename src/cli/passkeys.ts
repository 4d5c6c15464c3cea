import type { Command } from 'commander';
import { visible } from '../std/visible.js';
import { queryGraphql } from './graphql.js';
import { openSession } from './session.js';
import type { Output } from './show.js';
import { type Column, table, text, when } from './table.js';
import { done, printLines, printText } from './terminal.js';

interface Passkey {
  id: string;
  name: string;
  keyId: string;
  host: string;
  createdAt: string;
  lastUsedAt: string | null;
}

const LIST = '{ passkeys { id name keyId host createdAt lastUsedAt } }';
const REVOKE = 'mutation ($id: ID!) { revokePasskey(id: $id) { id } }';

const COLUMNS: readonly Column<Passkey>[] = [
  text('ID', ({ id }) => id, { style: () => 'cyan' }),
  text('NAME', ({ name }) => visible(name)),
  text('KEY', ({ keyId }) => keyId),
  text('HOST', ({ host }) => host, { spare: 2 }),
  when('CREATED', ({ createdAt }) => createdAt, { spare: 3 }),
  when('LAST USED', ({ lastUsedAt }) => lastUsedAt, { spare: 1 }, 'never'),
];

export function addPasskeyCommands(program: Command): void {
  const passkey = program.command('passkey').description('Manage passkeys, which the web console creates');
  passkey
    .command('list')
    .description('List the passkeys of your valid API keys, newest first')
    .option('--json', 'Print JSON')
    .action(async ({ json }: Output, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const { passkeys } = await queryGraphql<{ passkeys: Passkey[] }>(settings, LIST);
      if (json) printText(JSON.stringify(passkeys));
      else printLines(table(passkeys, COLUMNS));
    });
  passkey
    .command('revoke <id>')
    .description('Revoke a passkey and end its console sessions')
    .action(async (id: string, _options: object, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      await queryGraphql(settings, REVOKE, { id });
      printLines([done(`${id} has been revoked`)]);
    });
}
