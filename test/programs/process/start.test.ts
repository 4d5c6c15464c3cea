import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect as connectSocket, type Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { whileBusy } from '../../support/busy.js';
import { createEmptyDatabase, createTestDatabase } from '../../support/database.js';
import { client } from '../../support/gateway.js';
import { adminJson } from '../../support/operator.js';
import {
  cleanUp,
  connect,
  count,
  type Env,
  embeddedUrl,
  folder,
  type GatewayProcess,
  MAIN,
  query,
  run,
  serverOf,
  startProcess,
} from '../../support/process.js';
import { needs, needsRoot, needsThat } from '../../support/tools.js';

/** What the issue asks on an idle machine; what is asserted leaves room for a busy one. */
const FIRST_ANSWER = { onNewFolder: { goalMs: 10_000, limitMs: 25_000 }, again: { goalMs: 3_000, limitMs: 15_000 } };
/** Lines of requests are buffered for a second at most. */
const FLUSHED = { timeout: 3_000 };
const ENDS_WITHIN_MS = 10_000;
const ORDINARY_USER = 65534;
const AS_ORDINARY_USER = ['setpriv', `--reuid=${ORDINARY_USER}`, `--regid=${ORDINARY_USER}`, '--clear-groups'];

afterAll(cleanUp);

