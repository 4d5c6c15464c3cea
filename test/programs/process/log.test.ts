import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../support/database.js';
import { FullPipe } from '../../support/full-pipe.js';
import { client } from '../../support/gateway.js';
import { adminJson } from '../../support/operator.js';
import { cleanUp, type Env, type GatewayProcess, type LogLine, query, startProcess } from '../../support/process.js';

/** Buffered lines are written after a second. The rest is slack for a busy machine. */
const FLUSHED = { timeout: 30_000, interval: 50 };

let env: Env;
let account: string;
let key: string;
let gateway: GatewayProcess;

beforeAll(async () => {
  env = { DATABASE_URL: await createTestDatabase() };
  account = (await adminJson(['account', 'create', '--name', 'Renter', '--credit', '10'], env)).id;
  key = (await adminJson(['key', 'create', '--account', account], env)).api_key;
  gateway = await startProcess(env);
});
afterAll(cleanUp);

const idOf = ({ headers }: { headers: Headers }) => headers.get('x-request-id')!;
const linesOf = (process: GatewayProcess, id: string) => process.log().filter((line) => line.id === id);

/** Resolves to the only line of a request once it is written. */
async function lineOf(answer: { headers: Headers }): Promise<LogLine> {
  await expect.poll(() => linesOf(gateway, idOf(answer)).length, FLUSHED).toBe(1);
  return linesOf(gateway, idOf(answer))[0]!;
}

/** Returns the text, and its percent-encoded forms that a client may send. */
const formsOf = (secret: string) => [
  secret,
  secret.replaceAll('_', '%5F'),
  secret.replaceAll('_', '%255f'),
  Array.from(Buffer.from(secret), (byte) => `%${byte.toString(16)}`).join(''),
];
const digits = () => key.slice('gpu_live_'.length);
const plain = (text: string) =>
  text.replace(/%(?:25)*([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)));

describe('a request’s log line', () => {
  it('has the fields an operator needs', async () => {
    const answer = await client(gateway.address, key).rest('GET', '/balance');
    const line = await lineOf(answer);
    expect(line).toEqual({
      level: 30,
      time: expect.any(Number),
      pid: gateway.pid,
      hostname: expect.any(String),
      id: idOf(answer),
      method: 'GET',
      route: '/v1/balance',
      status: 200,
      ms: expect.any(Number),
      bytes: expect.any(Number),
      account,
      operation: null,
      address: '127.0.0.1',
      msg: 'request',
    });
    expect(JSON.stringify(line.ms)).toMatch(/\.\d/);
    const length = Number(answer.headers.get('content-length'));
    expect(line.bytes).toBeGreaterThan(length);
    expect(line.bytes).toBeLessThan(length + 1_000);
  });

  it('names the route template, even for a cached response, or `unknown`', async () => {
    const routes = [
      ['/v1/gpus/pricing', '/v1/gpus/pricing'],
      ['/v1/offers?gpu=l4', '/v1/offers'],
      ['/v1/instances/i-00000000', '/v1/instances/{id}'],
      ['/v1/instances/%E0%A4%A', '/v1/instances/{id}'],
      ['/healthz', '/healthz'],
      ['/graphql?query={__typename}', '/graphql'],
      ['/graphql/x', 'unknown'],
      ['/v1/nowhere', 'unknown'],
      ['/../etc/passwd', 'unknown'],
    ] as const;
    const answers: [Response, string][] = [];
    for (const [path, route] of [...routes, ...routes]) answers.push([await fetch(gateway.address + path), route]);
    for (const [answer, route] of answers) expect((await lineOf(answer)).route).toBe(route);
  });

  it('names the executed operation but contains no other caller input', async () => {
    const operationOf = async (query: string, operationName?: string, times = 1) => {
      const body = JSON.stringify({ query, operationName });
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
      let answer: Response;
      for (let time = 0; time < times; time += 1) answer = await fetch(`${gateway.address}/graphql`, init);
      return (await lineOf(answer!)).operation;
    };
    expect(await operationOf('query Regions { regions { code } }', undefined, 4)).toBe('Regions');
    expect(await operationOf('query A { regions { code } } query B { templates { slug } }', 'B')).toBe('B');
    expect(await operationOf('{ regions { code } }')).toBeNull();
    expect(await operationOf('query A { nothing }', 'A')).toBeNull();
    expect(await operationOf('query A { regions { code } }', 'line\nbreak')).toBeNull();
    expect(await operationOf(`query ${'N'.repeat(1_000)} { regions { code } }`)).toBe('N'.repeat(64));
    expect(await operationOf(`query x_${key} { regions { code } }`)).toBeNull();
  });

  it('counts each response on a connection separately', async () => {
    const { hostname, port } = new URL(gateway.address);
    const socket = connect(Number(port), hostname);
    let received = '';
    socket.setEncoding('latin1').on('data', (text) => {
      received += text;
    });
    const ask = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
    socket.write(ask('/healthz') + ask('/v1/gpus/pricing') + ask('/v1/nowhere', 'Connection: close\r\n'));
    await once(socket, 'close');
    const ids = [...received.matchAll(/x-request-id: (\w+)/gi)].map(([, id]) => id!);
    const lengths = received.split(/(?=HTTP\/1\.1 \d{3})/).map((text) => text.length);
    await expect.poll(() => ids.map((id) => linesOf(gateway, id)[0]?.bytes), FLUSHED).toEqual(lengths);
  });

  it('is written once for an aborted request, without a status', async () => {
    const { hostname, port } = new URL(gateway.address);
    const aborted = () => gateway.log().filter((line) => line.aborted);
    const before = aborted().length;
    for (const path of ['/graphql', '/v1/instances']) {
      const socket = connect(Number(port), hostname);
      const headers = `Host: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n`;
      socket.write(`POST ${path} HTTP/1.1\r\n${headers}\r\n{`);
      // Waits until the head has been read, which precedes a response on another connection.
      await fetch(`${gateway.address}/healthz`);
      socket.resetAndDestroy();
    }
    await expect.poll(() => aborted().length - before, FLUSHED).toBe(2);
    const lines = aborted().slice(before);
    expect(lines.map(({ route, status, bytes }) => [route, status, bytes]).sort()).toEqual([
      ['/graphql', null, 0],
      ['/v1/instances', null, 0],
    ]);
    expect(new Set(gateway.log().flatMap(({ id }) => id ?? [])).size).toBe(gateway.log().filter(({ id }) => id).length);
  });
});

