import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../support/database.js';
import { subscribe } from '../../support/events.js';
import { startGateway } from '../../support/gateway.js';
import { adminJson } from '../../support/operator.js';
import { cleanUp, type Env, type GatewayProcess, startProcess } from '../../support/process.js';
import { type Receiver, type SentSpan, startReceiver } from '../../support/trace-receiver.js';

/** The built gateway, which traces a request only if its sender asks for it. */
let gateway: GatewayProcess;
let receiver: Receiver;
let env: Env;
let account: string;
let key: string;
/** Requests received by the payment processor. */
const asked: Record<string, unknown>[] = [];
const processor = createServer((request, response) => {
  asked.push(request.headers);
  response.writeHead(200).end('{"status":"error","message":"closed"}');
});

beforeAll(async () => {
  receiver = await startReceiver();
  processor.listen(0, '127.0.0.1');
  await once(processor, 'listening');
  env = {
    DATABASE_URL: await createTestDatabase(),
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=mine',
    OTEL_TRACES_SAMPLER: 'parentbased_always_off',
    RATE_LIMIT_PER_MINUTE: '0',
    PAYMENTS: 'shkeeper',
    PAYMENTS_URL: `http://127.0.0.1:${(processor.address() as AddressInfo).port}`,
    PAYMENTS_KEY: 'a-key-of-the-processor',
  };
  account = (await adminJson(['account', 'create', '--name', 'Ada Lovelace', '--credit', '100'], env)).id;
  key = (await adminJson(['key', 'create', '--account', account], env)).api_key;
  gateway = await startProcess(env);
});
afterAll(async () => {
  await cleanUp();
  await receiver.close();
  processor.close();
});

interface Traced {
  answer: Response;
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  body: any;
  traceId: string;
  /** Id of the span that sent the request. */
  parent: string;
}

async function ask(path: string, init: { method?: string; body?: unknown; headers?: object } = {}): Promise<Traced> {
  const traceId = randomBytes(16).toString('hex');
  const parent = randomBytes(8).toString('hex');
  const answer = await fetch(gateway.address + path, {
    method: init.method ?? 'GET',
    headers: {
      traceparent: `00-${traceId}-${parent}-01`,
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...init.headers,
    },
    ...(init.body !== undefined && { body: JSON.stringify(init.body) }),
  });
  const text = await answer.text();
  return { answer, body: text.startsWith('{') ? JSON.parse(text) : text, traceId, parent };
}

const graphql = (query: string) => ask('/graphql', { method: 'POST', body: { query } });

/** Resolves to the spans of a trace once the request's own span, which ends last, has arrived. */
async function spansOf({ traceId, parent }: Traced): Promise<SentSpan[]> {
  const found = () => receiver.spans.filter((span) => span.traceId === traceId);
  await expect.poll(() => found().some(({ parentSpanId }) => parentSpanId === parent), { timeout: 30_000 }).toBe(true);
  return found();
}

/** Returns the path of names from the request to each span. Fails if a span has no parent. */
function pathsIn(spans: readonly SentSpan[], parent: string): string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  return spans.map((span) => {
    const path = [span.name];
    let at = span;
    while (at.parentSpanId !== parent) {
      at = byId.get(at.parentSpanId ?? '')!;
      expect(at, `${span.name} hangs in the air`).toBeDefined();
      path.unshift(at.name);
    }
    return path.join(' > ');
  });
}

async function freeMachine(): Promise<string> {
  const answer = await fetch(`${gateway.address}/v1/offers?gpu=rtx-4090&limit=1`);
  const { data } = (await answer.json()) as { data: { machine_id: string }[] };
  return data[0]!.machine_id;
}

