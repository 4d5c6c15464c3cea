import type { Command } from 'commander';
import { visible } from '../visible.js';
import { askGraphql } from './graphql.js';
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
  text('MAY', ({ scopes }) => scopes?.join(' ').toLowerCase() ?? 'everything'),
  text('FROM', ({ networks }) => networks?.join(' ') ?? 'anywhere', { spare: 2 }),
  text('LIMIT', ({ monthlyLimit }) => (monthlyLimit === null ? 'none' : `${monthlyLimit.toFixed(2)} USD/month`), {
    spare: 3,
  }),
  text('ENDS', ({ expiresAt, revokedAt }) => (revokedAt === null ? endOf(expiresAt) : 'revoked')),
  when('LAST USED', ({ lastUsedAt }) => lastUsedAt, { spare: 1 }, 'never'),
];

export function addKeyCommands(program: Command): void {
  const key = program.command('key').description('API keys: what each may do, until when, and from where');
  key
    .command('create [name]')
    .description('create a key of no more power than yours; it is printed once, alone on stdout')
    .option('--scope <scope>', 'read, rent, access, money or keys; may be repeated (default: what yours may)', list, [])
    .option('--expires <time>', 'when it ends: 30d, 12h, or an instant such as 2026-11-23T18:00:00Z')
    .option('--network <network>', 'accept it from there alone, such as 203.0.113.0/24; may be repeated', list, [])
    .option('--monthly-limit <usd>', 'what may be spent by it in a UTC month', amount)
    .option('--json', 'print JSON')
    .action(create);
  key
    .command('list')
    .description('your keys, newest first')
    .option('--json', 'print JSON')
    .action(async ({ json }: Output, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const { apiKeys } = await askGraphql<{ apiKeys: ApiKey[] }>(settings, `{ apiKeys { ${KEY} } }`);
      if (json) printText(JSON.stringify(apiKeys));
      else printLines(table(apiKeys, COLUMNS));
    });
  key
    .command('revoke <id>')
    .description('refuse a key from now on, and end what it has opened')
    .action(async (id: string, _options: object, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      await askGraphql(settings, REVOKE, { id });
      printLines([done(`${id} is revoked`)]);
    });
}

interface CreateOptions extends Output {
  scope: string[];
  expires?: string;
  network: string[];
  monthlyLimit?: number;
}

async function create(name: string | undefined, options: CreateOptions, command: Command): Promise<void> {
  const { settings } = openSession(command, { needsKey: true });
  const { scope, expires, network, monthlyLimit, json } = options;
  const input = {
    name,
    expiresAt: expires,
    monthlyLimit,
    ...(scope.length > 0 && { scopes: scope.map((each) => each.toUpperCase()) }),
    ...(network.length > 0 && { networks: network }),
  };
  const { createApiKey } = await askGraphql<{ createApiKey: { secret: string; apiKey: ApiKey } }>(
    settings,
    CREATE,
    input,
  );
  if (json) return printText(JSON.stringify({ ...createApiKey.apiKey, secret: createApiKey.secret }));
  printLines([createApiKey.secret]);
  const { id, scopes, expiresAt, monthlyLimit: limit } = createApiKey.apiKey;
  remark(`${id} may ${scopes?.join(', ').toLowerCase() ?? 'do everything'}; it ends ${endOf(expiresAt)}.`);
  if (limit !== null) remark(`It may spend ${limit.toFixed(2)} USD in a month.`);
  remark('It is shown this once.');
}

function list(value: string, before: readonly string[]): string[] {
  return [...before, ...value.split(',')];
}

function endOf(expiresAt: string | null): string {
  return expiresAt === null ? 'never' : readable(expiresAt);
}
