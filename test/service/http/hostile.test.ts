import type { RequestListener } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/compose/config.js';
import { openGateway } from '../../../src/compose/gateway.js';
import { revokeApiKey } from '../../../src/domain/accounts/api-keys.js';
import type { UnsentLimits } from '../../../src/http/connections.js';
import { createMessages } from '../../../src/http/messages.js';
import { createMemoryBuckets } from '../../../src/http/rate-limit/memory-buckets.js';
import { createRateLimiter } from '../../../src/http/rate-limit/rate-limit.js';
import { createHttpServer } from '../../../src/http/server.js';
import { TestClock } from '../../support/clock.js';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';
import { send, type WireAnswer } from '../../support/wire.js';

let service: Service;
let renter: Renter;
let machine: string;
let auth: string;
/** The response to a head that never ends. The request is sent first, since it takes a long time. */
let slowHead: Promise<WireAnswer>;

beforeAll(async () => {
  service = await startService();
  renter = await service.renter();
  machine = await service.machine();
  auth = `Authorization: Bearer ${renter.key}\r\n`;
  slowHead = send(service.address, 'GET /v1/balance HTTP/1.1\r\nHost: x\r\nX-Slow: ', 60_000);
});
afterAll(() => service.close());

const HOST = 'Host: gateway.test\r\n';
const JSON_TYPE = { 'content-type': 'application/json' };
const CLOSE = 'Connection: close\r\n';

/** Returns the account's row counts, which no rejected request may change. */
async function holdings(): Promise<unknown> {
  const count = async (table: string) =>
    (await service.sql(`select count(*)::int as n from ${table} where account_id = $1`, [renter.accountId]))[0];
  return Promise.all(['instance', 'ledger_entry', 'api_key', 'idempotency_key'].map(count));
}

function expectEnvelope({ status, headers, body }: WireAnswer, expected: number, code: string): void {
  expect({ status, code: body?.error?.code }).toEqual({ status: expected, code });
  expect(Object.keys(body)).toEqual(['error']);
  expect(Object.keys(body.error)).toEqual(['code', 'message']);
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/);
}

/** Sends a deploy whose body stops halfway. Resolves to a function that sends the rest and returns the status. */
async function haltedDeploy(key: string): Promise<() => Promise<string>> {
  const { hostname, port } = new URL(service.address);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const body = JSON.stringify({ machine_id: machine });
  const head = `POST /v1/instances HTTP/1.1\r\n${HOST}Authorization: Bearer ${key}\r\n${CLOSE}Content-Length: ${body.length}`;
  socket.write(`${head}\r\n\r\n${body.slice(0, 5)}`);
  // The key is accepted when the head has arrived.
  await sleep(200);
  return async () => {
    socket.write(body.slice(5));
    await closed;
    return Buffer.concat(chunks).toString().slice(0, 'HTTP/1.1 401'.length);
  };
}

it('a deploy whose key is revoked while the body arrives is refused', async () => {
  const other = await service.renter();
  const finish = await haltedDeploy(other.key);
  const [{ id }] = (await service.sql('select id from api_key where account_id = $1', [other.accountId])) as [
    { id: string },
  ];
  await revokeApiKey(service.deps, other.accountId, id);
  expect(await finish()).toBe('HTTP/1.1 401');
  expect(await service.sql('select id from instance where account_id = $1', [other.accountId])).toEqual([]);
});

async function post(path: string, body: RequestInit['body'], headers: Record<string, string> = JSON_TYPE) {
  const request = {
    method: 'POST',
    headers: { authorization: `Bearer ${renter.key}`, ...headers },
    body: body ?? null,
  };
  const answer = await fetch(service.address + path, request);
  return { status: answer.status, headers: answer.headers, body: JSON.parse(await answer.text()) };
}

