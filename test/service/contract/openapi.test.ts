import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STATUS_OF } from '../../../src/domain/kernel/errors.js';
import * as tables from '../../support/contract-tables.js';
import { dereferenced, type OpenApiDocument, type Operation, operationsOf, pointerOf } from '../../support/openapi.js';
import { type Service, startService } from '../../support/service.js';

let service: Service;
/** The document, with its references resolved. */
let resolved: OpenApiDocument;
let operations: Map<string, Operation>;

beforeAll(async () => {
  const secretsKeys = ['5'.repeat(64)];
  service = await startService({ rateLimitPerMinute: 30, publicUrl: 'https://gpu.example.com', secretsKeys });
  resolved = dereferenced(service.api.document);
  operations = new Map(operationsOf(resolved).map((entry) => [entry.operation.operationId, entry.operation]));
});
afterAll(() => service.close());

// biome-ignore lint/suspicious/noExplicitAny: JSON schemas of any shape
type Schema = any;
type Json = Schema;

/** Returns every schema object within a value, with its path. */
function schemasIn(value: unknown, path = ''): [path: string, schema: Schema][] {
  if (typeof value !== 'object' || value === null) return [];
  const here: [string, Schema][] = 'type' in value && typeof value.type !== 'object' ? [[path, value]] : [];
  const members = Object.entries(value).filter(([name]) => name !== 'example' && name !== 'examples');
  return [...here, ...members.flatMap(([name, member]) => schemasIn(member, `${path}/${name}`))];
}

function parametersOf(operationId: string): Record<string, Schema> {
  const { parameters = [] } = operations.get(operationId)!;
  return Object.fromEntries(
    parameters.map(({ name, in: place, required, schema }) => [name, { in: place, required, ...schema }]),
  );
}

function bodyOf(operationId: string): Schema {
  return operations.get(operationId)!.requestBody!.content['application/json']!.schema;
}

/** Optional members in addition to the contract's. */
const LAUNCH = [
  'name',
  'env',
  'secrets',
  'entrypoint',
  'command',
  'ports',
  'tcp_ports',
  'registry_login',
  'user',
  'restart',
  'on_exit',
];

/** Content types of the responses that aren't JSON. */
const TEXTS: Readonly<Record<string, string>> = {
  scrapeInstance: 'text/plain',
  exportFocus: 'text/csv',
  getInvoice: 'text/html',
};

