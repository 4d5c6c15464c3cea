import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STATUS_OF } from '../../../src/domain/kernel/errors.js';
import { ERROR, misfits } from '../../support/contract-tables.js';
import { createTestDatabase } from '../../support/database.js';
import { openWire } from '../../support/database-wire.js';
import type { Answer, Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

let service: Service;
let renter: Renter;

beforeAll(async () => {
  service = await startService();
  renter = await service.renter();
});
afterAll(() => service.close());

function expectRefusal(answer: Answer, status: number, code: string, message?: string | RegExp): void {
  expect(misfits(answer.body, ERROR)).toEqual([]);
  expect({ status: answer.status, code: answer.body.error.code }).toEqual({ status, code });
  if (typeof message === 'string') expect(answer.body.error.message).toBe(message);
  else if (message !== undefined) expect(answer.body.error.message).toMatch(message);
}

/** Expects a single GraphQL error with HTTP 200. */
function expectGraphqlRefusal(answer: Answer, status: number, code: string, message?: string | RegExp): void {
  expect(answer.status).toBe(200);
  expect(answer.body.errors).toHaveLength(1);
  const [error] = answer.body.errors;
  expect(error.extensions).toMatchObject({ code, status });
  if (typeof message === 'string') expect(error.message).toBe(message);
  else if (message !== undefined) expect(error.message).toMatch(message);
}

async function running(): Promise<string> {
  const answer = await renter.rest('POST', '/instances', { machine_id: await service.machine() });
  return answer.body.id;
}

const ID = 'i-00000000';
const DEPLOY = 'mutation ($input: DeployInput!) { deploy(input: $input) { id } }';
const ACTION = `mutation ($id: ID!, $action: InstanceActionKind!, $key: String) {
  action(id: $id, action: $action, idempotencyKey: $key) { id } }`;
const OFFERS = `query ($gpu: String, $region: String, $numMin: Int, $priceMax: Float, $limit: Int) {
  offers(gpu: $gpu, region: $region, numMin: $numMin, priceMax: $priceMax, limit: $limit) { machineId } }`;

describe('error codes', () => {
  it('have the statuses specified by the contract', () => {
    expect(STATUS_OF).toEqual({
      unauthorized: 401,
      forbidden: 403,
      not_found: 404,
      no_route: 404,
      deploy_failed: 409,
      action_failed: 409,
      missing_machine: 422,
      bad_action: 422,
      rate_limited: 429,
      invalid_request: 422,
      invalid_json: 400,
      payload_too_large: 413,
      method_not_allowed: 405,
      idempotency_mismatch: 422,
      idempotency_in_progress: 409,
      internal: 500,
      unavailable: 503,
    });
  });
});

describe('a 422 invalid_request error names the field and its bounds', () => {
  const WHOLE_8 = 'must be a whole number from 1 to 8';
  const WHOLE_100 = 'must be a whole number from 1 to 100';
  const PRICE = 'must be a number from 0 to 1000000';
  const SLUG = 'must be a string of 1 to 64 characters';

  it.each([
    ['num_min', WHOLE_8, ['0', '9', '-1', '1.5', '1e0', 'two', '', ' 1', '0x1', '1,2', 'null', '9'.repeat(40)]],
    ['limit', WHOLE_100, ['0', '101', '-5', '2.5', '1e1', 'all', '', 'NaN', 'Infinity']],
    [
      'price_max',
      PRICE,
      ['-0.01', '1000000.01', 'cheap', '', 'NaN', 'Infinity', '1e400', '-1e-7', '1e', 'e3', '.', '1e3.5', '$1', '0,5'],
    ],
    ['gpu', SLUG, ['', 'x'.repeat(65), 'a%00b', 'a%0Ab']],
    ['region', SLUG, ['', 'x'.repeat(65), '%7F']],
  ])('for GET /offers %s', async (name, must, values) => {
    for (const value of values) {
      const answer = await service.anyone.rest('GET', `/offers?${name}=${value}`);
      expectRefusal(answer, 422, 'invalid_request', `${name} ${must}`);
    }
  });

  it.each([
    ['num_min', ['1', '8']],
    ['limit', ['1', '100']],
    [
      'price_max',
      [
        '0',
        '0.0',
        '1000000',
        '0.000001',
        '12.345678',
        '1e3',
        '1E-7',
        '1e%2B5',
        '0.30000000000000004',
        `0.${'3'.repeat(300)}`,
      ],
    ],
    ['gpu', ['x'.repeat(64), 'H100', '%C3%A9']],
    ['region', ['x'.repeat(64)]],
  ])('but is not returned if GET /offers %s is exactly at its bounds', async (name, values) => {
    for (const value of values) {
      expect((await service.anyone.rest('GET', `/offers?${name}=${value}`)).status).toBe(200);
    }
  });

  it.each(['gpu', 'region', 'num_min', 'price_max', 'limit'])('for GET /offers %s given twice', async (name) => {
    const answer = await service.anyone.rest('GET', `/offers?${name}=1&${name}=1`);
    expectRefusal(answer, 422, 'invalid_request', `${name} can be given only once`);
  });

  it.each([
    ['numMin', WHOLE_8, [0, 9, -1]],
    ['limit', WHOLE_100, [0, 101, -5]],
    ['priceMax', PRICE, [-0.01, 1000000.01, 1e300]],
    ['gpu', SLUG, ['', 'x'.repeat(65), 'a\0b']],
    ['region', SLUG, ['', 'x'.repeat(65)]],
  ])('for offers(%s:)', async (name, must, values) => {
    for (const value of values) {
      const answer = await service.anyone.graphql(OFFERS, { [name]: value });
      expectGraphqlRefusal(answer, 422, 'invalid_request', `${name} ${must}`);
    }
  });

  const DISK = 'must be a whole number from 1 to 1000000';
  const TEMPLATE = 'must be a string of 1 to 255 characters, the slug of a template or an OCI image reference';
  const KEY = 'must be a string of 1 to 255 visible ASCII characters';
  const OBJECTS = [{}, [], true, ['pytorch']];

  it.each([
    ['disk_gb', DISK, [0, -1, 1.5, 1_000_001, '50', '', true, [], {}, [50], 1e300]],
    ['template', TEMPLATE, ['', 'x'.repeat(256), 'Not A Slug', 'a//b', '/a', 'a:', 'a@sha256:12', 'é', 7, ...OBJECTS]],
    ['machine_id', SLUG, ['x'.repeat(65), 'a\0b', 7, 0, false, ...OBJECTS]],
    ['type', 'must be one of od, interruptible, res, spot', ['Spot', 'OD', 'on_demand', '', 'toString', 1, ...OBJECTS]],
  ])('for POST /instances %s', async (name, must, values) => {
    const machine_id = await service.machine();
    for (const value of values) {
      const answer = await renter.rest('POST', '/instances', { machine_id, [name]: value });
      expectRefusal(answer, 422, 'invalid_request', `${name} ${must}`);
    }
  });

  it.each([
    ['diskGb', DISK, [0, -1, 1_000_001]],
    ['template', TEMPLATE, ['', 'x'.repeat(256), 'Not A Slug']],
    ['machineId', SLUG, ['x'.repeat(65), 'a\0b']],
    ['idempotencyKey', KEY, ['', 'x'.repeat(256), 'a b', 'é', 'a\n']],
  ])('for deploy(input: { %s: })', async (name, must, values) => {
    const machineId = await service.machine();
    for (const value of values) {
      const answer = await renter.graphql(DEPLOY, { input: { machineId, [name]: value } });
      expectGraphqlRefusal(answer, 422, 'invalid_request', `${name} ${must}`);
    }
  });

  it('for Idempotency-Key wherever it is accepted', async () => {
    const id = await running();
    const requests = [
      ['POST', '/instances', { machine_id: await service.machine() }],
      ['POST', `/instances/${id}/actions`, { action: 'stop' }],
      ['DELETE', `/instances/${id}`, undefined],
    ] as const;
    for (const [method, path, body] of requests) {
      for (const key of ['', 'x'.repeat(256), 'a b', 'caf\u00e9', 'a\tb']) {
        const answer = await renter.rest(method, path, body, { 'idempotency-key': key });
        expectRefusal(answer, 422, 'invalid_request', `Idempotency-Key ${KEY}`);
      }
    }
    for (const key of ['', 'x'.repeat(256)]) {
      const answer = await renter.graphql(ACTION, { id, action: 'STOP', key });
      expectGraphqlRefusal(answer, 422, 'invalid_request', `idempotencyKey ${KEY}`);
    }
    expect((await renter.rest('GET', `/instances/${id}`)).body.status).toBe('running');
  });

  it("in the called API's spelling, even if the domain rejects the value", async () => {
    const answer = await renter.rest('POST', '/instances', { machine_id: 'm', disk_gb: 1_000_001 });
    expect(answer.body.error.message).toMatch(/^disk_gb /);
  });
});

describe('a non-integer value where an integer is expected', () => {
  const must = 'must be a whole number from 1 to 1000000';
  it.each<[string, object | undefined, string]>([
    [
      'mutation ($input: DeployInput!) { deploy(input: $input) { id } }',
      { input: { machineId: 'm', diskGb: 1.5 } },
      `diskGb ${must}`,
    ],
    ['mutation ($gb: Int) { deploy(input: { machineId: "m", diskGb: $gb }) { id } }', { gb: 1.5 }, `diskGb ${must}`],
    ['mutation { deploy(input: { machineId: "m", diskGb: 1.5 }) { id } }', undefined, `diskGb ${must}`],
    ['mutation { deploy(input: { machineId: "m", diskGb: "50" }) { id } }', undefined, `diskGb ${must}`],
    ['query ($n: Int) { offers(limit: $n) { gpu } }', { n: 2.5 }, 'limit must be a whole number from 1 to 100'],
    ['{ offers(limit: 2.5) { gpu } }', undefined, 'limit must be a whole number from 1 to 100'],
    ['{ offerSearch(filter: { numMin: 1.5 }) { totalCount } }', undefined, 'numMin must be a whole number from 1 to 8'],
    [
      'query ($f: OfferFilterInput) { offerSearch(filter: $f) { totalCount } }',
      { f: { ramGbMin: '"; Int' } },
      'ramGbMin must be a whole number from 1 to 1000000',
    ],
  ])('is rejected with the allowed range: %s', async (query, variables, message) => {
    const { status, body } = await renter.graphql(query, variables as Record<string, unknown>);
    expect(body.errors[0].message).toBe(message);
    // Literals in a document are rejected like its other errors.
    expect(status).toBe(variables === undefined ? 200 : 400);
    expect(body.data).toBeUndefined();
  });
});

describe('a refusal by the domain', () => {
  it("uses the called API's own names", async () => {
    const machine_id = await service.machine();
    const past = { machine_id, stop_at: '2000-01-01T00:00:00Z' };
    const ports = { machine_id, tcp_ports: [22, 22] };
    const must = 'must be later than now, and at most 366 days ahead';
    expectRefusal(await renter.rest('POST', '/instances', past), 422, 'invalid_request', `stop_at ${must}`);
    expectRefusal(await renter.rest('POST', '/instances', ports), 422, 'invalid_request', /^tcp_ports must not repeat/);
    const input = { machineId: machine_id, stopAt: past.stop_at };
    expectGraphqlRefusal(await renter.graphql(DEPLOY, { input }), 422, 'invalid_request', `stopAt ${must}`);
  });

  it('comes after input validation in both APIs', async () => {
    const price = 'must be a number from 0 to 1000000';
    const move = await renter.rest('POST', `/instances/${ID}/move`, { max_price_per_hour: -1 });
    expectRefusal(move, 422, 'invalid_request', `max_price_per_hour ${price}`);
    const graphql = (query: string) => renter.graphql(`mutation { ${query} { id } }`);
    const refused: [query: string, message: RegExp][] = [
      [`moveInstance(id: "${ID}", maxPricePerHour: -1)`, /^maxPricePerHour must be/],
      [`setDeadlines(id: "${ID}", stopAt: "2000-01-01T00:00:00Z")`, /^stopAt must be later/],
      [`setSpendLimit(id: "${ID}", spendLimit: -1)`, /^spendLimit must be/],
      [`setStopWhenIdle(id: "${ID}", stopWhenIdle: 1)`, /^stopWhenIdle must be/],
      [`deploy(input: { machineId: "m-none", stopAt: "2000-01-01T00:00:00Z" })`, /^stopAt must be later/],
      [`deployBest(input: { gpus: ["none"], stopAt: "2000-01-01T00:00:00Z" })`, /^stopAt must be later/],
      [`growVolume(id: "v-00000000", sizeGb: 0)`, /^sizeGb must be/],
      [
        `createVolume(input: { name: "a", sizeGb: 1, fromSnapshot: { volumeId: "v-00000000", snapshotId: "x" } })`,
        /^snapshotId must be/,
      ],
      [`openPort(id: "${ID}", port: 0)`, /^port must be/],
    ];
    for (const [query, message] of refused) expectGraphqlRefusal(await graphql(query), 422, 'invalid_request', message);
  });
});

describe('the error missing_machine', () => {
  it.each([
    ['a missing machine_id', {}],
    ['null', { machine_id: null }],
    ['an empty string', { machine_id: '' }],
    ['an array', []],
    ['an array of objects', [{ machine_id: 'm-00000000' }]],
    ['a string', '"m-00000000"'],
    ['a number', '7'],
    ['the JSON value null', 'null'],
    ['an empty body', ''],
    ['a prototype', '{"__proto__":{"machine_id":"m-00000000"}}'],
  ])('is a 422 for %s', async (_, body) => {
    expectRefusal(await renter.rest('POST', '/instances', body), 422, 'missing_machine', 'machine_id is required');
  });

  it('is also reported for a misspelling, which is named in the message', async () => {
    const answer = await renter.rest('POST', '/instances', { machineId: 'm-00000000' });
    expectRefusal(answer, 422, 'missing_machine', 'machine_id is required; machineId is unknown');
  });

  it('is a 422 if the request has no body', async () => {
    expectRefusal(await renter.rest('POST', '/instances'), 422, 'missing_machine', 'machine_id is required');
  });

  it('is also reported through GraphQL', async () => {
    const answer = await renter.graphql(DEPLOY, { input: { machineId: '' } });
    expectGraphqlRefusal(answer, 422, 'missing_machine', 'machineId is required');
    const absent = await renter.graphql(DEPLOY, { input: {} });
    expect(absent.status).toBeLessThan(500);
    expect(absent.body.errors[0].message).toContain('machineId');
    expect(absent.body.data).toBeUndefined();
  });
});

describe('the error bad_action', () => {
  const LISTED = 'action must be one of start, stop, destroy';

  it.each([
    ['nothing', {}, 'action is required'],
    ['null', { action: null }, 'action is required'],
    ['an empty string', { action: '' }, 'action is required'],
    ['an unknown action', { action: 'reboot' }, LISTED],
    ['a different letter case', { action: 'STOP' }, LISTED],
    ['a number', { action: 1 }, LISTED],
    ['a list', { action: ['stop'] }, LISTED],
    ['an inherited name', { action: 'constructor' }, LISTED],
    ['an array', ['stop'], 'action is required'],
    ['a string', '"stop"', 'action is required'],
    ['an empty body', '', 'action is required'],
    ['no body', undefined, 'action is required'],
  ])('is a 422 for %s', async (_, body, message) => {
    const id = await running();
    expectRefusal(await renter.rest('POST', `/instances/${id}/actions`, body), 422, 'bad_action', message);
    expect((await renter.rest('GET', `/instances/${id}`)).body.status).toBe('running');
  });
});

describe('request bodies', () => {
  const paths = ['/instances', `/instances/${ID}/actions`];

  it.each(['{', 'machine_id=m', '{"machine_id":}', "{'a':1}", '\u0000', 'undefined', '{}{}', ' '])(
    'that are not JSON get 400 invalid_json: %j',
    async (body) => {
      for (const path of paths) expectRefusal(await renter.rest('POST', path, body), 400, 'invalid_json');
    },
  );

  it("that can't be decoded get 400 invalid_json", async () => {
    const wrong = [
      ['content-encoding', 'gzip'],
      ['content-encoding', 'klingon'],
      ['content-type', 'application/json; charset=klingon'],
    ] as const;
    for (const [name, value] of wrong) {
      expectRefusal(await renter.rest('POST', '/instances', '{}', { [name]: value }), 400, 'invalid_json');
    }
  });

  it('of 100 kB are accepted, but larger ones get 413 payload_too_large', async () => {
    const bodyOf = (bytes: number) => JSON.stringify({ padding: 'x'.repeat(bytes - '{"padding":""}'.length) });
    for (const path of paths) {
      expectRefusal(await renter.rest('POST', path, bodyOf(102_401)), 413, 'payload_too_large', /100 ?kb/i);
      expect((await renter.rest('POST', path, bodyOf(102_400))).status).toBe(422);
    }
  });

  it('are read as JSON even without a JSON content type', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/octet-stream', 'nonsense']) {
      const body = { machine_id: await service.machine() };
      const answer = await renter.rest('POST', '/instances', body, { 'content-type': type });
      expect([answer.status, answer.body.status]).toEqual([201, 'running']);
    }
    const bytes = new TextEncoder().encode(JSON.stringify({ machine_id: await service.machine() }));
    const headers = { authorization: `Bearer ${renter.key}` };
    const answer = await fetch(`${service.address}/v1/instances`, { method: 'POST', headers, body: bytes });
    expect(answer.status).toBe(201);
  });

  it('are ignored for requests that take none', async () => {
    const id = await running();
    expect((await renter.rest('DELETE', `/instances/${id}`, '{')).status).toBe(200);
  });
});