describe('an invalid HTTP request', () => {
  const chunked = () => `${HOST}${auth}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n`;

  it.each<[string, () => string | Buffer]>([
    ['garbage', () => 'hello\r\n\r\n'],
    ['a TLS greeting', () => Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3])],
    ['an unknown method', () => `BREW /v1/balance HTTP/1.1\r\n${HOST}\r\n`],
    ['an unknown version', () => `GET /v1/balance HTTP/9.9\r\n${HOST}\r\n`],
    ['raw bytes in an address', () => Buffer.from(`GET /v1/instances/\xe9\xff HTTP/1.1\r\n${HOST}\r\n`, 'latin1')],
    ['a NUL in a header', () => `GET /v1/balance HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`],
    ['a header without a name', () => `GET /v1/balance HTTP/1.1\r\n${HOST}: b\r\n\r\n`],
    ['a missing Host', () => `GET /v1/balance HTTP/1.1\r\n${auth}\r\n`],
    ['a malformed Host', () => `POST /graphql HTTP/1.1\r\nHost: [[]]%%\r\n${auth}Content-Length: 0\r\n\r\n`],
    ['two Host headers', () => `GET /v1/balance HTTP/1.1\r\n${HOST}${HOST}${auth}\r\n`],
    ['two API keys', () => `GET /v1/balance HTTP/1.1\r\n${HOST}${auth}authorization: Bearer x\r\n\r\n`],
    [
      'two Content-Length headers',
      () => `POST /v1/instances HTTP/1.1\r\n${HOST}${auth}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
    ],
    ['a length and chunks', () => `POST /v1/instances HTTP/1.1\r\n${chunked()}Content-Length: 4\r\n\r\n0\r\n\r\n`],
    ['a negative length', () => `POST /v1/instances HTTP/1.1\r\n${HOST}${auth}Content-Length: -1\r\n\r\n{}`],
    ['malformed chunks', () => `POST /v1/instances HTTP/1.1\r\n${chunked()}\r\nzz\r\n{}\r\n0\r\n\r\n`],
    [
      'a body that turns into garbage',
      () => `POST /v1/instances HTTP/1.1\r\n${chunked()}\r\n5\r\n{"mac\r\nnonsense\r\n0\r\n\r\n`,
    ],
    ['such a body at /graphql', () => `POST /graphql HTTP/1.1\r\n${chunked()}\r\n5\r\n{"que\r\nnonsense\r\n0\r\n\r\n`],
  ])('gets a 400 and ends the connection: %s', async (_name, bytes) => {
    const before = await holdings();
    const answer = await send(service.address, bytes());
    expectEnvelope(answer, 400, 'invalid_request');
    expect(answer.headers.get('connection')).toBe('close');
    expect(answer.elapsedMs).toBeLessThan(2_000);
    expect(await holdings()).toEqual(before);
  });

  it("doesn't affect the responses to complete requests before it", async () => {
    const body = JSON.stringify({ machine_id: await service.machine() });
    const requests = [
      `GET /healthz HTTP/1.1\r\n${HOST}\r\n`,
      `POST /v1/instances HTTP/1.1\r\n${HOST}${auth}Content-Length: ${body.length}\r\n\r\n${body}`,
    ];
    const { text } = await send(service.address, `${requests.join('')}garbage\r\n\r\n`);
    expect([...text.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '201', '400']);
  });

  it('gets a 431 if its URL and headers exceed 16 kB, and otherwise a 404', async () => {
    const long = 'a'.repeat(17_000);
    for (const head of [`GET /v1/${long} HTTP/1.1\r\n${HOST}`, `GET /v1/balance HTTP/1.1\r\n${HOST}X: ${long}\r\n`]) {
      expectEnvelope(await send(service.address, `${head}\r\n`), 431, 'payload_too_large');
    }
    const address = `/v1/${'a'.repeat(15_000)}`;
    expectEnvelope(await send(service.address, `GET ${address} HTTP/1.1\r\n${HOST}${CLOSE}\r\n`), 404, 'no_route');
  });

  it('gets a 413 for endless chunk extensions', async () => {
    const head = `POST /v1/instances HTTP/1.1\r\n${chunked()}\r\n2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`;
    expectEnvelope(await send(service.address, head), 413, 'payload_too_large');
  });

  it('gets a 417 for an unknown expectation', async () => {
    const head = `POST /v1/instances HTTP/1.1\r\n${HOST}${auth}${CLOSE}Expect: lunch\r\nContent-Length: 2\r\n\r\n{}`;
    expectEnvelope(await send(service.address, head), 417, 'invalid_request');
  });
});

