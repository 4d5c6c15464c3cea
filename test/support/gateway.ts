import { pino } from 'pino';
import { type Config, readConfig } from '../../src/compose/config.js';
import type { Deps } from '../../src/compose/deps.js';
import { type Gateway, openGateway } from '../../src/compose/gateway.js';
import { createAccount } from '../../src/domain/accounts/accounts.js';
import { createApiKey } from '../../src/domain/accounts/api-keys.js';
import { parseUsd } from '../../src/domain/kernel/money.js';
import { TestClock } from './clock.js';
import { createTestDatabase } from './database.js';

/** The real gateway on a free port with its own database and a clock that the test controls. */
export interface TestGateway extends Gateway {
  clock: TestClock;
  databaseUrl: string;
  /** Creates an account with credit in USD and a key. */
  renter(creditUsd?: string): Promise<Renter>;
}

export interface Renter {
  accountId: string;
  key: string;
  rest(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  graphql(query: string, variables?: Record<string, unknown>): Promise<Answer>;
}

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
}

export async function startGateway(overrides: Partial<Config> = {}): Promise<TestGateway> {
  const clock = new TestClock();
  const databaseUrl = overrides.databaseUrl ?? (await createTestDatabase());
  const config: Config = {
    ...readConfig({}),
    port: 0,
    sshPort: null,
    databaseUrl,
    rateLimitPerMinute: 0,
    ...overrides,
  };
  const gateway = await openGateway(config, clock, pino({ level: 'silent' }));
  return {
    ...gateway,
    clock,
    databaseUrl,
    renter: (creditUsd) => createRenter(gateway.deps, gateway.address, creditUsd),
  };
}

export async function createRenter(deps: Deps, address: string, creditUsd = '100'): Promise<Renter> {
  const creditMicro = parseUsd(creditUsd)!;
  const account = await createAccount(deps, { name: 'Renter', ...(creditMicro > 0n && { creditMicro }) });
  const { secret } = await createApiKey(deps, account.id);
  return client(address, secret, account.id);
}

/** Timeout of a request, without which a request to a killed gateway might never end. */
const LONGEST_MS = 60_000;

/** Returns a caller with a key, or without one if only the address is given. */
export function client(address: string, key = '', accountId = ''): Renter {
  const authorization: Record<string, string> = key === '' ? {} : { authorization: `Bearer ${key}` };
  return {
    accountId,
    key,
    rest: (method, path, body, headers) =>
      call(`${address}/v1${path}`, {
        method,
        headers: { ...authorization, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    graphql: (query, variables) =>
      call(`${address}/graphql`, {
        method: 'POST',
        headers: { ...authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ query, variables }),
      }),
  };
}

async function call(url: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(LONGEST_MS), ...init });
  const text = await response.text();
  const isText = response.headers.get('content-type')?.startsWith('text/') ?? false;
  const body = isText ? text : text === '' ? null : JSON.parse(text);
  return { status: response.status, headers: response.headers, body };
}