describe('a request’s spans', () => {
  it('form a tree of request, operation, use case and statements for a mutation', async () => {
    const machine = await freeMachine();
    const traced = await graphql(`mutation Rent { deploy(input: {machineId: "${machine}"}) { id machine { id } } }`);
    expect(traced.body.errors).toBeUndefined();
    const spans = await spansOf(traced);
    const paths = pathsIn(spans, traced.parent);
    expect(paths).toContain('POST /graphql');
    expect(paths).toContain('POST /graphql > mutation Rent');
    expect(paths).toContain('POST /graphql > mutation Rent > deploy');
    const statements = paths.filter((path) => path.startsWith('POST /graphql > mutation Rent > deploy > SQL '));
    expect(statements.length).toBeGreaterThanOrEqual(2);
    const request = spans.find(({ name }) => name === 'POST /graphql')!;
    expect(request).toMatchObject({ kind: 2, status: 0 });
    expect(request.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/graphql',
      'http.response.status_code': 200,
      'gateway.request.id': traced.answer.headers.get('x-request-id'),
    });
    // Each span lies within its parent, to the millisecond, because start and duration come from different clocks.
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    for (const { parentSpanId, startedAt, endedAt, name } of spans) {
      const above = byId.get(parentSpanId!);
      if (above === undefined) continue;
      expect(startedAt, name).toBeGreaterThanOrEqual(above.startedAt - 1_000_000n);
      expect(endedAt, name).toBeLessThanOrEqual(above.endedAt + 1_000_000n);
    }
  });

  it('form a tree that names the OpenAPI operation for a refused REST request', async () => {
    const traced = await ask('/v1/instances', { method: 'POST', body: { machine_id: 'm-nowhere' } });
    expect(traced.answer.status).toBe(409);
    const spans = await spansOf(traced);
    const paths = pathsIn(spans, traced.parent);
    const use = paths.find((path) => path.endsWith(' > deploy'))!;
    expect(use).toMatch(/^POST \/v1\/instances > rest \w+ > deploy$/);
    expect(paths.some((path) => path.startsWith(`${use} > SQL `))).toBe(true);
    expect(spans.find(({ name }) => name === 'POST /v1/instances')!.attributes).toMatchObject({
      'http.response.status_code': 409,
      'gateway.refusals': ['deploy_failed'],
    });
    expect(spans.find(({ name }) => name === 'deploy')).toMatchObject({ status: 2 });
  });

  it('form separate trees for many concurrent requests', async () => {
    const all = await Promise.all(
      Array.from({ length: 60 }, () => graphql('query Mine { balance { balance } instances { id } }')),
    );
    for (const traced of all) {
      const paths = pathsIn(await spansOf(traced), traced.parent);
      expect(paths.filter((path) => path === 'POST /graphql > query Mine > instances')).toHaveLength(1);
    }
    // A statement that several requests share appears once, in one of the traces.
    const ids = receiver.spans.map(({ spanId }) => spanId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('consist of only one span for a cached public response', async () => {
    await ask('/v1/gpus/pricing');
    const traced = await ask('/v1/gpus/pricing');
    expect(pathsIn(await spansOf(traced), traced.parent)).toEqual(['GET /v1/gpus/pricing']);
  });

  it('end as soon as the stream is open if the request is for an event stream', async () => {
    const [traceId, parent] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
    const headers = { traceparent: `00-${traceId}-${parent}-01` };
    const stream = await subscribe(gateway.address, 'subscription { balanceChanged { balance } }', { key, headers });
    const spans = await spansOf({ traceId, parent } as Traced);
    expect(spans.map(({ name }) => name)).toContain('POST /graphql');
    stream.abort();
  });

  it('are continued by the payment processor', async () => {
    const traced = await graphql(
      'mutation { createTopUp(input: {asset: "LTC", usd: 10, idempotencyKey: "t"}) { id } }',
    );
    const spans = await spansOf(traced);
    const sent = asked.filter(({ traceparent }) => String(traceparent).startsWith(`00-${traced.traceId}-`));
    expect(sent.length).toBeGreaterThan(0);
    for (const { traceparent } of sent)
      expect(spans.map(({ spanId }) => spanId)).toContain(String(traceparent).split('-')[2]);
    expect(asked.every(({ traceparent }) => traceparent === undefined || /-01$/.test(String(traceparent)))).toBe(true);
  });

  it('have the trace id shown in the request’s log line', async () => {
    const traced = await ask('/v1/balance');
    const id = traced.answer.headers.get('x-request-id');
    const lines = () => gateway.log().filter((line) => line.id === id);
    await expect.poll(lines).toHaveLength(1);
    expect(lines()[0]).toMatchObject({ trace: traced.traceId, route: '/v1/balance' });
  });

  it('are sent only if the request’s sender asks for a trace', async () => {
    const untraced = await ask('/v1/balance', { headers: { traceparent: '' } });
    const refused = await ask('/v1/balance', { headers: { traceparent: '00-zz-zz-01' } });
    const off = await ask('/v1/balance', { headers: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00` } });
    const ids = [untraced, refused, off].map(({ answer }) => answer.headers.get('x-request-id'));
    const lines = () => gateway.log().filter(({ id }) => ids.includes(id!));
    await expect.poll(lines).toHaveLength(3);
    for (const line of lines()) expect(line).not.toHaveProperty('trace');
    // Spans of a later request have arrived.
    await spansOf(await ask('/v1/balance'));
    expect(receiver.text()).not.toContain('a'.repeat(32));
    for (const id of ids) expect(receiver.text()).not.toContain(id);
  });
});

describe('exported spans', () => {
  const ALLOWED = [
    'db.operation.name',
    'db.query.text',
    'db.system.name',
    'error.type',
    'gateway.refusals',
    'gateway.request.id',
    'gateway.use_case',
    'graphql.operation.name',
    'graphql.operation.type',
    'http.request.method',
    'http.response.status_code',
    'http.route',
  ];

  it('contain no key, account, instance or address from any part of a request', async () => {
    const machine = await freeMachine();
    const rented = await ask('/v1/instances', {
      method: 'POST',
      body: { machine_id: machine, template: 'registry.example/private-image' },
      headers: { 'Idempotency-Key': 'private-key-of-idempotency', 'User-Agent': 'private-agent' },
    });
    const { id } = rented.body;
    const all = [rented];
    for (const path of [
      `/v1/instances/${id}`,
      `/v1/instances/${key}`,
      `/${key}`,
      `/v1/offers?gpu=${key}`,
      `/healthz?${account}`,
    ])
      all.push(await ask(path));
    all.push(await ask(`/v1/instances/${id}/actions`, { method: 'POST', body: { action: 'stop' } }));
    all.push(await ask(`/v1/instances/${id}`, { method: 'DELETE' }));
    all.push(await graphql(`query x_${key} { instance(id: "${id}") { id usage { total } } account { id name } }`));
    all.push(await graphql(`mutation { createApiKey(name: "private-name") { id } }`));
    all.push(
      await graphql(
        `{ statement(from: "2026-01-01T00:00:00Z") { closingBalance lines(first: 5) { edges { node { id } } } } }`,
      ),
    );
    for (const traced of all) await spansOf(traced);
    const attributes = receiver.spans.flatMap((span) => Object.entries(span.attributes));
    for (const [name] of attributes) expect(ALLOWED).toContain(name);
    const told = receiver.text();
    const secrets = [
      key,
      key.slice(9),
      account,
      account.slice(4),
      id,
      machine,
      'Ada',
      'Lovelace',
      '127.0.0.1',
      'private',
    ];
    for (const secret of [...secrets, env.PAYMENTS_KEY!]) expect(told, secret).not.toContain(secret);
  });

  it('are sent with the headers set by the operator', () => {
    expect(receiver.headers.every((headers) => headers['x-tenant'] === 'mine')).toBe(true);
  });
});

describe('a sampled share of requests', () => {
  it('is traced with a separate trace id for each request', async () => {
    const collector = await startReceiver();
    const own = await startGateway({ tracesUrl: collector.url, tracesSampler: 'traceidratio', tracesRatio: 0.1 });
    const ids: string[] = [];
    for (let asked = 0; asked < 1_000; asked += 1) {
      const answer = await fetch(`${own.address}/healthz`);
      await answer.arrayBuffer();
      ids.push(answer.headers.get('x-request-id')!);
    }
    await own.close();
    await collector.close();
    const traced = collector.spans.map(({ traceId }) => traceId);
    expect(collector.spans.every(({ traceId, attributes }) => attributes['gateway.request.id'] === traceId)).toBe(true);
    expect(traced.every((id) => ids.includes(id))).toBe(true);
    // With a probability of 1 in 10, the count of 1,000 requests is outside this range once in a billion runs.
    expect(traced.length).toBeGreaterThan(45);
    expect(traced.length).toBeLessThan(165);
  });
});

describe('a collector that doesn’t respond', () => {
  /** Maximum spans in the queue plus the batch in flight. */
  const MOST_WAITING = 2_048 + 512;
  const ASKED = 3_200;

  it('delays no requests, with at most the configured number of spans buffered', async () => {
    receiver.hang(true);
    const before = receiver.spans.length;
    const askOnce = async () => expect((await ask('/healthz')).answer.status).toBe(200);
    for (let asked = 0; asked < ASKED; asked += 40) await Promise.all(Array.from({ length: 40 }, askOnce));
    receiver.hang(false);
    // Spans of new requests are exported after all buffered spans.
    const markers: string[] = [];
    const hasCaughtUp = async () => {
      markers.push((await ask('/healthz')).traceId);
      return receiver.spans.some(({ traceId }) => markers.includes(traceId));
    };
    await expect.poll(hasCaughtUp, { timeout: 30_000, interval: 100 }).toBe(true);
    expect(receiver.spans.length - before).toBeGreaterThan(512);
    expect(receiver.spans.length - before).toBeLessThan(MOST_WAITING + markers.length);
  });

  it('is reported in the log once and doesn’t delay the shutdown', async () => {
    await receiver.close();
    for (let time = 0; time < 3; time += 1) {
      await ask('/healthz');
      await expect
        .poll(() => gateway.log().some(({ msg }) => /can't send traces/.test(msg)), { timeout: 30_000 })
        .toBe(true);
    }
    const { code, endedMs } = await gateway.end();
    expect(code).toBe(0);
    expect(endedMs).toBeLessThan(9_500);
    expect(gateway.stderr()).not.toContain(key);
  });
});