describe('an unusual but valid HTTP request', () => {
  it.each([
    ['HTTP/1.0 without Host', 'GET /v1/balance HTTP/1.0\r\n'],
    ['an address with its origin', `GET http://elsewhere.test/v1/balance HTTP/1.1\r\n${HOST}`],
    ['a request to upgrade the protocol', `GET /v1/balance HTTP/1.1\r\n${HOST}Upgrade: h2c\r\n`],
  ])('is accepted: %s', async (_name, head) => {
    const { status, body } = await send(service.address, `${head}${auth}${CLOSE}\r\n`);
    expect([status, body.object]).toEqual([200, 'balance']);
  });

  it('is also accepted at /graphql', async () => {
    const query = '/graphql?query=%7Bbalance%7Bcurrency%7D%7D';
    const head = `GET http://elsewhere.test${query} HTTP/1.1\r\n${HOST}Accept: application/json\r\n${auth}${CLOSE}\r\n`;
    expect((await send(service.address, head)).text).toContain('{"data":{"balance":{"currency":"USD"}}}');
  });
});

describe('a slow request', () => {
  const echo: RequestListener = (request, response) => void request.resume().on('end', () => response.end('whole'));

  /** Less than Node's default timeout of one minute for a head. */
  const NODE_MS = 30_000;

  async function withServer(run: (address: string) => Promise<void>): Promise<void> {
    const timeouts = { headersMs: 300, requestMs: 600, checkEveryMs: 50, idleMs: 60_000 };
    const server = createHttpServer(createMessages(), echo, timeouts);
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.closeAllConnections();
    server.close();
  }

  it('gets a 408 if its head never ends', () =>
    withServer(async (address) => {
      const answer = await send(address, 'GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ');
      expectEnvelope(answer, 408, 'invalid_request');
      expect(answer.elapsedMs).toBeLessThan(NODE_MS);
    }));

  it('gets a 408 if its body never ends', () =>
    withServer(async (address) => {
      const answer = await send(address, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{');
      expectEnvelope(answer, 408, 'invalid_request');
      expect(answer.elapsedMs).toBeGreaterThan(500);
      expect(answer.elapsedMs).toBeLessThan(NODE_MS);
    }));

  it('is disconnected if it never begins', () =>
    withServer(async (address) => {
      expect((await send(address, '')).elapsedMs).toBeLessThan(NODE_MS);
    }));
});

describe('an unread response', () => {
  const MB = 1_000_000;
  const text = 'x'.repeat(20 * MB);
  const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

  async function withServer(
    listener: RequestListener,
    limits: Partial<UnsentLimits>,
    run: (openRequest: (bytes?: string) => Socket, open: () => Promise<number>) => Promise<void>,
  ): Promise<void> {
    const unsent = { stalledMs: 600, maxBytes: 1_000 * MB, checkEveryMs: 50, ...limits };
    const server = createHttpServer(createMessages(), listener, undefined, undefined, unsent);
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const openRequest = (bytes = REQUEST) => {
      // Without a listener for data, nothing is read.
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      socket.write(bytes);
      return socket;
    };
    const open = () => promisify(server.getConnections.bind(server))();
    await run(openRequest, open).finally(() => {
      server.closeAllConnections();
      server.close();
    });
  }

  it.each<[string, RequestListener]>([
    ['sent as a whole', (_request, response) => void response.end(text)],
    [
      'a stream that ignores its reader',
      (_request, response) => {
        const timer = setInterval(() => response.write(text.slice(0, MB)), 20);
        response.once('close', () => clearInterval(timer));
      },
    ],
  ])('is aborted if it is %s', (_name, listener) =>
    withServer(listener, {}, async (openRequest, open) => {
      const startedAt = performance.now();
      openRequest();
      await expect.poll(open).toBe(1);
      await expect.poll(open, { timeout: 20_000 }).toBe(0);
      expect(performance.now() - startedAt).toBeGreaterThan(500);
    }),
  );

  it('is not aborted while a slow reader makes progress or nothing is pending', () =>
    withServer(
      (request, response) => void (request.url === '/quiet' ? response.write('x') : response.end(text)),
      { stalledMs: 1_500 },
      async (openRequest, open) => {
        const quiet = openRequest(REQUEST.replace('/', '/quiet'));
        const slow = openRequest();
        let [read, allowed] = [0, 0];
        slow.on('data', (chunk) => {
          read += chunk.length;
          if (read >= allowed) slow.pause();
        });
        for (let turn = 0; turn < 14; turn += 1) {
          allowed += MB;
          slow.resume();
          await sleep(150);
        }
        expect(await open()).toBe(2);
        allowed = Number.POSITIVE_INFINITY;
        slow.resume();
        await expect.poll(() => read, { timeout: 20_000 }).toBeGreaterThan(20 * MB);
        quiet.destroy();
        slow.destroy();
      },
    ));

  it('is aborted early, oldest first, if too much is pending in total', () => {
    const closed: string[] = [];
    const sockets: Socket[] = [];
    const listener: RequestListener = (request, response) => {
      sockets.push(request.socket);
      response.once('close', () => closed.push(request.url!));
      response.end(text);
    };
    /** Waits until the newest connection's buffers are full and several checks have run. */
    const stalled = async (count: number) => {
      await expect.poll(() => sockets.length).toBe(count);
      const { bytesWritten, writableLength } = sockets.at(-1)!;
      await sleep(300);
      const isSame = sockets.at(-1)!.bytesWritten === bytesWritten && sockets.at(-1)!.writableLength === writableLength;
      if (!isSame) await stalled(count);
    };
    return withServer(listener, { stalledMs: 60_000, maxBytes: 35 * MB }, async (openRequest, open) => {
      openRequest(REQUEST.replace('/', '/first'));
      await stalled(1);
      openRequest(REQUEST.replace('/', '/second'));
      await stalled(2);
      openRequest(REQUEST.replace('/', '/third'));
      await expect.poll(() => closed, { timeout: 20_000 }).not.toEqual([]);
      expect(closed[0]).toBe('/first');
      expect(await open()).toBeGreaterThan(0);
    });
  });

  it('is counted with the other pipelined responses on its connection', () => {
    let ended = 0;
    const listener: RequestListener = (_request, response) => {
      response.once('close', () => {
        ended += 1;
      });
      response.end(text.slice(0, 3 * MB));
    };
    return withServer(listener, { stalledMs: 60_000, maxBytes: 35 * MB }, async (openRequest, open) => {
      openRequest(REQUEST.repeat(30));
      await expect.poll(() => ended, { timeout: 20_000 }).toBeGreaterThan(0);
      expect(await open()).toBe(0);
    });
  });
});

describe('request bodies', () => {
  const bytes = (text: string, encoding: BufferEncoding) => new Uint8Array(Buffer.from(text, encoding));
  const graphql = (query: string) => JSON.stringify({ query });
  const deploy = () => `mutation { deploy(input: { machineId: "${machine}" }) { id } }`;

  it.each<[string, () => Uint8Array<ArrayBuffer> | string, Record<string, string>]>([
    ['bytes that are not UTF-8', () => bytes(`{"machine_id":"${machine}","x":"\xff"}`, 'latin1'), {}],
    ['UTF-16', () => bytes(`{"machine_id":"${machine}"}`, 'utf16le'), { 'content-type': 'a/json; charset=utf-16' }],
    [
      'an unknown charset',
      () => `{"machine_id":"${machine}"}`,
      { 'content-type': 'application/json; charset=klingon' },
    ],
    ['an unknown encoding', () => `{"machine_id":"${machine}"}`, { 'content-encoding': 'klingon' }],
    ['data that is not compressed as declared', () => `{"machine_id":"${machine}"}`, { 'content-encoding': 'gzip' }],
    ['a byte order mark inside', () => `{"machine_id":\ufeff"${machine}"}`, {}],
  ])('are rejected with 400 invalid_json by REST and GraphQL: %s', async (_name, body, headers) => {
    const before = await holdings();
    const rest = await post('/v1/instances', body(), { ...JSON_TYPE, ...headers });
    expect([rest.status, rest.body.error.code]).toEqual([400, 'invalid_json']);
    const type = headers['content-type']?.replace('a/', 'application/') ?? 'application/json';
    const response = await post('/graphql', body(), { ...headers, 'content-type': type });
    expect([response.status, response.body.errors[0].extensions]).toEqual([400, { code: 'invalid_json', status: 400 }]);
    expect(await holdings()).toEqual(before);
  });

  it('above 100 kB get a 413 in REST and GraphQL, even if compressed to less', async () => {
    const large = JSON.stringify({ query: `{ __typename } #${'x'.repeat(102_400)}`, machine_id: machine });
    const packed = { ...JSON_TYPE, 'content-encoding': 'gzip' };
    for (const [body, headers] of [
      [large, JSON_TYPE],
      [gzipSync(large), packed],
      [gzipSync(Buffer.alloc(50_000_000, ' ')), packed],
    ] as const) {
      const rest = await post('/v1/instances', body, headers);
      expect([rest.status, rest.body.error.code]).toEqual([413, 'payload_too_large']);
      const response = await post('/graphql', body, headers);
      expect([response.status, response.body.errors[0].extensions]).toEqual([
        413,
        { code: 'payload_too_large', status: 413 },
      ]);
    }
    const fits = graphql(`{ __typename } #${'x'.repeat(102_300)}`);
    expect((await post('/graphql', fits)).body).toEqual({ data: { __typename: 'Query' } });
  });

  it.each<[string, unknown]>([
    ['an infinite number', { machine_id: 'm', disk_gb: Number.POSITIVE_INFINITY }],
    ['an object', { machine_id: { $ne: '' } }],
    ['a list', { machine_id: ['m'] }],
    ['true', { machine_id: true }],
    ['a NUL', { machine_id: 'm\0' }],
    ['a huge number', { machine_id: 'm', disk_gb: 1e308 }],
    ['a negative number', { machine_id: 'm', disk_gb: -1 }],
    ['a fraction', { machine_id: 'm', disk_gb: 1.5 }],
    ['a numeric string', { machine_id: 'm', disk_gb: '50' }],
    ['an invalid template', { machine_id: 'm', template: '../../etc' }],
  ])('with an invalid value are rejected by REST and GraphQL: %s', async (_name, body) => {
    const before = await holdings();
    const text = JSON.stringify(body).replace('null', '1e999').replace('"m"', `"${machine}"`);
    const rest = await post('/v1/instances', text);
    expect([rest.status, rest.body.error.code]).toEqual([422, 'invalid_request']);
    const input = text.replace('machine_id', 'machineId').replace('disk_gb', 'diskGb');
    const query = 'mutation ($input: DeployInput!) { deploy(input: $input) { id } }';
    const response = await post('/graphql', `{"query":${JSON.stringify(query)},"variables":{"input":${input}}}`);
    expect(response.status).toBeLessThan(500);
    expect(response.body.errors).toHaveLength(1);
    expect(await holdings()).toEqual(before);
  });

  it("can't set anything through __proto__ or constructor", async () => {
    for (const name of ['__proto__', 'constructor', 'prototype']) {
      const nested = `{"${name}":{"machine_id":"${machine}","machineId":"${machine}","action":"stop"}}`;
      expect((await post('/v1/instances', nested)).body.error.code).toBe('missing_machine');
      expect((await post('/v1/instances/i-00000000/actions', nested)).body.error.code).toBe('bad_action');
      expect((await post('/v1/instances', `{"machine_id":"m","type":"${name}"}`)).status).toBe(422);
      const query = 'mutation ($input: DeployInput!) { deploy(input: $input) { id } }';
      for (const variables of [nested, `{"input":${nested}}`, `{"${name}":{"input":${nested}}}`]) {
        const response = await post('/graphql', `{"query":${JSON.stringify(query)},"variables":${variables}}`);
        expect(response.status).toBeLessThan(500);
        expect(
          new Set(response.body.errors.map(({ extensions }: { extensions: { code: string } }) => extensions.code)),
        ).toEqual(new Set(['invalid_request']));
      }
    }
    expect(({} as Record<string, unknown>).machine_id).toBeUndefined();
    const { body } = await renter.graphql('{ __proto__: balance { constructor: currency } toString: __typename }');
    expect(JSON.stringify(body)).toBe('{"data":{"__proto__":{"constructor":"USD"},"toString":"Query"}}');
  });

  it('are rejected if they are nested too deeply', async () => {
    const lists = `${'['.repeat(45_000)}${']'.repeat(45_000)}`;
    const objects = `${'{"machineId":'.repeat(6_000)}1${'}'.repeat(6_000)}`;
    const query = JSON.stringify('mutation ($input: DeployInput!) { deploy(input: $input) { id } }');
    for (const input of [lists, objects]) {
      expect((await post('/v1/instances', `{"machine_id":${input}}`)).status).toBe(400);
      const response = await post('/graphql', `{"query":${query},"variables":{"input":${input}}}`);
      expect([response.status, response.body.errors.length]).toEqual([400, 1]);
    }
  });

  it('are not executed if they are a form, a file, plain text or a list', async () => {
    const before = await holdings();
    const file = new FormData();
    file.append('operations', graphql(deploy()));
    file.append('map', '{}');
    const bodies: [RequestInit['body'], Record<string, string>, number][] = [
      [new URLSearchParams({ query: deploy() }), {}, 415],
      [file, {}, 415],
      [deploy(), { 'content-type': 'application/graphql' }, 415],
      [graphql(deploy()), { 'content-type': 'text/plain' }, 415],
      [`[${graphql(deploy())}]`, JSON_TYPE, 400],
      [`[${graphql(deploy())},${graphql(deploy())}]`, JSON_TYPE, 400],
      [graphql(deploy()), { ...JSON_TYPE, accept: 'image/png' }, 406],
    ];
    for (const [body, headers, status] of bodies) {
      const response = await post('/graphql', body, headers);
      expect([response.status, response.body.errors.length, response.body.data]).toEqual([status, 1, undefined]);
      expect(response.body.errors[0].extensions).toEqual({ code: 'invalid_request', status });
    }
    const address = `${service.address}/graphql?query=${encodeURIComponent(deploy())}`;
    const got = await fetch(address, {
      headers: { authorization: `Bearer ${renter.key}`, accept: 'application/json' },
    });
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
    expect(await holdings()).toEqual(before);
  });

  it.each(['null', '1', '"x"', '{}', '{"query":null}', '{"query":1}', '{"query":["{__typename}"]}', ''])(
    'without an operation get a 400: %s',
    async (body) => {
      const response = await post('/graphql', body);
      expect([response.status, response.body.errors.length]).toEqual([400, 1]);
    },
  );

  it.each([
    '{"query":"{__typename}","variables":[]}',
    '{"query":"{__typename}","variables":"x"}',
    '{"query":"{__typename}","extensions":1}',
    '{"query":"{__typename}","operationName":{}}',
    '{"query":"{__typename}","operationName":"x"}',
  ])('with a parameter of the wrong type get a 400: %s', async (body) => {
    const response = await post('/graphql', body);
    expect([response.status, response.body.errors.length]).toEqual([400, 1]);
  });
});

describe('request URLs', () => {
  it.each([
    ['/v1/instances/%E0%A4%A', 404, 'not_found'],
    ['/v1/instances/%00', 404, 'not_found'],
    ['/v1/instances/%2e%2e', 404, 'not_found'],
    ['/v1/instances/i-0000000g', 404, 'not_found'],
    ['/v1/%', 404, 'no_route'],
    ['//elsewhere.test/v1/balance', 404, 'no_route'],
    ['/v1/../../etc/passwd', 404, 'no_route'],
    ['/graphiql/%00', 404, 'no_route'],
    ['/graphiql/..%2f..%2fpackage.json', 404, 'no_route'],
    ['/v1/offers?gpu=%00', 422, 'invalid_request'],
    ['/v1/offers?limit=1&limit=2', 422, 'invalid_request'],
    ['/v1/offers?limit=1e1', 422, 'invalid_request'],
    ['/v1/offers?limit=9007199254740993', 422, 'invalid_request'],
    ['/v1/offers?limit=%EF%BC%91', 422, 'invalid_request'],
    ['/v1/offers?price_max=NaN', 422, 'invalid_request'],
    ['/v1/offers?price_max=Infinity', 422, 'invalid_request'],
    ['/v1/offers?price_max=0x10', 422, 'invalid_request'],
  ])('such as GET %s get %d %s', async (path, status, code) => {
    const head = `GET ${path} HTTP/1.1\r\n${HOST}${auth}${CLOSE}\r\n`;
    expectEnvelope(await send(service.address, head), status, code);
  });

  it.each(['?gpu[$ne]=x', '?__proto__[limit]=1', '?constructor=1', '?%E0%A4%A=1', '?&&==&'])(
    'are refused if they have an unknown parameter: %s',
    async (query) => {
      const { status, body } = await service.anyone.rest('GET', `/offers${query}`);
      expect([status, body.error.code]).toEqual([422, 'invalid_request']);
    },
  );

  it('match no model if a value is not UTF-8', async () => {
    const { status, body } = await service.anyone.rest('GET', '/offers?gpu=%E0%A4%A');
    expect([status, body.count]).toEqual([200, 0]);
  });

  it.each([
    ['query=%7B__typename%7D&query=%7Bx%7D', 'invalid_request'],
    ['query=%7B__typename%7D&variables=%7B', 'invalid_json'],
    ['query=%7B__typename%7D&variables=%7B%7D&variables=%7B%7D', 'invalid_request'],
    ['variables=%7B%7D', 'invalid_request'],
  ])('with an invalid operation get a 400: ?%s', async (query, code) => {
    const got = await fetch(`${service.address}/graphql?${query}`, { headers: { accept: 'application/json' } });
    const { errors } = (await got.json()) as { errors: { extensions: unknown }[] };
    expect([got.status, errors[0]!.extensions]).toEqual([400, { code, status: 400 }]);
  });
});

describe('CORS', () => {
  const preflight = (origin: string, path: string, requestedHeaders = 'traceparent') =>
    fetch(service.address + path, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': requestedHeaders },
    });

  it.each(['/graphql', '/v1/instances', '/v1/nothing'])(
    'never reflects an origin or allows credentials: %s',
    async (path) => {
      for (const origin of ['https://evil.test', 'null']) {
        const answer = await preflight(origin, path);
        expect(answer.status).toBe(204);
        expect(answer.headers.get('access-control-allow-origin')).toBe('*');
        const got = await fetch(service.address + path, { method: 'POST', headers: { origin } });
        for (const { headers } of [answer, got]) {
          expect(headers.get('access-control-allow-credentials')).toBeNull();
          expect(headers.get('access-control-allow-origin')).toBe('*');
        }
      }
    },
  );

  it.each([
    [
      'apollographql-client-name,apollographql-client-version',
      'apollographql-client-name, apollographql-client-version',
    ],
    ['authorization, traceparent ,Content-Type', 'traceparent'],
    ['x-a b', ''],
    ['x-a,,x-b', ''],
    ['x-a: evil', ''],
    ['x'.repeat(2_001), ''],
  ])('allows requested headers if their names are valid: %s', async (requestedHeaders, others) => {
    const answer = await preflight('https://console.test', '/graphql', requestedHeaders);
    const allowed = ['Authorization, Content-Type, Idempotency-Key', others].filter(Boolean).join(', ');
    expect(answer.headers.get('access-control-allow-headers')).toBe(allowed);
  });

  it('allows only listed origins if a list is configured', async () => {
    const listed = await startService({ corsOrigins: ['https://console.test'] });
    const allowed = async (origin: string) => {
      const { headers } = await fetch(`${listed.address}/graphql`, { method: 'OPTIONS', headers: { origin } });
      expect([headers.get('vary'), headers.get('access-control-allow-credentials')]).toEqual(['Origin', null]);
      return headers.get('access-control-allow-origin');
    };
    expect(await allowed('https://console.test')).toBe('https://console.test');
    for (const origin of ['https://console.test.evil.test', 'http://console.test', 'null', 'HTTPS://CONSOLE.TEST']) {
      expect(await allowed(origin)).toBeNull();
    }
    await listed.close();
  });
});

/** Returns a log stream that collects its lines. */
function logInto(lines: string[]): Writable {
  return new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(String(chunk));
      done();
    },
  });
}