function works(file: string, ...args: string[]): boolean {
  try {
    execFileSync(file, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function report(what: string, tookMs: number, { goalMs, limitMs }: { goalMs: number; limitMs: number }): void {
  console.info(`${what}: first answer after ${Math.round(tookMs)} ms (goal: ${goalMs} ms on an idle machine)`);
  expect(tookMs).toBeLessThan(whileBusy(limitMs));
}

/** PostgreSQL's own word that it stopped in order, and no server left. */
async function expectServerStopped(dataDir: string): Promise<void> {
  expect(await serverOf(dataDir)).toBeUndefined();
  expect(existsSync(join(dataDir, 'postgres/postmaster.pid'))).toBe(false);
  expect(readFileSync(join(dataDir, 'postgres.log'), 'utf8')).toMatch(/database system is shut down\n$/);
}

async function rentCheapest(address: string, key: string): Promise<string> {
  const renter = client(address, key);
  const { body } = await renter.rest('GET', '/offers?limit=1');
  const deployed = await renter.rest('POST', '/instances', { machine_id: body.data[0].machine_id });
  expect(deployed.status).toBe(201);
  return deployed.body.id;
}

describe('on a data folder', () => {
  const dataDir = join(folder(), 'made/by/the/gateway');
  const env = { DATA_DIR: dataDir };
  let gateway: GatewayProcess;
  let key: string;

  beforeAll(async () => {
    gateway = await startProcess(env);
    key = gateway.demoKey!;
  });

  it('answers its first request soon', () => {
    report('New data folder', gateway.firstAnswerMs, FIRST_ANSWER.onNewFolder);
  });

  it('prints addresses that answer', async () => {
    const [, rest, description, graphql, graphiql] =
      /REST +(\S+) +\(description: (\S+)\)\n +GraphQL +(\S+)\n +GraphiQL +(\S+) in a browser\n/.exec(gateway.stdout())!;
    expect((await client(rest!.replace(/\/v1$/, '')).rest('GET', '/gpus/pricing')).body.object).toBe('gpu_pricing');
    expect(((await (await fetch(description!)).json()) as { openapi: string }).openapi).toMatch(/^3\.1/);
    expect(graphql).toBe(`${gateway.address}/graphql`);
    expect((await client(gateway.address).graphql('{ __typename }')).body).toEqual({ data: { __typename: 'Query' } });
    const page = await fetch(graphiql!, { headers: { accept: 'text/html' } });
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    expect(await page.text()).toMatch(/graphiql/i);
  });

  it('listens where only this host reaches it', () => {
    expect(new URL(gateway.address).hostname).toBe('127.0.0.1');
  });

  it('shows the demo key once on stdout', () => {
    expect(key).toMatch(/^gpu_live_[0-9a-f]{40}$/);
    // By itself, and within the line to paste.
    expect(gateway.stdout().split(key)).toHaveLength(3);
  });

  it('prints a curl line that works when pasted', needs('curl'), async () => {
    const line = gateway.stdout().match(/^ +(curl .*)$/m)![1]!;
    const { stdout } = await promisify(execFile)('sh', ['-c', `${line} --silent --show-error`]);
    expect(JSON.parse(stdout)).toEqual({ object: 'balance', currency: 'USD', balance: 100, month_spend: 0 });
  });

  it('has loaded the catalogue, machines and a demo account with 100 USD', async () => {
    const { body } = await client(gateway.address).rest('GET', '/gpus/pricing');
    expect(body).toMatchObject({ count: 83, market_snapshot: '2026-09-26' });
    expect(body.data).toHaveLength(83);
    const url = await embeddedUrl(dataDir);
    expect(await count(url, 'region')).toBe(32);
    expect(await count(url, 'market_snapshot')).toBe(1);
    const machines = await count(url, 'machine');
    expect(machines).toBeGreaterThan(1_400);
    expect(machines).toBeLessThan(1_600);
    const units = 100n * 1_000_000n * 3_600n;
    expect(await query(url, 'select demo, credit_units from account')).toEqual([
      { demo: true, credit_units: String(units) },
    ]);
  });

  it('is alive and ready', async () => {
    const [alive, ready] = await Promise.all(['healthz', 'readyz'].map((path) => fetch(`${gateway.address}/${path}`)));
    expect([alive!.status, await alive!.json()]).toEqual([200, { status: 'ok' }]);
    expect([ready!.status, await ready!.json()]).toEqual([200, { status: 'ready', database: 'ok' }]);
  });

  it('logs each request as a line of JSON that has the id of its answer', async () => {
    const answer = await fetch(`${gateway.address}/v1/instances/i-00000000?x=1`, { headers: bearer(key) });
    await expect.poll(() => gateway.stderr(), FLUSHED).toContain(answer.headers.get('x-request-id'));
    const lines = gateway.log();
    for (const { level, time, msg } of lines) {
      expect([typeof level, typeof time, typeof msg]).toEqual(['number', 'number', 'string']);
    }
    expect(lines.find(({ id }) => id === answer.headers.get('x-request-id'))).toMatchObject({
      method: 'GET',
      route: '/v1/instances/{id}',
      status: 404,
    });
    expect(new Set(lines.flatMap(({ id }) => id ?? [])).size).toBe(lines.filter(({ id }) => id).length);
  });

  it('keeps keys out of the log, wherever a caller puts them', async () => {
    const { address } = gateway;
    const mistaken = `gpu_live_${'ab'.repeat(20)}`;
    const post = { method: 'POST', headers: { 'content-type': 'application/json', ...bearer(key) } };
    const before = gateway.log().length;
    const answers = [
      await fetch(`${address}/v1/balance`, { headers: bearer(mistaken) }),
      await fetch(`${address}/v1/balance?api_key=${key}`, { headers: { 'x-api-key': key, cookie: `key=${key}` } }),
      await fetch(`${address}/v1/instances/${key}`, { headers: { ...bearer(key), referer: `http://x/${key}` } }),
      await fetch(`${address}/${key}`),
      await fetch(`${address}/v1/instances`, { ...post, body: `{"machine_id":"${key}"}` }),
      await fetch(`${address}/v1/instances`, { ...post, body: `${key} is not JSON` }),
      await fetch(`${address}/graphql`, {
        ...post,
        body: JSON.stringify({ query: `{ instance(id: "${key}") { id } }` }),
      }),
      await fetch(`${address}/graphql`, { ...post, body: JSON.stringify({ query: `{ ${key} }` }) }),
      await fetch(`${address}/v1/instances/${key.replace('gpu_live_', 'gpu%5Flive%5F')}`, { headers: bearer(key) }),
      await fetch(`${address}/v1/offers?gpu=${key}`),
      await fetch(`${address}/v1/offers?gpu=${key}`),
      await fetch(`${address}/graphql`, {
        ...post,
        body: JSON.stringify({ query: `query ${key} { __typename }`, operationName: key }),
      }),
    ];
    await expect.poll(() => gateway.log().length, FLUSHED).toBeGreaterThanOrEqual(before + answers.length);
    expect(gateway.stderr()).not.toContain(key);
    // Nor what is secret of it, in another spelling.
    expect(gateway.stderr()).not.toContain(key.slice('gpu_live_'.length));
    expect(gateway.stderr()).not.toContain(mistaken);
  });

  it('ends on SIGTERM: the process with 0, its PostgreSQL in order', async () => {
    const { code, endedMs } = await gateway.end();
    expect(code).toBe(0);
    expect(endedMs).toBeLessThan(ENDS_WITHIN_MS);
    await expectServerStopped(dataDir);
  });

  it('keeps everything for a second start, which prints no key', async () => {
    gateway = await startProcess(env);
    report('Existing data folder', gateway.firstAnswerMs, FIRST_ANSWER.again);
    expect(gateway.stdout()).not.toContain('gpu_live_');
    expect((await client(gateway.address, key).rest('GET', '/balance')).body.balance).toBe(100);
    expect(await count(await embeddedUrl(dataDir), 'account')).toBe(1);
    expect(await count(await embeddedUrl(dataDir), 'api_key')).toBe(1);
    expect(gateway.log().map(({ msg }) => msg)).not.toContain('database brought up to date');
  });

  it('goes on after a SIGKILL, on the server that it left', async () => {
    const id = await rentCheapest(gateway.address, key);
    const left = await serverOf(dataDir);
    await gateway.kill();
    expect((await serverOf(dataDir))?.pid).toBe(left!.pid);
    gateway = await startProcess(env);
    expect((await serverOf(dataDir))?.pid).toBe(left!.pid);
    expect((await client(gateway.address, key).rest('GET', `/instances/${id}`)).body.status).toBe('running');
  });

  it('goes on after a SIGKILL of both, without losing what was answered', async () => {
    const id = await rentCheapest(gateway.address, key);
    process.kill((await serverOf(dataDir))!.pid, 'SIGKILL');
    await gateway.kill();
    gateway = await startProcess(env);
    expect((await client(gateway.address, key).rest('GET', `/instances/${id}`)).body.status).toBe('running');
    expect((await gateway.end()).code).toBe(0);
    await expectServerStopped(dataDir);
  });

  it('is not kept from ending by a query that waits, a request without end and a client that stopped sending', async () => {
    gateway = await startProcess(env);
    // The sweep waits for it too.
    const lock = await hold(await embeddedUrl(dataDir), 'lock table account in access exclusive mode');
    const rented = rentCheapest(gateway.address, key).catch(() => 'cut');
    const half = await halfSent(gateway.address);
    await lock.isWaitedFor();
    const { code, endedMs } = await gateway.end();
    expect(await rented).toBe('cut');
    expect(code).toBe(0);
    expect(endedMs).toBeLessThan(ENDS_WITHIN_MS);
    await expectServerStopped(dataDir);
    half.destroy();
  });

  it('ends in order on Ctrl-C in a terminal', needs('script'), async () => {
    const shell = run([MAIN], env, { prefix: ['sh', '-c', `exec script -qec "exec '$0' '$1'" /dev/null`] });
    await shell.says(/"listening"/);
    shell.stdin.write('\x03');
    const { code } = await shell.ended;
    expect(shell.stdout()).toContain('"signal":"SIGINT"');
    expect(code).toBe(0);
    await expectServerStopped(dataDir);
  });
});

function bearer(key: string): { authorization: string } {
  return { authorization: `Bearer ${key}` };
}

describe('asked to end', () => {
  it('while it is still starting, leaves no server and loses no key', { timeout: 300_000 }, async () => {
    const dataDir = join(folder(), 'data');
    const interrupted = run([MAIN], { DATA_DIR: dataDir });
    await interrupted.says(/database brought up to date/);
    interrupted.signal('SIGTERM');
    const { code, stdout } = await interrupted.ended;
    expect(code).toBe(0);
    await expectServerStopped(dataDir);
    const next = await startProcess({ DATA_DIR: dataDir });
    const keys = [...(stdout + next.stdout()).matchAll(/^ +(gpu_live_[0-9a-f]{40})$/gm)].map(([, key]) => key!);
    expect(keys).toHaveLength(1);
    expect((await client(next.address, keys[0]!).rest('GET', '/balance')).status).toBe(200);
    await next.kill();
  });

  it('finishes a request in flight, refuses new ones, and then ends', async () => {
    const databaseUrl = await createTestDatabase();
    const { key, accountId } = await operatorsRenter(databaseUrl);
    const gateway = await startProcess({ DATABASE_URL: databaseUrl });
    const lock = await hold(databaseUrl, `select 1 from account where id = '${accountId}' for update`);
    const rented = rentCheapest(gateway.address, key);
    await lock.isWaitedFor();
    const ended = gateway.end();
    await gateway.says(/"signal":"SIGTERM"/);
    // It says no to readiness for a second before it turns requests away.
    const isRefused = () => fetch(`${gateway.address}/healthz`).catch(() => 'refused');
    await expect.poll(isRefused, { timeout: 3_500 }).toBe('refused');
    await lock.release();
    expect(await rented).toMatch(/^i-/);
    const { code, endedMs } = await ended;
    expect(code).toBe(0);
    // Neither the time it grants to requests nor that of a connection kept for the next one is sat out.
    expect(endedMs).toBeLessThan(4_000);
    expect(await count(databaseUrl, `instance where account_id = '${accountId}'`)).toBe(1);
  });
});

async function operatorsRenter(databaseUrl: string): Promise<{ accountId: string; key: string }> {
  const env = { DATABASE_URL: databaseUrl };
  const { id } = await adminJson(['account', 'create', '--name', 'Renter', '--credit', '100'], env);
  const { api_key } = await adminJson(['key', 'create', '--account', id], env);
  return { accountId: id, key: api_key };
}

/** Keeps others from what the statement locks. */
async function hold(url: string, statement: string) {
  const holder = await connect(url);
  await holder.query('begin');
  await holder.query(statement);
  return {
    isWaitedFor: () =>
      expect
        .poll(() => count(url, "pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"))
        .toBeGreaterThan(0),
    release: async () => {
      await holder.query('rollback');
      await holder.end();
    },
  };
}

async function halfSent(address: string): Promise<Socket> {
  const { hostname, port } = new URL(address);
  const socket = connectSocket(Number(port), hostname);
  await once(socket, 'connect');
  socket.on('error', () => {});
  socket.write('POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{');
  return socket;
}

describe('who starts it', () => {
  const root = needsRoot('setpriv');
  const isReadable = () => works(AS_ORDINARY_USER[0]!, ...AS_ORDINARY_USER.slice(1), 'test', '-r', MAIN);
  const user = root.skip ? root : needsThat(isReadable(), 'a readable checkout', 'a folder that others may enter');
  it('may be an ordinary user, below a folder only that user may enter', user, async () => {
    const home = folder();
    chmodSync(home, 0o700);
    chownSync(home, ORDINARY_USER, ORDINARY_USER);
    const dataDir = join(home, 'data');
    const gateway = await startProcess({ DATA_DIR: dataDir }, { prefix: AS_ORDINARY_USER, cwd: home });
    expect((await client(gateway.address, gateway.demoKey!).rest('GET', '/balance')).body.balance).toBe(100);
    expect(statSync(join(dataDir, 'postgres')).uid).toBe(ORDINARY_USER);
    expect((await gateway.end()).code).toBe(0);
    await expectServerStopped(dataDir);
  });
});

describe('the .env file', () => {
  it('of the working directory is read, and the environment goes before it', async () => {
    const cwd = folder();
    writeFileSync(join(cwd, '.env'), 'PORT=nonsense\nDATABASE_URL=mysql://x\nSEED=\n');
    const both = await run([MAIN], { PORT: '' }, { cwd }).ended;
    // PORT is set in the environment, to nothing.
    expect([both.code, both.stderr]).toEqual([1, `${REFUSED.databaseUrl}\n`]);
    const other = await run([MAIN], { DATABASE_URL: NOWHERE, PORT: 'x' }, { cwd }).ended;
    expect(other.stderr).toMatch(/^PORT must be [^\n]*\n$/);
  });

  it('is not passed over when it can’t be read', async () => {
    const cwd = folder();
    mkdirSync(join(cwd, '.env'));
    const { code, stderr } = await run([MAIN], {}, { cwd }).ended;
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^\.env can't be read: [^\n]*\n$/)]);
  });
});

const NOWHERE = 'postgresql://gateway:hunter2@127.0.0.1:1/gateway';
const REFUSED = {
  databaseUrl: 'DATABASE_URL must be an address such as postgresql://user:password@host:5432/database',
};

describe('what an operator can mend is one line', () => {
  /** The line, after an end with code 1 and nothing on stdout. */
  async function refusal(env: Env): Promise<string> {
    const { code, stdout, stderr } = await run([MAIN], { LOG_LEVEL: 'silent', ...env }).ended;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^[^\n]+\n$/);
    return stderr.trim();
  }

  it.each([
    [
      { DATABASE_URL: NOWHERE },
      /^DATABASE_URL names a database that can't be used: connect ECONNREFUSED 127\.0\.0\.1:1$/,
    ],
    // A name with two addresses, an IPv6 and an IPv4 one on most hosts.
    [{ DATABASE_URL: 'postgresql://localhost:1/x' }, /^DATABASE_URL names .*: connect ECONNREFUSED/],
    // Of which the driver warns at length.
    [{ DATABASE_URL: 'postgresql://127.0.0.1:1/x?sslmode=require' }, /^DATABASE_URL names .*: connect ECONNREFUSED/],
    [{ DATABASE_URL: 'postgresql://nowhere.invalid/x' }, /^DATABASE_URL names .*nowhere\.invalid$/],
    [{ DATABASE_URL: 'postgresql://a%zz@127.0.0.1:1/x' }, /^DATABASE_URL names a database that can't be used: .+/],
    [{ DATA_DIR: '/dev/null/data' }, /^The built-in PostgreSQL is not available: .*\/dev\/null\/data.*DATABASE_URL/],
    [{ SEED: 'everything' }, /^SEED must be demo, catalogue or none$/],
  ])('%o', async (env, expected) => {
    const line = await refusal(env);
    expect(line).toMatch(expected);
    expect(line).not.toContain('hunter2');
  });

  it('a database of wrong name or password', async () => {
    const wrong = new URL(await createEmptyDatabase());
    wrong.pathname = '/absent';
    expect(await refusal({ DATABASE_URL: wrong.href })).toMatch(/^DATABASE_URL names .*"absent" does not exist$/);
    wrong.password = 'hunter2';
    expect(await refusal({ DATABASE_URL: wrong.href })).toMatch(/^DATABASE_URL names .*authentication failed/);
  });

  it('a database that a newer version has migrated', async () => {
    const databaseUrl = await createTestDatabase();
    await query(
      databaseUrl,
      `insert into _prisma_migrations (id, checksum, migration_name, finished_at) values ('x', 'x', '99990101000000_x', now())`,
    );
    expect(await refusal({ DATABASE_URL: databaseUrl })).toMatch(/^DATABASE_URL .*newer than this version.*99990101/);
  });

  it('an address of no interface, and of no host', async () => {
    const databaseUrl = await createTestDatabase();
    expect(await refusal({ DATABASE_URL: databaseUrl, HOST: '203.0.113.5' })).toMatch(/^HOST can't be listened on: .+/);
    expect(await refusal({ DATABASE_URL: databaseUrl, HOST: 'a.invalid' })).toMatch(/^HOST can't be listened on: .+/);
  });

  it('a port that is taken, which leaves the demo key to the start that succeeds', async () => {
    const databaseUrl = await createEmptyDatabase();
    const env = { DATABASE_URL: databaseUrl, SEED: 'demo' };
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const port = String((other.address() as AddressInfo).port);
    for (const name of ['PORT', 'SSH_PORT', 'METRICS_PORT'])
      expect(await refusal({ ...env, [name]: port })).toMatch(new RegExp(`^${name} ${port} is taken.*set `));
    other.close();
    await once(other, 'close');
    const gateway = await startProcess({ ...env, PORT: port });
    expect(gateway.address).toBe(`http://127.0.0.1:${port}`);
    expect((await client(gateway.address, gateway.demoKey!).rest('GET', '/balance')).body.balance).toBe(100);
    await gateway.end();
  });
});

describe('readiness', () => {
  it('is lost while the database is away and comes back with it; the process stays alive', async () => {
    const databaseUrl = await createTestDatabase();
    const name = new URL(databaseUrl).pathname.slice(1);
    const gateway = await startProcess({ DATABASE_URL: databaseUrl, LOG_LEVEL: 'silent' });
    const status = async (path: string) => (await fetch(`${gateway.address}/${path}`)).status;
    const server = new URL(databaseUrl);
    server.pathname = '/postgres';
    await query(server.href, `alter database ${name} allow_connections false`);
    await query(server.href, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
    await expect.poll(() => status('readyz')).toBe(503);
    const away = await fetch(`${gateway.address}/readyz`);
    expect(await away.json()).toEqual({ status: 'not ready', database: 'away' });
    expect(await status('healthz')).toBe(200);
    const refused = await fetch(`${gateway.address}/v1/gpus/pricing`);
    expect([refused.status, refused.headers.has('retry-after')]).toEqual([503, true]);
    await query(server.href, `alter database ${name} allow_connections true`);
    await expect.poll(() => status('readyz')).toBe(200);
    expect((await gateway.end()).code).toBe(0);
  });
});