describe('the OpenAPI document', () => {
  it('is OpenAPI 3.1 for version 1.0.0, served as JSON without a key', async () => {
    const answer = await fetch(`${service.address}/v1/openapi.json`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    const { openapi, info, servers, components } = service.api.document as Schema;
    expect(openapi).toMatch(/^3\.1\.\d+$/);
    expect(info).toMatchObject({ version: '1.0.0', title: expect.any(String), description: expect.any(String) });
    expect(servers).toEqual([{ url: 'https://gpu.example.com/v1' }]);
    expect(components.securitySchemes.apiKey).toMatchObject({ type: 'http', scheme: 'bearer' });
  });

  it("has the contract's operations and those for volumes, but no others", () => {
    const listed = operationsOf(service.api.document).map(({ path, method, operation }) => [
      `${method.toUpperCase()} ${path}`,
      operation.security.length > 0 ? 'key' : 'public',
      Object.keys(operation.responses)[0],
    ]);
    expect(listed).toEqual([
      ['GET /gpus/pricing', 'public', '200'],
      ['GET /offers', 'public', '200'],
      ['POST /models/memory', 'public', '200'],
      ['GET /balance', 'key', '200'],
      ['GET /statements/{month}/signed', 'key', '200'],
      ['GET /instances', 'key', '200'],
      ['POST /instances', 'key', '201'],
      ['GET /instances/{id}', 'key', '200'],
      ['DELETE /instances/{id}', 'key', '200'],
      ['POST /instances/{id}/actions', 'key', '200'],
      // These operations go beyond the contract.
      ['GET /instances/{id}/launch', 'key', '200'],
      ['POST /instances/{id}/web-token', 'key', '201'],
      ['POST /instances/{id}/move', 'key', '201'],
      ['GET /statements/{month}/invoice', 'key', '200'],
      ['GET /instances/{id}/metrics', 'key', '200'],
      ['GET /statements/{month}/focus', 'key', '200'],
      ['GET /instances/{id}/metrics/history', 'key', '200'],
      ['GET /instances/{id}/timeline', 'key', '200'],
      ['GET /volumes', 'key', '200'],
      ['POST /volumes', 'key', '201'],
      ['GET /volumes/{id}', 'key', '200'],
      ['DELETE /volumes/{id}', 'key', '200'],
      ['POST /volumes/{id}/grow', 'key', '200'],
      ['POST /volumes/{id}/release', 'key', '200'],
      ['GET /log/roots', 'public', '200'],
      ['GET /log/consistency', 'public', '200'],
      ['GET /log/inclusion', 'key', '200'],
    ]);
    expect(operations.size).toBe(27);
  });

  it('contains only expected members', () => {
    const allowed = ['openapi', 'info', 'servers', 'tags', 'paths', 'components'];
    expect(Object.keys(resolved).filter((name) => !allowed.includes(name))).toEqual([]);
    for (const { path, operation } of operationsOf(resolved)) {
      const { operationId, tags, summary, description, security, ...sent } = operation;
      const { parameters = [], requestBody, responses, ...rest } = sent;
      expect(rest).toEqual({});
      expect(tags).toEqual([expect.stringMatching(/^(Balance|GPUs|Instances|Models|Offers|Proofs|Volumes)$/)]);
      expect(description.length).toBeGreaterThan(summary.length);
      expect(operationId).toMatch(/^[a-z]+[A-Z][A-Za-z]+$/);
      expect(summary.length).toBeGreaterThan(10);
      expect(security).toEqual(security.length === 0 ? [] : [{ apiKey: [] }]);
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)).toEqual(named);
      expect(new Set(parameters.map(({ name, in: place }) => `${place} ${name}`)).size).toBe(parameters.length);
      for (const parameter of parameters) {
        expect(['query', 'path', 'header']).toContain(parameter.in);
        expect(parameter.required).toBe(parameter.in === 'path' || operationId === 'getLogConsistency');
      }
      if (requestBody !== undefined) expect(Object.keys(requestBody)).toEqual(['required', 'content']);
      for (const [status, response] of Object.entries(responses)) {
        expect(status).toMatch(/^[2-5]\d\d$/);
        expect(response.description).toMatch(/^\w/);
        expect(Object.keys(response.content ?? {})).toEqual(
          status === '304' ? [] : [(status === '200' && TEXTS[operationId]) || 'application/json'],
        );
        expect(response.headers).toHaveProperty('X-Request-Id');
      }
    }
  });

  it('resolves every reference and compiles every schema', () => {
    const { document } = service.api;
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference!);
    const { schemas, headers } = document.components as Schema;
    expect([...new Set(references)].sort()).toEqual(
      [
        ...Object.keys(schemas).map((name) => `#/components/schemas/${name}`),
        ...Object.keys(headers).map((name) => `#/components/headers/${name}`),
      ].sort(),
    );
    for (const { path, method, operation } of operationsOf(document)) {
      for (const [status, { content }] of Object.entries(operation.responses)) {
        if (content === undefined) continue;
        const [type = ''] = Object.keys(content);
        const at = ['paths', path, method, 'responses', status, 'content', type, 'schema'];
        expect(service.api.validator(pointerOf(at))).toBeTypeOf('function');
      }
    }
  });

  it('describes every parameter and body field', () => {
    for (const { operation } of operationsOf(resolved)) {
      for (const { name, description } of operation.parameters ?? []) {
        expect([operation.operationId, name, typeof description]).toEqual([operation.operationId, name, 'string']);
        expect(description.length).toBeGreaterThan(5);
      }
      const properties = operation.requestBody?.content['application/json']?.schema.properties ?? {};
      for (const [name, property] of Object.entries(properties as Record<string, Schema>)) {
        expect([name, property.description?.length > 5]).toEqual([name, true]);
      }
    }
  });

  it('states the bounds and defaults of GET /offers', () => {
    const query = { in: 'query', required: false };
    expect(parametersOf('listOffers')).toMatchObject({
      gpu: { ...query, type: 'string', minLength: 1, maxLength: 64 },
      region: { ...query, type: 'string', minLength: 1, maxLength: 64 },
      num_min: { ...query, type: 'integer', minimum: 1, maximum: 8, default: 1 },
      price_max: { ...query, type: 'number', minimum: 0, maximum: 1_000_000 },
      cuda_min: { ...query, type: 'string' },
      limit: { ...query, type: 'integer', minimum: 1, maximum: 100, default: 25 },
    });
    expect(Object.keys(parametersOf('listOffers'))).toHaveLength(6);
  });

  it('states the bounds and defaults of a deploy', () => {
    const { type, required, properties } = bodyOf('deployInstance');
    expect([type, required, Object.keys(properties)]).toEqual([
      'object',
      ['machine_id'],
      [
        'machine_id',
        'template',
        'disk_gb',
        'type',
        ...LAUNCH,
        'stop_at',
        'destroy_at',
        'spend_limit',
        'stop_when_idle',
        'labels',
        'volumes',
      ],
    ]);
    expect(properties.machine_id).toMatchObject({ type: 'string', minLength: 1, maxLength: 64 });
    const optional = (name: string) => {
      const [schema, none] = properties[name].anyOf;
      expect(none).toEqual({ type: 'null' });
      return schema;
    };
    expect(optional('template')).toMatchObject({ type: 'string', minLength: 1, maxLength: 255, default: 'pytorch' });
    expect(optional('disk_gb')).toMatchObject({ type: 'integer', minimum: 1, maximum: 1_000_000, default: 50 });
    expect(optional('type')).toEqual({ type: 'string', enum: ['od', 'interruptible', 'res', 'spot'], default: 'od' });
  });

  it('lists the actions, and idempotency keys wherever they are accepted', () => {
    const { required, properties } = bodyOf('actOnInstance');
    expect([required, properties.action.enum]).toEqual([['action'], ['start', 'stop', 'destroy']]);
    const accepting = [...operations].filter(([id]) => 'Idempotency-Key' in parametersOf(id)).map(([id]) => id);
    expect(accepting).toEqual([
      'deployInstance',
      'destroyInstance',
      'actOnInstance',
      'moveInstance',
      'createVolume',
      'deleteVolume',
      'growVolume',
    ]);
    for (const id of accepting) {
      expect(parametersOf(id)['Idempotency-Key']).toMatchObject({ in: 'header', minLength: 1, maxLength: 255 });
      const success = Object.entries(operations.get(id)!.responses).find(([status]) => status.startsWith('2'))!;
      expect(success[1].headers).toHaveProperty('Idempotent-Replayed');
    }
  });

  it('documents the possible codes and headers for each status', () => {
    const codesOf = (id: string) =>
      Object.fromEntries(
        Object.entries(operations.get(id)!.responses)
          .filter(([status]) => Number(status) >= 400)
          .map(([status, { description }]) => [status, description.split(', ')]),
      );
    for (const id of operations.keys()) {
      for (const [status, codes] of Object.entries(codesOf(id))) {
        for (const code of codes) expect(STATUS_OF[code as keyof typeof STATUS_OF]).toBe(Number(status));
      }
    }
    expect(codesOf('deployInstance')).toEqual({
      400: ['invalid_json'],
      401: ['unauthorized'],
      403: ['forbidden'],
      405: ['method_not_allowed'],
      409: ['deploy_failed', 'idempotency_in_progress'],
      413: ['payload_too_large'],
      422: ['missing_machine', 'idempotency_mismatch', 'invalid_request'],
      429: ['rate_limited'],
      500: ['internal'],
      503: ['unavailable'],
    });
    expect(codesOf('getInstance')[404]).toEqual(['not_found']);
    expect(codesOf('actOnInstance')[422]).toContain('bad_action');
    const headersOf = (id: string, status: number) => Object.keys(operations.get(id)!.responses[status]!.headers!);
    expect(headersOf('getBalance', 429)).toEqual(expect.arrayContaining(['Retry-After', 'RateLimit-Limit']));
    expect(headersOf('getBalance', 401)).toContain('WWW-Authenticate');
    expect(headersOf('listOffers', 200)).toEqual(['X-Request-Id', 'ETag', 'Cache-Control']);
    expect(headersOf('listOffers', 422)).toEqual(['X-Request-Id']);
    const notModified = [...operations].filter(([, { responses }]) => '304' in responses).map(([id]) => id);
    expect(notModified).toEqual(['getPricing', 'listOffers', 'getLogRoots', 'getLogConsistency']);
  });

  it("defines every error code and the contract's error body", () => {
    const validate = service.api.validator('/components/schemas/Error');
    for (const code of Object.keys(STATUS_OF)) expect(validate({ error: { code, message: 'why' } })).toBe(true);
    for (const wrong of [
      { error: { code: 'nothing', message: 'why' } },
      { error: { code: 'internal' } },
      { error: { code: 'internal', message: 'why', stack: 'x' } },
      { message: 'why' },
    ]) {
      expect(validate(wrong)).toBe(false);
    }
  });

  it("has exactly the contract's fields, in order and all required", () => {
    const named = (id: string, status: number) => operations.get(id)!.responses[status]!.content!['application/json']!;
    const expected: [id: string, status: number, table: tables.FieldTable][] = [
      ['getPricing', 200, tables.PRICE_SHEET],
      ['listOffers', 200, tables.OFFERS],
      ['getBalance', 200, tables.BALANCE],
      ['listInstances', 200, tables.INSTANCES],
      ['deployInstance', 201, tables.INSTANCE],
      ['getInstance', 200, tables.INSTANCE],
      ['destroyInstance', 200, tables.DESTROYED],
      ['actOnInstance', 200, tables.INSTANCE],
    ];
    for (const [id, status, table] of expected) compare(named(id, status).schema, table, id);
  });

  function compare(schema: Schema, table: tables.FieldTable, path: string): void {
    const names = table.map(([name]) => name);
    expect([path, schema.type, Object.keys(schema.properties)]).toEqual([path, 'object', names]);
    expect([path, schema.required, schema.additionalProperties]).toEqual([path, names, false]);
    for (const [name, type] of table) {
      const member = schema.properties[name];
      if (typeof type === 'string') {
        const expected = type.endsWith('?') ? [type.slice(0, -1), 'null'] : type;
        expect([path, name, member.type]).toEqual([path, name, expected]);
      } else if (member.type === 'array') compare(member.items, type[0] as tables.FieldTable, `${path}.${name}`);
      else compare(member, type as tables.FieldTable, `${path}.${name}`);
    }
  }

  it('states enums and formats', () => {
    const instance = (operations.get('getInstance')!.responses[200]!.content!['application/json']!.schema as Schema)
      .properties;
    expect(instance.status.enum).toEqual(['running', 'stopped', 'destroyed']);
    expect(instance.type.enum).toEqual(['od', 'spot', 'res']);
    expect([instance.created_at.format, instance.stopped_at.format]).toEqual(['date-time', 'date-time']);
    const sheet = (operations.get('getPricing')!.responses[200]!.content!['application/json']!.schema as Schema)
      .properties;
    expect(sheet.market_snapshot.format).toBe('date');
    expect(sheet.data.items.properties.tier.enum).toEqual(['flagship', 'datacenter', 'consumer-flagship', 'consumer']);
  });

  it('defines each object only once', () => {
    const { schemas } = service.api.document.components;
    expect(Object.keys(schemas)).toEqual([
      'ActionRequest',
      'Activity',
      'AttachedVolume',
      'Balance',
      'CreateVolumeRequest',
      'DeployRequest',
      'DestroyedInstance',
      'Error',
      'FocusCsv',
      'GpuMetrics',
      'GpuPrice',
      'GrowVolumeRequest',
      'Instance',
      'InstanceLaunch',
      'InstanceList',
      'InstanceMetrics',
      'InvoicePage',
      'Launch',
      'LaunchPort',
      'LaunchSecret',
      'LogConsistency',
      'LogInclusion',
      'LogRoots',
      'MetricPoint',
      'ModePrices',
      'ModelMemory',
      'ModelMemoryRequest',
      'ModelSplit',
      'MoveRequest',
      'NetMbps',
      'Offer',
      'OfferList',
      'OfferPrices',
      'PageInfo',
      'PriceSheet',
      'PrometheusText',
      'SignedStatement',
      'Timeline',
      'TimelineEntry',
      'Volume',
      'VolumeList',
      'VolumeRelease',
      'VolumeSnapshot',
      'VolumeWithSnapshots',
      'WebToken',
      'WebTokenRequest',
    ]);
    // No operation has its own copy.
    expect(schemasIn(service.api.document.paths).filter(([, { type }]) => type === 'object')).toEqual([]);
  });

  it('uses only known types in its schemas', () => {
    const types = new Set(schemasIn(resolved.paths).flatMap(([, { type }]) => type));
    const known = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'];
    expect([...types].filter((type) => !known.includes(type))).toEqual([]);
  });
});