describe("the gateway's log", () => {
  it('has one line per request, without any key or query string', async () => {
    const lines: string[] = [];
    const config = { ...readConfig({ SEED: 'none' }), port: 0, databaseUrl: service.databaseUrl };
    const gateway = await openGateway(config, new TestClock(), pino({ level: 'trace' }, logInto(lines)));
    const { key } = renter;
    const headers = { authorization: `Bearer ${key}`, accept: 'application/json' };
    const paths = [
      `/v1/instances/${key}`,
      `/v1/${key}/x`,
      `/${key}`,
      `/v1/instances/i-00000000${key}`,
      `/v1/offers?gpu=${key}`,
      `/v1/balance?key=${key}&secret=open-sesame`,
      `/graphql?query=${encodeURIComponent(`{ instance(id: "${key}") { id } }`)}&note=open-sesame`,
      `/graphql?query=${encodeURIComponent(`query ${key} { __typename }`)}`,
      `/healthz?open-sesame`,
      `/?api_key=${key}`,
      `/graphiql/${key}?open-sesame`,
    ];
    for (const path of paths) await fetch(gateway.address + path, { headers, redirect: 'manual' });
    await fetch(`${gateway.address}/v1/instances/${key}/actions?open-sesame`, { method: 'POST', headers, body: '{' });
    await gateway.close();
    const requests = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request');
    expect(requests).toHaveLength(paths.length + 1);
    const log = lines.join('');
    expect(log).not.toContain(key.slice('gpu_live_'.length, -20));
    expect(log).not.toContain(key.slice(-20));
    expect(log).not.toContain('open-sesame');
  });
});

