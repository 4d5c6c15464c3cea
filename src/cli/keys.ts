import type { Command } from 'commander';
import { visible } from '../std/visible.js';
import { collectList } from './collect.js';
import { queryGraphql } from './graphql.js';
import { amount } from './market.js';
import { openSession } from './session.js';
import type { Output } from './show.js';
import { type Column, table, text, when } from './table.js';
import { done, printLines, printText, remark } from './terminal.js';
import { readable } from './times.js';

interface ApiKey {
  id: string;
  name: string | null;
  lastFour: string;
  scopes: string[] | null;
  networks: string[] | null;
  createdAt: string;
  expiresAt: string | null;
  lastUsedAt: string | null;
  revokedAt: string | null;
  monthlyLimit: number | null;
}

const KEY = 'id name lastFour scopes networks createdAt expiresAt lastUsedAt revokedAt monthlyLimit';
const CREATE = `mutation ($name: String, $scopes: [KeyScope!], $expiresAt: String, $networks: [String!], $monthlyLimit: Float) {
  createApiKey(name: $name, scopes: $scopes, expiresAt: $expiresAt, networks: $networks, monthlyLimit: $monthlyLimit) { secret apiKey { ${KEY} } } }`;
const REVOKE = `mutation ($id: ID!) { revokeApiKey(id: $id) { ${KEY} } }`;

const COLUMNS: readonly Column<ApiKey>[] = [
  text('ID', ({ id }) => id, { style: () => 'cyan' }),
  text('NAME', ({ name, lastFour }) => visible(name ?? `…${lastFour}`)),
  text('SCOPES', ({ scopes }) => scopes?.join(' ').toLowerCase() ?? 'all'),
  text('NETWORKS', ({ networks }) => networks?.join(' ') ?? 'all', { spare: 2 }),
  text('LIMIT', ({ monthlyLimit }) => (monthlyLimit === null ? 'none' : `${monthlyLimit.toFixed(2)} USD/month`), {
    spare: 3,
  }),
  text('EXPIRES', ({ expiresAt, revokedAt }) => (revokedAt === null ? expiryOf(expiresAt) : 'revoked')),
  when('LAST USED', ({ lastUsedAt }) => lastUsedAt, { spare: 1 }, 'never'),
];

export function addKeyCommands(program: Command): void {
  const key = program.command('key').description('Manage API keys');
  key
    .command('create [name]')
    .description("Create an API key with at most your key's permissions")
    .addHelpText('after', '\nOnly the key is printed to stdout. It is never shown again.')
    .option(
      '--scope <scope>',
      "Permission: read, rent, access, money or keys; repeatable (default: your key's permissions)",
      collectList,
    )
    .option('--expires <time>', 'Expiry: a duration (30d, 12h) or a time (2026-11-23T18:00:00Z) (default: never)')
    .option(
      '--network <network>',
      'Accept the key only from this network, such as 203.0.113.0/24; repeatable',
      collectList,
    )
    .option('--monthly-limit <usd>', 'Maximum spend per UTC month in USD (default: no limit)', amount)
    .option('--json', 'Print JSON')
    .action(create);
  key
    .command('list')
    .description('List your API keys, newest first')
    .option('--json', 'Print JSON')
    .action(async ({ json }: Output, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const { apiKeys } = await queryGraphql<{ apiKeys: ApiKey[] }>(settings, `{ apiKeys { ${KEY} } }`);
      if (json) printText(JSON.stringify(apiKeys));
      else printLines(table(apiKeys, COLUMNS));
    });
  key
    .command('revoke <id>')
    .description('Revoke an API key and close the connections that it opened')
    .action(async (id: string, _options: object, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      await queryGraphql(settings, REVOKE, { id });
      printLines([done(`${id} has been revoked`)]);
    });
}

interface CreateOptions extends Output {
  scope?: string[];
  expires?: string;
  network?: string[];
  monthlyLimit?: number;
}

async function create(name: string | undefined, options: CreateOptions, command: Command): Promise<void> {
  const { settings } = openSession(command, { needsKey: true });
  const { scope, expires, network, monthlyLimit, json } = options;
  const input = {
    name,
    expiresAt: expires,
    monthlyLimit,
    ...(scope !== undefined && { scopes: scope.map((each) => each.toUpperCase()) }),
    ...(network !== undefined && { networks: network }),
  };
  const { createApiKey } = await queryGraphql<{ createApiKey: { secret: string; apiKey: ApiKey } }>(
    settings,
    CREATE,
    input,
  );
  if (json) return printText(JSON.stringify({ ...createApiKey.apiKey, secret: createApiKey.secret }));
  printLines([createApiKey.secret]);
  const { id, scopes, expiresAt, monthlyLimit: limit } = createApiKey.apiKey;
  remark(`${id} has the scopes: ${scopes?.join(', ').toLowerCase() ?? 'all'}. It expires: ${expiryOf(expiresAt)}.`);
  if (limit !== null) remark(`It may spend ${limit.toFixed(2)} USD per month.`);
  remark('The key is shown only once.');
}

function expiryOf(expiresAt: string | null): string {
  return expiresAt === null ? 'never' : readable(expiresAt);
}