describe('the API', () => {
  it('responds as documented for each operation, on success and on refusal', async () => {
    const renter = await service.renter();
    const poor = await service.renter('1');
    const machine_id = await service.machine();
    const { anyone } = service;
    await anyone.rest('GET', '/gpus/pricing');
    await anyone.rest('GET', '/offers?limit=100');
    await anyone.rest('GET', '/offers?limit=0');
    for (const path of ['/gpus/pricing', '/offers']) {
      const etag = (await anyone.rest('GET', path)).headers.get('etag')!;
      // Without an explicit Cache-Control header, fetch adds one that requests the full response.
      await anyone.rest('GET', path, undefined, { 'if-none-match': etag, 'cache-control': 'max-age=0' });
    }
    await renter.rest('GET', '/balance');
    const key = { 'idempotency-key': 'one' };
    const { body } = await renter.rest('POST', '/instances', { machine_id }, key);
    await renter.rest('POST', '/instances', { machine_id }, key);
    await renter.rest('POST', '/instances', {}, key);
    await renter.rest('POST', '/instances', '{');
    await renter.rest('POST', '/instances', `"${'x'.repeat(102_400)}"`);
    await poor.rest('POST', '/instances', { machine_id });
    await renter.rest('GET', '/instances');
    await renter.rest('GET', `/instances/${body.id}`);
    await renter.rest('GET', '/instances/i-00000000');
    const actions = `/instances/${body.id}/actions`;
    await renter.rest('POST', actions, { action: 'stop' });
    await renter.rest('POST', actions, { action: 'stop' });
    await renter.rest('POST', actions, { action: 'reboot' });
    await renter.rest('POST', actions, '{');
    await renter.rest('POST', '/instances/i-00000000/actions', { action: 'stop' });
    await renter.rest('DELETE', `/instances/${body.id}`);
    await renter.rest('DELETE', `/instances/${body.id}`);
    await renter.rest('DELETE', '/instances/i-00000000');
    const volumeOwner = await service.renter();
    const request = { name: 'work', size_gb: 10 };
    const { body: volume } = await volumeOwner.rest('POST', '/volumes', request, key);
    expect(volume).toMatchObject({ object: 'volume', ...request, price_hr: 0.001, deleted_at: null, in_use_by: null });
    await volumeOwner.rest('POST', '/volumes', request, key);
    await volumeOwner.rest('POST', '/volumes', '{');
    await volumeOwner.rest('POST', '/volumes', { ...request, size_gb: 0 });
    await poor.rest('POST', '/volumes', { ...request, size_gb: 10_000 });
    await poor.rest('POST', '/volumes', { ...request, name: 'more', size_gb: 9_999 });
    const grow = `/volumes/${volume.id}/grow`;
    await volumeOwner.rest('POST', grow, { size_gb: 20 });
    await volumeOwner.rest('POST', grow, { size_gb: 10 });
    await volumeOwner.rest('POST', grow, {});
    await volumeOwner.rest('POST', grow, '{');
    await renter.rest('POST', grow, { size_gb: 30 });
    expect((await volumeOwner.rest('GET', `/volumes/${volume.id}`)).body).toMatchObject({ size_gb: 20, snapshots: [] });
    expect(await renter.rest('GET', `/volumes/${volume.id}`)).toMatchObject({
      status: 404,
      body: { error: { message: 'no such volume' } },
    });
    expect((await volumeOwner.rest('GET', '/volumes')).body).toMatchObject({
      object: 'volumes',
      data: [{ id: volume.id }],
    });
    await renter.rest('DELETE', `/volumes/${volume.id}`);
    await volumeOwner.rest('DELETE', `/volumes/${volume.id}`);
    await volumeOwner.rest('DELETE', `/volumes/${volume.id}`);
    for (const [method, path] of [
      ['GET', '/volumes'],
      ['POST', '/volumes'],
      ['GET', `/volumes/${volume.id}`],
      ['DELETE', `/volumes/${volume.id}`],
      ['POST', grow],
      ['GET', '/balance'],
      ['GET', '/instances'],
      ['POST', '/instances'],
      ['GET', `/instances/${body.id}`],
      ['DELETE', `/instances/${body.id}`],
      ['POST', actions],
    ] as const) {
      await anyone.rest(method, path);
      await poor.rest(method, path);
      await anyone.rest('PUT', path);
    }
    for (let turn = 0; turn < 30; turn += 1) await poor.rest('GET', '/balance');
    await poor.rest('POST', '/instances', { machine_id });
    const expected = [
      'getPricing 200',
      'getPricing 304',
      'listOffers 200',
      'listOffers 304',
      'listOffers 422',
      'getBalance 200',
      'getBalance 401',
      'getBalance 429',
      'listInstances 200',
      'listInstances 401',
      'deployInstance 201',
      'deployInstance 400',
      'deployInstance 401',
      'deployInstance 409',
      'deployInstance 413',
      'deployInstance 422',
      'deployInstance 429',
      'getInstance 200',
      'getInstance 401',
      'getInstance 404',
      'destroyInstance 200',
      'destroyInstance 401',
      'destroyInstance 404',
      'destroyInstance 409',
      'actOnInstance 200',
      'actOnInstance 400',
      'actOnInstance 401',
      'actOnInstance 404',
      'actOnInstance 409',
      'actOnInstance 422',
      'listVolumes 200',
      'listVolumes 401',
      'createVolume 201',
      'createVolume 400',
      'createVolume 401',
      'createVolume 409',
      'createVolume 422',
      'getVolume 200',
      'getVolume 401',
      'getVolume 404',
      'growVolume 200',
      'growVolume 400',
      'growVolume 401',
      'growVolume 404',
      'growVolume 409',
      'growVolume 422',
      'deleteVolume 200',
      'deleteVolume 401',
      'deleteVolume 404',
      'deleteVolume 409',
    ];
    expect([...service.api.seen].sort()).toEqual(expected.sort());
  });

  it.each([
    ['the wrong type', { limit: 'ten' }],
    ['out of bounds', { limit: 101 }],
    ['out of bounds', { num_min: 0 }],
    ['out of bounds', { price_max: -1 }],
  ])('rejects what the document forbids: %s', async (_, query) => {
    const [[name, value]] = Object.entries(query) as [[string, string | number]];
    const index = operations.get('listOffers')!.parameters!.findIndex((parameter) => parameter.name === name);
    const validate = service.api.validator(pointerOf(['paths', '/offers', 'get', 'parameters', index, 'schema']));
    expect(validate(value)).toBe(false);
    expect((await service.anyone.rest('GET', `/offers?${name}=${value}`)).status).toBe(422);
  });

  it('accepts a deploy if and only if the document allows its body', async () => {
    const validate = service.api.validator(
      pointerOf(['paths', '/instances', 'post', 'requestBody', 'content', 'application/json', 'schema']),
    );
    const renter = await service.renter('10000');
    const bodies = [
      {},
      { template: null },
      { template: 'a/b:c' },
      { template: '' },
      { template: 'A B' },
      { template: 'x'.repeat(256) },
      { disk_gb: 1 },
      { disk_gb: 0 },
      { disk_gb: 1.5 },
      { disk_gb: '1' },
      { type: 'res' },
      { type: 'spot' },
      { type: null },
      { machine_id: null },
      { machine_id: 7 },
      { other: true },
    ];
    for (const extra of bodies) {
      const body = { machine_id: await service.machine(), ...extra };
      const { status } = await renter.rest('POST', '/instances', body);
      expect([extra, status]).toEqual([extra, validate(body) ? 201 : 422]);
    }
  });
});