describe('TRUST_PROXY', () => {
  async function loggedAddress(trust: string, forwarded: string, isTrusted: boolean): Promise<unknown> {
    const lines: string[] = [];
    const stream = logInto(lines);
    const config = { ...readConfig({ TRUST_PROXY: trust, SEED: 'none' }), port: 0, databaseUrl: service.databaseUrl };
    const gateway = await openGateway(config, new TestClock(), pino(stream));
    const headers = { 'x-forwarded-for': forwarded, 'x-forwarded-proto': '][' };
    const answers = [
      await fetch(`${gateway.address}/healthz`, { headers }),
      await fetch(`${gateway.address}/graphql?query=%7B__typename%7D`, { headers }),
    ];
    // An invalid protocol from a trusted proxy makes the address invalid.
    for (const { status } of answers) expect(status).toBe(isTrusted ? 422 : 200);
    await gateway.close();
    const requests = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request');
    expect(requests).toHaveLength(answers.length);
    expect(requests[0].address).toBe(requests[1].address);
    return requests[0].address;
  }

  it('determines which proxies are trusted to report the client’s address', async () => {
    expect(await loggedAddress('off', '203.0.113.7', false)).toBe('127.0.0.1');
    expect(await loggedAddress('1', '198.51.100.1, 203.0.113.7', true)).toBe('203.0.113.7');
    expect(await loggedAddress('127.0.0.0/8', '203.0.113.7', true)).toBe('203.0.113.7');
    expect(await loggedAddress('10.0.0.0/8', '203.0.113.7', false)).toBe('127.0.0.1');
  });
});