describe('the order of checks', () => {
  it('begins with the route', async () => {
    expectRefusal(await service.anyone.rest('POST', '/nothing', '{'), 404, 'no_route');
    expectRefusal(await service.anyone.rest('PUT', '/instances', '{'), 405, 'method_not_allowed');
  });

  it('continues with the API key', async () => {
    const requests = [
      ['POST', '/instances', '{'],
      ['POST', '/instances', {}],
      ['POST', `/instances/${ID}/actions`, { action: 'reboot' }],
      ['GET', '/instances/not-an-id', undefined],
      ['DELETE', `/instances/${ID}`, undefined],
    ] as const;
    for (const [method, path, body] of requests) {
      const answer = await service.anyone.rest(method, path, body, { 'idempotency-key': 'a b' });
      expectRefusal(answer, 401, 'unauthorized');
    }
  });

  it('continues with the body and the headers', async () => {
    const path = `/instances/${ID}/actions`;
    expectRefusal(await renter.rest('POST', path, '{'), 400, 'invalid_json');
    expectRefusal(await renter.rest('POST', path, { action: 'reboot' }), 422, 'bad_action');
    const headers = { 'idempotency-key': 'a b' };
    expectRefusal(await renter.rest('POST', path, { action: 'stop' }, headers), 422, 'invalid_request');
    expectRefusal(await renter.rest('DELETE', `/instances/${ID}`, undefined, headers), 422, 'invalid_request');
    const poor = await service.renter('0');
    const taken = { machine_id: 'm-unknown', disk_gb: 0 };
    expectRefusal(await poor.rest('POST', '/instances', taken), 422, 'invalid_request');
  });

  it("continues with the instance's existence", async () => {
    for (const action of ['start', 'stop', 'destroy']) {
      expectRefusal(await renter.rest('POST', `/instances/${ID}/actions`, { action }), 404, 'not_found');
      const answer = await renter.graphql(ACTION, { id: ID, action: action.toUpperCase() });
      expectGraphqlRefusal(answer, 404, 'not_found', 'no such instance');
    }
  });

  it('ends with the business rules', async () => {
    const id = await running();
    expectRefusal(await renter.rest('POST', `/instances/${id}/actions`, { action: 'start' }), 409, 'action_failed');
  });
});