describe('examples', () => {
  /** Returns an operation's examples as a reader would paste them: the path with the query, and the body. */
  async function requestOf(operationId: string): Promise<[path: string, body: Json]> {
    const document: OpenApiDocument = await (await fetch(`${service.address}/v1/openapi.json`)).json();
    const { path, operation } = operationsOf(document).find((entry) => entry.operation.operationId === operationId)!;
    const given = (operation.parameters ?? []).filter((parameter) => parameter.example !== undefined);
    const query = new URLSearchParams(given.map(({ name, example }) => [name, String(example)]));
    return [`${path}?${query}`, operation.requestBody?.content['application/json']?.example as Json];
  }

  it('for a search and a deploy can be executed repeatedly', async () => {
    const renter = await service.renter('1000');
    const machines: string[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const [search] = await requestOf('listOffers');
      expect(search).toMatch(/gpu=.+&region=.+/);
      const [first] = (await service.anyone.rest('GET', search)).body.data;
      const [path, body] = await requestOf('deployInstance');
      const { status, body: instance } = await renter.rest('POST', path, body);
      expect([status, instance.gpu, instance.region]).toEqual([201, first.gpu, first.region]);
      machines.push(body.machine_id);
      const [, action] = await requestOf('actOnInstance');
      expect((await renter.rest('POST', `/instances/${instance.id}/actions`, action)).body.status).toBe('stopped');
      await service.sql(`update machine set state = 'DRAINED' where id = $1`, [body.machine_id]);
    }
    expect(new Set(machines).size).toBe(3);
  });

  it('name no machine if none is free, and never an id or idempotency key', async () => {
    const empty = await startService();
    await empty.sql(`update machine set state = 'DRAINED'`);
    // A change to this many machines is reread in the background.
    const count = async () => (await empty.anyone.rest('GET', '/offers')).body.count;
    await expect.poll(count, { timeout: 10_000 }).toBe(0);
    const document: OpenApiDocument = await (await fetch(`${empty.address}/v1/openapi.json`)).json();
    await empty.close();
    const bodies = operationsOf(document).map(({ operation }) => operation.requestBody?.content['application/json']);
    expect(bodies.filter((body) => body?.example !== undefined)).toHaveLength(3);
    const parameters = operationsOf(service.api.document).flatMap(({ operation }) => operation.parameters ?? []);
    const examples = parameters.filter(({ example }) => example !== undefined).map(({ name }) => name);
    expect(examples).toEqual(['gpu', 'region']);
  });

  it('for responses match their schemas', () => {
    const { schemas } = service.api.document.components;
    for (const [name, { examples }] of Object.entries(schemas)) {
      if (name.endsWith('Request')) continue;
      const validate = service.api.validator(`/components/schemas/${name}`);
      for (const example of (examples ?? []) as unknown[]) expect([name, validate(example)]).toEqual([name, true]);
    }
  });
});