describe('the in-memory rate limit', () => {
  it('forgets each of 100,000 accounts after its window', async () => {
    const real = performance.now;
    let now = 1_000_000;
    performance.now = () => now;
    try {
      const buckets = createMemoryBuckets();
      const limiter = createRateLimiter(buckets);
      const before = process.memoryUsage().heapUsed;
      for (let account = 0; account < 100_000; account += 1) buckets.reserve(`account-${account}`, 1, 120);
      expect(buckets.size).toBe(100_000);
      expect(process.memoryUsage().heapUsed - before).toBeLessThan(60_000_000);
      const started = process.cpuUsage();
      for (let request = 0; request < 1_000; request += 1) await limiter.admit(`account-${request}`, 1, 120);
      expect(process.cpuUsage(started).user).toBeLessThan(1_000_000);
      now += 60_000;
      await limiter.admit('account-0', 1, 120);
      expect(buckets.size).toBe(1);
    } finally {
      performance.now = real;
    }
  });
});

it('a request head that never ends times out with the default settings', async () => {
  const answer = await slowHead;
  expectEnvelope(answer, 408, 'invalid_request');
  expect(answer.elapsedMs).toBeLessThan(45_000);
});

describe('JSON nested too deeply', () => {
  const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`;
  const query = '{ pricing { count } }';

  it('is refused with the limit in the message, wherever JSON is accepted', async () => {
    const { address } = service;
    const body = JSON.stringify({ query });
    const requests: [string, RequestInit][] = [
      ...['extensions', 'variables'].map((name): [string, RequestInit] => [
        '/graphql',
        { method: 'POST', headers: JSON_TYPE, body: body.replace('{', `{"${name}":{"a":${deep}},`) },
      ]),
      // This JSON arrives in several pieces.
      [
        '/graphql',
        { method: 'POST', headers: JSON_TYPE, body: body.replace('{', `{"extensions":${deep}${' '.repeat(40_000)},`) },
      ],
      ...['extensions', 'variables'].map((name): [string, RequestInit] => [
        `/graphql?query=${encodeURIComponent(query)}&${name}=${encodeURIComponent(`{"a":${'['.repeat(100)}${']'.repeat(100)}}`)}`,
        {},
      ]),
      [
        '/v1/instances',
        { method: 'POST', headers: { authorization: `Bearer ${renter.key}` }, body: `{"machine_id":${deep}}` },
      ],
      ['/console/session', { method: 'POST', headers: { origin: address, ...JSON_TYPE }, body: `{"key":${deep}}` }],
      ['/agent/v1/join', { method: 'POST', body: `{"code":${deep}}` }],
    ];
    for (const [path, init] of requests) {
      const answer = await fetch(`${address}${path}`, init);
      const text = await answer.text();
      expect({ path: path.slice(0, 60), status: answer.status, text }).toMatchObject({ status: 400 });
      expect(text).toContain('the JSON may nest at most 64 levels');
      expect(text).toContain('invalid_json');
    }
  });
});