describe('internal errors', () => {
  it('are 500 internal without details in both APIs', async () => {
    const broken = await startService();
    const caller = await broken.renter();
    await broken.sql('alter table instance rename to elsewhere');
    const answer = await caller.rest('GET', '/instances');
    expect(answer.status).toBe(500);
    expect(answer.body).toEqual({ error: { code: 'internal', message: 'internal error' } });
    const { status, body } = await caller.graphql('{ instances { id } }');
    expect(status).toBe(500);
    expect(body.errors).toEqual([
      {
        message: 'internal error',
        path: ['instances'],
        locations: expect.anything(),
        extensions: { code: 'internal', status: 500 },
      },
    ]);
    await broken.close();
  });

  it('become 503 unavailable with Retry-After while the database is unreachable', async () => {
    const database = new URL(await createTestDatabase());
    const wire = await openWire(database);
    const cut = await startService({ databaseUrl: wire.url });
    const caller = await cut.renter();
    for (const fail of [wire.cut, wire.refuse]) {
      await fail();
      await expectUnavailable(cut, caller);
    }
    await wire.mend();
    expect((await caller.rest('GET', '/balance')).status).toBe(200);
    await cut.close();
    await wire.close();
  });
});

async function expectUnavailable(cut: Service, caller: Renter): Promise<void> {
  for (const [method, path] of [
    ['GET', '/gpus/pricing'],
    ['GET', '/balance'],
    ['GET', '/instances'],
    ['POST', '/instances'],
  ] as const) {
    const answer = await caller.rest(method, path, method === 'POST' ? { machine_id: 'm' } : undefined);
    expectRefusal(answer, 503, 'unavailable');
    expect(answer.headers.get('retry-after')).toBe('2');
  }
  for (const query of ['{ pricing { count } }', '{ regions { code } }', '{ balance { balance } }']) {
    const graphql = await caller.graphql(query);
    expect(graphql.status).toBe(503);
    expect(graphql.headers.get('retry-after')).toBe('2');
    expect(graphql.body.errors[0].extensions).toMatchObject({ code: 'unavailable', status: 503 });
  }
  expect((await fetch(`${cut.address}/readyz`)).status).toBe(503);
  expect((await fetch(`${cut.address}/healthz`)).status).toBe(200);
}
