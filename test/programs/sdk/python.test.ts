import { type ExecFileException, execFile, execFileSync } from 'node:child_process';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { createApiKeyOnce } from '../../../src/domain/accounts/api-keys.js';
import { UNRESTRICTED } from '../../../src/domain/accounts/rules/key-restrictions.js';
import { STATUS_OF } from '../../../src/domain/kernel/errors.js';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { startGateway, type TestGateway } from '../../support/gateway.js';
import { needsThat } from '../../support/tools.js';

const SDK = join(PACKAGE_ROOT, 'sdk/python');
const OLDEST = [3, 9] as const;
const LIMIT = 2;
const MAX_RUN_MS = 300_000;

const python = findPython();

test('the Python SDK passes its tests against a real gateway', {
  timeout: MAX_RUN_MS + 20_000,
  ...needsThat(python !== null, 'Python 3.9', 'python3-venv, or PYTHON'),
}, async () => {
  const gateway = await startGateway({ secretsKeys: ['5'.repeat(64)] });
  const limited = await startGateway({ rateLimitPerMinute: LIMIT, databaseUrl: gateway.databaseUrl });
  const control = await openControl(gateway);
  const { failed, output } = await unittest({
    GATEWAY_URL: `${gateway.address}/v1`,
    LIMITED_URL: `${limited.address}/v1`,
    CONTROL_URL: control.address,
  });
  control.close();
  await limited.close();
  await gateway.close();
  if (failed) console.error(output);
  expect(failed, 'the Python tests failed: their output is above').toBe(false);
  // The exit code alone proves nothing, since a run without tests or a gateway succeeds as well.
  expect(Number(/^Ran (\d+) tests/m.exec(output)?.[1])).toBeGreaterThan(50);
  expect(output).not.toMatch(/needs a gateway|ResourceWarning/);
});

/** Returns a sufficiently new Python: the one named by PYTHON, otherwise python3. */
function findPython(): string | null {
  for (const name of [process.env.PYTHON, 'python3', 'python']) {
    if (name === undefined || name === '') continue;
    try {
      const script = 'import sys; print(*sys.version_info[:2])';
      const version = execFileSync(name, ['-c', script], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
      const [major = 0, minor = 0] = version.trim().split(' ').map(Number);
      if (major === OLDEST[0] && minor >= OLDEST[1]) return name;
    } catch {}
  }
  return null;
}

/** Runs a program asynchronously, because execFileSync would block the gateway in this process. */
function unittest(env: Record<string, string>): Promise<{ failed: boolean; output: string }> {
  const args = ['-B', '-X', 'dev', '-W', 'error', '-m', 'unittest', 'discover', '-v', '-s', 'tests', '-t', '.'];
  const options = { cwd: SDK, env: { ...process.env, ...env }, timeout: MAX_RUN_MS, maxBuffer: 2 ** 24 };
  return new Promise((resolve) => {
    execFile(python!, args, options, (error: ExecFileException | null, stdout, stderr) => {
      const killed = error?.killed ? `\nended after ${MAX_RUN_MS} ms` : '';
      resolve({ failed: error !== null, output: stdout + stderr + killed });
    });
  });
}

/** Serves operations that the Python tests need but that the service's API doesn't offer. */
async function openControl(gateway: TestGateway): Promise<{ address: string; close(): void }> {
  const orders = ordersOf(gateway);
  const server = createServer(async (request, response) => {
    const order = orders[request.url!.slice(1)];
    try {
      const done = await order!(await bodyOf(request));
      response.end(JSON.stringify(done ?? {}));
    } catch (error) {
      response.writeHead(500).end(JSON.stringify({ error: String(error) }));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { address: `http://127.0.0.1:${port}`, close: () => server.close() };
}

// biome-ignore lint/suspicious/noExplicitAny: each order knows its argument
type Orders = Record<string, (given: any) => unknown>;

function ordersOf(gateway: TestGateway): Orders {
  const database = new URL(gateway.databaseUrl).pathname.slice(1);
  const { pool } = gateway.deps.db;
  const allow = (yes: boolean) => onServer(`alter database ${database} with allow_connections ${yes}`);
  return {
    renter: async ({ credit }) => {
      const { key, accountId } = await gateway.renter(credit);
      return { key, account_id: accountId };
    },
    /** Creates a read-only key. */
    reader: async ({ account_id: accountId }) => {
      const creator = { accountId, ...UNRESTRICTED };
      return { key: (await createApiKeyOnce(gateway.deps, creator, { scopes: ['read'] })).secret };
    },
    advance: ({ seconds }) => gateway.clock.advance(seconds),
    codes: () => ({ codes: Object.keys(STATUS_OF) }),
    break: async () => void (await pool.query('alter table instance rename to elsewhere')),
    mend: async () => void (await pool.query('alter table elsewhere rename to instance')),
    /** Simulates an earlier request with this key that is in progress. */
    hold: async ({ account_id, key, seconds }) => {
      const client = new pg.Client({ connectionString: gateway.databaseUrl });
      client.on('error', () => {});
      await client.connect();
      await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [`${account_id} ${key}`]);
      void sleep(seconds * 1000).then(() => client.end());
    },
    away: async ({ seconds }) => {
      await allow(false);
      await onServer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`);
      if (seconds !== undefined) void sleep(seconds * 1000).then(() => allow(true));
    },
    back: () => allow(true),
  };
}

async function onServer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('serverUrl') });
  await client.connect();
  await client.query(sql);
  await client.end();
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return JSON.parse(text);
}
