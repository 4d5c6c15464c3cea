import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect as connectSocket, type Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { whileBusy } from '../../support/busy.js';
import { client } from '../../support/gateway.js';
import {
  cleanUp,
  connect,
  count,
  embeddedUrl,
  folder,
  type GatewayProcess,
  MAIN,
  query,
  run,
  serverOf,
  startProcess,
} from '../../support/process.js';
import { needs } from '../../support/tools.js';

/** Log lines of requests are buffered for a second. The rest is slack for a busy machine. */
const FLUSHED = { timeout: 30_000 };

afterAll(cleanUp);

/** Expects that PostgreSQL has logged a clean shutdown and that no server remains. */
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

describe('a gateway on a data folder', () => {
  const dataDir = join(folder(), 'made/by/the/gateway');
  const env = { DATA_DIR: dataDir };
  let gateway: GatewayProcess;
  let key: string;

  /** The output of the first start. */
  let first: string;

  it('leaves no server running and loses no key if stopped while starting', async () => {
    const interrupted = run([MAIN], env);
    await interrupted.says(/applied database migrations/);
    interrupted.signal('SIGTERM');
    const { code, stdout } = await interrupted.ended;
    expect(code).toBe(0);
    await expectServerStopped(dataDir);
    first = stdout;
    [, key] = /^ +(gpu_live_[0-9a-f]{40})$/m.exec(first) as unknown as [string, string];
  });

  it('keeps everything for its second start, which doesn’t print the key', async () => {
    gateway = await startProcess(env);
    console.info(`Existing data folder: first answer after ${Math.round(gateway.firstAnswerMs)} ms`);
    expect(gateway.stdout()).not.toContain('gpu_live_');
    expect((await client(gateway.address, key).rest('GET', '/balance')).body.balance).toBe(100);
    expect(await count(await embeddedUrl(dataDir), 'account')).toBe(1);
    expect(await count(await embeddedUrl(dataDir), 'api_key')).toBe(1);
    expect(gateway.log().map(({ msg }) => msg)).not.toContain('applied database migrations');
  });

  it('prints URLs that respond', async () => {
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

  it('listens only on this host', () => {
    expect(new URL(gateway.address).hostname).toBe('127.0.0.1');
  });

  it('shows the demo key once on stdout', () => {
    expect(key).toMatch(/^gpu_live_[0-9a-f]{40}$/);
    // The key is shown on its own and within the line to paste.
    expect(first.split(key)).toHaveLength(3);
  });

  it('prints a curl line that works when pasted', needs('curl'), async () => {
    const line = first.match(/^ +(curl .*)$/m)![1]!.replace(/http:\S+(?=\/v1)/, gateway.address);
    const { stdout } = await promisify(execFile)('sh', ['-c', `${line} --silent --show-error`]);
    expect(JSON.parse(stdout)).toEqual({ object: 'balance', currency: 'USD', balance: 100, month_spend: 0 });
  });

  it('has the catalogue, machines and a demo account with 100 USD', async () => {
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

  it('reports that it is alive and ready', async () => {
    const [alive, ready] = await Promise.all(['healthz', 'readyz'].map((path) => fetch(`${gateway.address}/${path}`)));
    expect([alive!.status, await alive!.json()]).toEqual([200, { status: 'ok' }]);
    expect([ready!.status, await ready!.json()]).toEqual([200, { status: 'ready', database: 'ok' }]);
  });

  it('logs each request as a JSON line with the id from the response', async () => {
    const answer = await fetch(`${gateway.address}/v1/instances/i-00000000?x=1`, { headers: bearer(key) });
    await expect.poll(() => gateway.stderr(), FLUSHED).toContain(answer.headers.get('x-request-id'));
    const lines = gateway.log();
    for (const { level, time, msg } of lines) {
      expect([typeof level, typeof time, typeof msg]).toEqual(['number', 'number', 'string']);
    }
    expect(lines.find(({ id }) => id === answer.headers.get('x-request-id'))).toMatchObject({
      method: 'GET',
      route: '/v1/instances/{id}',
      status: 422,
    });
    expect(new Set(lines.flatMap(({ id }) => id ?? [])).size).toBe(lines.filter(({ id }) => id).length);
  });

  it('keeps keys out of the log, regardless of where a caller puts them', async () => {
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
    // The secret part must not appear in another spelling either.
    expect(gateway.stderr()).not.toContain(key.slice('gpu_live_'.length));
    expect(gateway.stderr()).not.toContain(mistaken);
  });

  it('shuts down cleanly, and stops PostgreSQL only after in-flight requests', async () => {
    // A deploy waits for its account while the process is being stopped.
    const lock = await hold(await embeddedUrl(dataDir), 'select 1 from account for update');
    const rented = rentCheapest(gateway.address, key);
    await lock.isWaitedFor();
    const ended = gateway.end();
    await gateway.says(/"signal":"SIGTERM"/);
    const [ready, alive] = await Promise.all(['readyz', 'healthz'].map((path) => fetch(`${gateway.address}/${path}`)));
    expect([ready!.status, alive!.status]).toEqual([503, 200]);
    const isRefused = () => fetch(`${gateway.address}/healthz`).catch(() => 'refused');
    await expect.poll(isRefused, { timeout: 3_500 }).toBe('refused');
    await lock.release();
    expect(await rented).toMatch(/^i-/);
    const { code, endedMs } = await ended;
    expect(code).toBe(0);
    // The shutdown uses up neither the time limit for in-flight requests nor that for idle connections.
    expect(endedMs).toBeLessThan(whileBusy(4_000));
    await expectServerStopped(dataDir);
    gateway = await startProcess(env);
    expect(await count(await embeddedUrl(dataDir), 'instance')).toBe(1);
  });

  it('recovers from a SIGKILL by using the server left running', async () => {
    const id = await rentCheapest(gateway.address, key);
    const left = await serverOf(dataDir);
    await gateway.kill();
    expect((await serverOf(dataDir))?.pid).toBe(left!.pid);
    gateway = await startProcess(env);
    expect((await serverOf(dataDir))?.pid).toBe(left!.pid);
    expect((await client(gateway.address, key).rest('GET', `/instances/${id}`)).body.status).toBe('running');
  });

  it('recovers from a SIGKILL of both processes without losing acknowledged writes', async () => {
    const id = await rentCheapest(gateway.address, key);
    process.kill((await serverOf(dataDir))!.pid, 'SIGKILL');
    await gateway.kill();
    gateway = await startProcess(env);
    expect((await client(gateway.address, key).rest('GET', `/instances/${id}`)).body.status).toBe('running');
  });

  it('exits despite a waiting query, an endless request and a silent client', async () => {
    // The sweep waits for this lock too.
    const lock = await hold(await embeddedUrl(dataDir), 'lock table account in access exclusive mode');
    const rented = rentCheapest(gateway.address, key).catch(() => 'cut');
    const half = await halfSent(gateway.address);
    await lock.isWaitedFor();
    // It exits with 1 if it exceeds its time limit.
    const { code } = await gateway.end();
    expect(await rented).toBe('cut');
    expect(code).toBe(0);
    await expectServerStopped(dataDir);
    half.destroy();
  });

  it('shuts down cleanly on Ctrl-C in a terminal', needs('script'), async () => {
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

/** Executes a statement in a transaction that stays open, so that others wait for its locks. */
async function hold(url: string, statement: string) {
  const holder = await connect(url);
  await holder.query('begin');
  await holder.query(statement);
  return {
    isWaitedFor: () =>
      expect
        .poll(() => count(url, "pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"), {
          timeout: 30_000,
          interval: 200,
        })
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