describe('an API key appears in no log line', () => {
  it('even if it is pasted into any part of a URL, plain or encoded', async () => {
    const templates = ['/v1/instances/{id}', '/v1/instances/{id}/actions', '/v1/offers', '/graphql', 'unknown'];
    const paths = ['/KEY', '/v1/KEY', '/v1/instances/KEY', '/v1/instances/KEY/actions', '/v1/instances/KEY%E0%A4%A'];
    const queries = ['/v1/offers?gpu=KEY', '/v1/offers?KEY', '/graphql?query={KEY}'];
    const ids: string[] = [];
    for (const form of formsOf(key)) {
      for (const place of [...paths, ...queries, '/graphql/KEY', '/agent/v1/KEY']) {
        for (const method of ['GET', 'POST', 'DELETE']) {
          const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
          const body = method === 'POST' ? { body: '{}' } : {};
          const answer = await fetch(gateway.address + place.replace('KEY', form), { method, headers, ...body });
          ids.push(idOf(answer));
        }
      }
    }
    const written = () => gateway.log().filter(({ id }) => id !== undefined && ids.includes(id));
    await expect.poll(() => written().length, FLUSHED).toBe(ids.length);
    for (const { route } of written()) expect(templates).toContain(route);
    expect(plain(gateway.stderr())).not.toContain(digits());
  });

  it('even if an internal gateway error quotes the caller’s input', async () => {
    const before = gateway.stderr().length;
    await query(env.DATABASE_URL!, 'alter table ledger_entry rename to mislaid');
    const renter = client(gateway.address, key);
    const answer = await renter.graphql(`{ ${key}: statement(from: "2026-01-01T00:00:00Z") { closingBalance } }`);
    await query(env.DATABASE_URL!, 'alter table mislaid rename to ledger_entry');
    expect(answer.body.errors[0].extensions.code).toBe('internal');
    await lineOf(answer);
    expect(gateway.stderr().slice(before)).toContain('unexpected error in a resolver');
    expect(gateway.stderr()).not.toContain(digits());
  });
});

it('an unread log blocks neither requests nor the shutdown, and stays readable', async () => {
  const pipe = new FullPipe();
  const stalled = await startProcess(env, { stderr: pipe.fd });
  for (let time = 0; time < 20; time += 1) expect((await fetch(`${stalled.address}/readyz`)).status).toBe(200);
  await expect.poll(() => pipe.read(), FLUSHED).toMatch(/"msg":"listening"[\s\S]*"route":"\/readyz"/);
  pipe.fill();
  // It exits with 1 if it exceeds its time limit.
  expect((await stalled.end()).code).toBe(0);
  pipe.close();
});

describe('buffered lines are written', () => {
  it('when the process shuts down, including the last request’s line', async () => {
    const ids: string[] = [];
    const ask = async () => {
      const answer = await fetch(`${gateway.address}/healthz`).catch(() => null);
      if (answer !== null) ids.push(idOf(answer));
      return answer;
    };
    await ask();
    const ended = gateway.end();
    while ((await ask()) !== null);
    expect((await ended).code).toBe(0);
    expect(ids.length).toBeGreaterThan(10);
    expect(ids.filter((id) => linesOf(gateway, id).length !== 1)).toEqual([]);
  });

  it.each([
    ['uncaught exception', 'throw error'],
    ['unhandled rejection', 'void Promise.reject(error)'],
  ])('when the process crashes on an %s, with its keys hidden', async (_name, crash) => {
    const secrets = ['gpu_live_', 'gpu_host_', 'gpu_join_'].flatMap((prefix) => formsOf(prefix + digits()));
    const message = `no ${secrets.join(', ')}: gone`;
    // The error occurs in the running gateway, outside of any request.
    const script = `process.on("SIGUSR2",()=>{const error=new Error(${JSON.stringify(message)});${crash}})`;
    const nodeOptions = ['--import', `data:text/javascript,${encodeURIComponent(script)}`];
    const doomed = await startProcess(env, { nodeOptions });
    const answer = await fetch(`${doomed.address}/healthz`);
    doomed.signal('SIGUSR2');
    expect((await doomed.ended).code).toBe(1);
    expect(linesOf(doomed, idOf(answer))).toHaveLength(1);
    const hidden = `no ${secrets.map(() => '[secret]').join(', ')}: gone`;
    expect(doomed.log().at(-1)).toMatchObject({ level: 60, msg: 'crashed', err: { message: hidden } });
    expect(plain(doomed.stderr())).not.toContain(digits());
  });
});
