import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.js';
import { client } from '../support/gateway.js';
import { adminJson, cleanUp, type Env, type GatewayProcess, type LogLine, startProcess } from '../support/process.js';

/** A buffered line is written after a second at most; the rest is for a busy machine. */
const FLUSHED = { timeout: 1_500, interval: 20 };
/** Throws in the running gateway, outside of any request. */
const CRASH = 'data:text/javascript,process.on("SIGUSR2",()=>{throw new Error("planted")})';
const REJECT = 'data:text/javascript,process.on("SIGUSR2",()=>void Promise.reject(new Error("planted")))';

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

/** The one line of a request, once it is written. */
async function lineOf(answer: { headers: Headers }): Promise<LogLine> {
  await expect.poll(() => linesOf(gateway, idOf(answer)).length, FLUSHED).toBe(1);
  return linesOf(gateway, idOf(answer))[0]!;
}

describe('the line of a request', () => {
  it('says what an operator looks for, within a second', async () => {
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

  it('names the route by its template, of a kept answer too, and an unknown one by one word', async () => {
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

  it('names the operation that ran, also of a kept answer, and nothing else that a caller writes', async () => {
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

  it('gives each answer of a connection its own bytes', async () => {
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

  it('is written once for a request that is given up, with no status', async () => {
    const { hostname, port } = new URL(gateway.address);
    const aborted = () => gateway.log().filter((line) => line.aborted);
    const before = aborted().length;
    for (const path of ['/graphql', '/v1/instances']) {
      const socket = connect(Number(port), hostname);
      const headers = `Host: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n`;
      socket.write(`POST ${path} HTTP/1.1\r\n${headers}\r\n{`);
      // Until the head has been read: an answer on another connection comes after it.
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

describe('what is buffered is written', () => {
  it('when the process is asked to end, up to the last request it answers', async () => {
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
    ['an exception', CRASH],
    ['a rejection', REJECT],
  ])('when the process crashes by %s that nobody catches, and so is its cause', async (_name, script) => {
    const doomed = await startProcess(env, { nodeOptions: ['--import', script] });
    const answer = await fetch(`${doomed.address}/healthz`);
    doomed.signal('SIGUSR2');
    expect((await doomed.ended).code).toBe(1);
    expect(linesOf(doomed, idOf(answer))).toHaveLength(1);
    expect(doomed.log().at(-1)).toMatchObject({ level: 60, msg: 'crashed', err: { message: 'planted' } });
  });
});
