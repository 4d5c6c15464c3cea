import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { PublicAnswers } from '../../../src/http/public-answers/public-answers.js';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import type { Renter } from '../../support/gateway.js';
import { Line, type RawAnswer, type RawRequest, sendRaw } from '../../support/http.js';
import { allCaughtUp, type Service, startService } from '../../support/service.js';

const ORIGINS = ['https://console.example.com', 'https://other.example.com'];

let service: Service;
/** A gateway on the same database that allows two browser origins. */
let narrow: Service;
let ann: Renter;
let bob: Renter;

beforeAll(async () => {
  service = await startService();
  narrow = await startService({ databaseUrl: service.databaseUrl, corsOrigins: ORIGINS });
  ann = await service.renter('11');
  bob = await service.renter('22');
});
afterAll(async () => {
  await narrow?.close();
  await service?.close();
});
beforeEach(invalidate);
afterEach(() => void vi.restoreAllMocks());

/** Invalidates all cached responses with a notice about a machine that doesn't exist. */
async function invalidate(): Promise<void> {
  const all = [service, narrow];
  for (const { deps } of all) deps.db.notices.publish([{ table: 'machine', ids: ['m-nobody'] }]);
  await allCaughtUp(all);
  for (const { deps } of all) await deps.inventory.current();
}

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  sendRaw(service.address, path, { method, headers });

const JSON_TYPE = 'application/json';
const RESPONSE_TYPE = 'application/graphql-response+json';

function post(body: string | Buffer, headers: Record<string, string> = {}): Promise<RawAnswer> {
  return sendRaw(service.address, '/graphql', { body, headers: { 'content-type': JSON_TYPE, ...headers } });
}

const queryBody = (query: string, variables?: object) => JSON.stringify({ query, variables });
const withKey = ({ key }: Renter) => ({ authorization: `Bearer ${key}` });

/** Returns a computed and a cached response, and how often the inventory was read for the cached one. */
async function twice(
  make: () => Promise<RawAnswer>,
): Promise<{ computed: RawAnswer; cached: RawAnswer; reads: number }> {
  await invalidate();
  const computed = await make();
  const current = vi.spyOn(service.deps.inventory, 'current');
  const cached = await make();
  const reads = current.mock.calls.length;
  current.mockRestore();
  return { computed, cached, reads };
}

/** Returns a response without the parts that differ between equal responses. */
function comparable({ status, headers, bytes }: RawAnswer) {
  const { 'x-request-id': _id, date: _date, ...rest } = headers;
  return { status, headers: rest, bytes: bytes.toString('latin1') };
}

const listed = (header: string | undefined) => (header ?? '').split(/ *, */).sort();

describe.each(['/v1/offers?limit=100', '/v1/gpus/pricing'])('GET %s', (path) => {
  it('is served from the cache with the same status and headers, but a new request id', async () => {
    const { computed, cached, reads } = await twice(() => get(path));
    expect(reads).toBe(0);
    expect(comparable(cached)).toEqual(comparable(computed));
    expect(computed.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(computed.headers['cache-control']).toBe('public, max-age=0, s-maxage=1, must-revalidate');
    expect(computed.headers['access-control-allow-origin']).toBe('*');
    const ids = [computed, cached, await get(path), await get(path, {}, 'HEAD')].map(
      ({ headers }) => headers['x-request-id'],
    );
    expect(new Set(ids).size).toBe(4);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
  });

  it.each([
    [undefined, undefined],
    ['', undefined],
    ['identity', undefined],
    ['gzip', 'gzip'],
    ['GZip', 'gzip'],
    ['br', 'br'],
    ['gzip, deflate, br', 'br'],
    ['gzip;q=1, br;q=0', 'gzip'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['gzip;q=0.5, br;q=0.8, identity;q=0.1', 'br'],
    ['gzip;q=0.5, identity', undefined],
    ['gzip;q=0, br;q=0', undefined],
    ['*', 'br'],
    ['br;q=0, *', 'gzip'],
    ['*;q=0, gzip', 'gzip'],
    ['identity;q=0, *', 'br'],
    ['deflate, zstd', undefined],
    ['nonsense;;q=x', undefined],
  ])('responds to Accept-Encoding: %s with %s', async (accepted, encoding) => {
    const headers: Record<string, string> = accepted === undefined ? {} : { 'accept-encoding': accepted };
    const { computed, cached, reads } = await twice(() => get(path, headers));
    expect(reads).toBe(0);
    expect(comparable(cached)).toEqual(comparable(computed));
    expect([cached.status, cached.headers['content-encoding']]).toEqual([200, encoding]);
    expect(Number(cached.headers['content-length'])).toBe(cached.bytes.length);
    expect(cached.headers.vary).toBe('Accept-Encoding');
    const unpack = { gzip: gunzipSync, br: brotliDecompressSync }[encoding ?? ''];
    const plain = (await get(path)).bytes;
    expect(unpack === undefined ? cached.bytes : unpack(cached.bytes)).toEqual(plain);
    if (encoding !== undefined) expect(cached.bytes.length).toBeLessThan(plain.length / 2);
  });

  it('has a strong ETag for each encoding and returns 304 to clients that hold it', async () => {
    const encodings = ['identity', 'gzip', 'br'];
    const answers = await Promise.all(encodings.map((name) => get(path, { 'accept-encoding': name })));
    const tags = answers.map(({ headers }) => headers.etag!);
    for (const tag of tags) expect(tag).toMatch(/^"[\w-]+"$/);
    expect(new Set(tags).size).toBe(3);
    for (const [index, encoding] of encodings.entries()) {
      const tag = tags[index]!;
      const conditional = (header: string, method = 'GET', more = {}) =>
        get(path, { 'accept-encoding': encoding, 'if-none-match': header, ...more }, method);
      for (const header of [tag, `"other", ${tag}`, `${tag}, "other"`, `"a",${tag},"b"`, '*', `W/${tag}`]) {
        for (const method of ['GET', 'HEAD']) {
          const { status, headers, bytes } = await conditional(header, method);
          expect([header, method, status, bytes.length]).toEqual([header, method, 304, 0]);
          expect([headers.etag, headers.vary]).toEqual([tag, 'Accept-Encoding']);
          expect(headers['cache-control']).toBe('public, max-age=0, s-maxage=1, must-revalidate');
          expect(headers['x-request-id']).toMatch(/^[0-9a-f]{32}$/);
          expect(headers['content-encoding']).toBeUndefined();
        }
      }
      const others = tags.filter((other) => other !== tag);
      for (const header of ['"other"', tag.slice(1, -1), '', ...others, others.join(', ')]) {
        const { status, bytes } = await conditional(header);
        expect([header, status]).toEqual([header, 200]);
        expect(bytes).toEqual(answers[index]!.bytes);
      }
      // A reload requests the bytes.
      expect((await conditional(tag, 'GET', { 'cache-control': 'no-cache' })).status).toBe(200);
    }
  });

  it('also returns 304 if the response is not cached yet', async () => {
    const { etag } = (await get(path)).headers;
    const { computed, cached, reads } = await twice(() => get(path, { 'if-none-match': etag! }));
    expect([computed.status, cached.status, reads]).toEqual([304, 304, 0]);
    expect(comparable(cached)).toEqual(comparable(computed));
  });

  it('returns the same head without a body for HEAD, cached or not', async () => {
    for (const encoding of ['identity', 'gzip', 'br']) {
      const headers = { 'accept-encoding': encoding };
      const { computed, cached, reads } = await twice(() => get(path, headers, 'HEAD'));
      expect(reads).toBe(0);
      const whole = await get(path, headers);
      expect(whole.bytes.length).toBeGreaterThan(100);
      for (const head of [computed, cached]) {
        expect(comparable(head)).toEqual({ ...comparable(whole), bytes: '' });
      }
    }
  });

  it('gets a new ETag after a change and returns new bytes to holders of the old one', async () => {
    const before = await get(path);
    const id = await service.machine({ gpu: 'gtx-1080', numGpus: 1, reliability: 1 });
    const after = await get(path, { 'if-none-match': before.headers.etag! });
    expect(after.status).toBe(200);
    expect(after.headers.etag).not.toBe(before.headers.etag);
    expect(after.bytes).not.toEqual(before.bytes);
    await service.sql('delete from machine where id = $1', [id]);
    const again = await get(path, { 'if-none-match': after.headers.etag! });
    expect([again.status, again.headers.etag]).toEqual([200, before.headers.etag]);
    expect(again.bytes).toEqual(before.bytes);
  });

  it('returns the same response with a valid key, an unknown key or no key', async () => {
    await invalidate();
    const answers: RawAnswer[] = [];
    for (const headers of [withKey(ann), { authorization: 'Bearer gpu_live_nobody' }, {}, withKey(bob)]) {
      answers.push(await get(path, headers));
    }
    for (const answer of answers) expect(comparable(answer)).toEqual(comparable(answers[0]!));
  });
});

it('each URL has its own response, regardless of request order', async () => {
  const queries = ['', '?limit=2', '?limit=3', '?gpu=l4&limit=2', '?gpu=l4', '?gpu=unknown'];
  const counts = async (order: readonly string[]) => {
    const counted: Record<string, number> = {};
    for (const query of order) counted[query] = JSON.parse((await get(`/v1/offers${query}`)).text).count;
    return counted;
  };
  const first = await counts(queries);
  expect(first).toMatchObject({ '': 25, '?limit=2': 2, '?limit=3': 3, '?gpu=l4&limit=2': 2, '?gpu=unknown': 0 });
  expect(await counts(queries)).toEqual(first);
  expect(await counts([...queries].reverse())).toEqual(first);
});

describe('the service description', () => {
  it('is fully linked from /llms.txt', async () => {
    const { status, text, headers } = await get('/llms.txt');
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
    const links = [...text.matchAll(/\]\(http:\/\/[^/]+(\/[^)]*)\)/g)].map(([, path]) => path!);
    expect(links).toEqual(['/v1/openapi.json', '/schema.graphql', '/graphql']);
    for (const path of links.slice(0, 2)) expect([path, (await get(path)).status]).toEqual([path, 200]);
    expect((await get('/schema.graphql')).text).toBe(readFileSync(join(PACKAGE_ROOT, 'schema.graphql'), 'utf8'));
    expect((await get('/llms.txt', {}, 'POST')).status).toBe(405);
  });
});

describe('the cache excludes', () => {
  it.each([
    ['/v1/offers?limit=1000', 422],
    ['/v1/offers?limit=1&limit=2', 422],
    ['/v1/nowhere', 404],
    ['/v1/balance', 401],
    ['/healthz', 200],
    ['/v1/openapi.json', 200],
  ])('the response to GET %s', async (path, status) => {
    for (let time = 0; time < 2; time += 1) {
      const answer = await get(path);
      expect([answer.status, answer.headers.etag, answer.headers['cache-control']]).toEqual([
        status,
        undefined,
        undefined,
      ]);
    }
  });

  it('any response to a request with a key', async () => {
    for (const path of ['/v1/balance', '/v1/instances']) {
      const { headers } = await get(path, withKey(ann));
      expect([headers.etag, headers['cache-control']]).toEqual([undefined, undefined]);
    }
  });

  it('the compressed form of any small response', async () => {
    const { computed, cached } = await twice(() => get('/v1/offers?gpu=unknown', { 'accept-encoding': 'gzip, br' }));
    for (const { headers, text } of [computed, cached]) {
      expect(JSON.parse(text).count).toBe(0);
      expect([headers['content-encoding'], headers.vary]).toEqual([undefined, 'Accept-Encoding']);
    }
  });

  it.each([
    ['REST', () => get('/v1/gpus/pricing')],
    ['GraphQL', () => post(queryBody('{ gpuModel(slug: "l4") { name } } # overtaken'))],
  ])('a response that became outdated while it was computed: %s', async (_name, request) => {
    const { inventory } = service.deps;
    const real = inventory.current.bind(inventory);
    const name = `L4 ${_name}`;
    await invalidate();
    vi.spyOn(inventory, 'current').mockImplementationOnce(async () => {
      const stock = await real();
      await service.sql(`update gpu_model set name = $1 where slug = 'l4'`, [name]);
      // The inventory is read again and current again before the response is computed.
      await real();
      return stock;
    });
    expect((await request()).text).not.toContain(name);
    expect((await request()).text).toContain(name);
  });

  it('errors, which may be temporary', async () => {
    const query = queryBody('{ regions { code } } # fails once');
    for (const request of [() => get('/v1/gpus/pricing'), () => post(query)]) {
      await invalidate();
      const current = vi.spyOn(service.deps.inventory, 'current');
      current.mockRejectedValueOnce(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }));
      expect((await request()).status).toBe(503);
      expect((await request()).status).toBe(200);
      current.mockRestore();
    }
  });
});

describe('pages from listed origins', () => {
  const requests: [string, (headers: Record<string, string>) => Promise<RawAnswer>, string[]][] = [
    [
      'offers',
      (headers) => sendRaw(narrow.address, '/v1/offers?limit=100', { headers }),
      ['Accept-Encoding', 'Origin'],
    ],
    [
      'HEAD',
      (headers) => sendRaw(narrow.address, '/v1/offers', { method: 'HEAD', headers }),
      ['Accept-Encoding', 'Origin'],
    ],
    ['an error', (headers) => sendRaw(narrow.address, '/v1/offers?limit=0', { headers }), ['Origin']],
    [
      'GraphQL',
      (headers) =>
        sendRaw(narrow.address, '/graphql', {
          body: queryBody('{ pricing { count } }'),
          headers: { 'content-type': JSON_TYPE, ...headers },
        }),
      ['Origin'],
    ],
  ];

  it.each(requests)('are each allowed by name for %s, regardless of earlier requests', async (_name, request, vary) => {
    const allowed = async (origin: string | undefined) => {
      const { headers } = await request(origin === undefined ? {} : { origin });
      expect(listed(headers.vary)).toEqual(vary);
      return headers['access-control-allow-origin'];
    };
    for (const first of [ORIGINS[0], ORIGINS[1], 'https://evil.example.com', undefined]) {
      // The first response is computed, and the others are cached.
      await invalidate();
      await allowed(first);
      expect(await allowed(ORIGINS[0])).toBe(ORIGINS[0]);
      expect(await allowed(ORIGINS[1])).toBe(ORIGINS[1]);
      expect(await allowed('https://evil.example.com')).toBeUndefined();
      expect(await allowed(undefined)).toBeUndefined();
    }
  });

  it('are also allowed in 304 responses', async () => {
    const { etag } = (await sendRaw(narrow.address, '/v1/offers')).headers;
    for (const origin of ORIGINS) {
      const headers = { origin, 'if-none-match': etag! };
      const answer = await sendRaw(narrow.address, '/v1/offers', { headers });
      expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([304, origin]);
      expect(listed(answer.headers.vary)).toEqual(['Accept-Encoding', 'Origin']);
    }
  });
});

describe('POST /graphql', () => {
  it('serves a repeated public query from the cache', async () => {
    const body = queryBody('query($gpu: String) { offers(gpu: $gpu) { machineId } regions { name } }', { gpu: 'l4' });
    const keep = vi.spyOn(PublicAnswers.prototype, 'keep');
    await post(body);
    expect(keep).not.toHaveBeenCalled();
    // The operation stays cached after a change.
    const { computed, cached, reads } = await twice(() => post(body));
    expect(reads).toBe(0);
    expect(comparable(cached)).toEqual(comparable(computed));
    const { offers, regions } = JSON.parse(cached.text).data;
    expect(offers).toContainEqual({ machineId: expect.stringMatching(/^m-[0-9a-f]{8}$/) });
    expect(regions).toHaveLength(32);
    expect(cached.headers['x-request-id']).not.toBe(computed.headers['x-request-id']);
  });

  const MIXED = '{ balance { balance } account { id } instances { id } pricing { count } }';

  /** Expects what each caller may see: 11 USD for Ann, 22 USD for Bob, and nothing for anonymous clients. */
  async function expectOwn(caller: Renter | null, body: string): Promise<void> {
    const { status, text } = await post(body, caller === null ? {} : withKey(caller));
    const { data, errors } = JSON.parse(text);
    expect([status, data.pricing]).toEqual([200, { count: 83 }]);
    if (caller === null) {
      expect([data.balance, data.account, data.instances]).toEqual([null, null, null]);
      expect(errors.map(({ extensions }: { extensions: { code: string } }) => extensions.code)).toEqual([
        'unauthorized',
        'unauthorized',
        'unauthorized',
      ]);
    } else {
      expect([errors, data.account]).toEqual([undefined, { id: caller.accountId }]);
      expect(data.balance).toEqual({ balance: caller === ann ? 11 : 22 });
    }
  }

  it("returns only the client's own data, regardless of client order", async () => {
    const keep = vi.spyOn(PublicAnswers.prototype, 'keep');
    const orders = [0, 1, 2].flatMap((a) => [0, 1, 2].filter((b) => b !== a).map((b) => [a, b, 3 - a - b]));
    for (const [index, order] of orders.entries()) {
      const body = queryBody(`${MIXED} # ${index}`);
      // There are four rounds, of which the third is the first that runs compiled.
      for (let round = 0; round < 4; round += 1) {
        for (const caller of order) await expectOwn([ann, bob, null][caller]!, body);
      }
    }
    expect(keep).not.toHaveBeenCalled();
  });

  it('caches public data only for requests without a key', async () => {
    const body = queryBody('{ pricing { count } } # public');
    const keep = vi.spyOn(PublicAnswers.prototype, 'keep');
    const current = vi.spyOn(service.deps.inventory, 'current');
    const texts: string[] = [];
    for (const headers of [withKey(ann), { authorization: 'Bearer gpu_live_nobody' }, withKey(bob)]) {
      texts.push((await post(body, headers)).text);
    }
    expect([keep.mock.calls.length, current.mock.calls.length]).toEqual([0, 3]);
    for (let time = 0; time < 3; time += 1) texts.push((await post(body)).text);
    expect([keep.mock.calls.length, current.mock.calls.length]).toEqual([1, 5]);
    texts.push((await post(body, withKey(ann))).text);
    expect([keep.mock.calls.length, current.mock.calls.length]).toEqual([1, 6]);
    expect(new Set(texts).size).toBe(1);
  });

  it('caches neither the operations nor the responses of console sessions', async () => {
    const origin = service.address;
    const signedIn = await sendRaw(origin, '/console/session', {
      body: JSON.stringify({ key: ann.key }),
      headers: { origin, 'content-type': JSON_TYPE },
    });
    const session = { origin, cookie: signedIn.headers['set-cookie']!.split(';')[0]! };
    const body = queryBody('query($id: ID!) { offer(machineId: $id) { gpu } } # session', { id: 'm-secret00' });
    const keep = vi.spyOn(PublicAnswers.prototype, 'keep');
    const lookUp = vi.spyOn(PublicAnswers.prototype, 'lookupOperation');
    for (let time = 0; time < 4; time += 1) expect((await post(body, session)).status).toBe(200);
    expect([lookUp.mock.calls.length, keep.mock.calls.length]).toEqual([0, 0]);
    // A foreign cookie alone is not a session.
    for (let time = 0; time < 4; time += 1) expect((await post(body, { cookie: 'theirs=1' })).status).toBe(200);
    expect([lookUp.mock.calls.length, keep.mock.calls.length]).toEqual([4, 1]);
  });

  it('caches a query with a private field only if a variable excludes the field', async () => {
    const query = 'query($mine: Boolean!) { pricing { count } balance @include(if: $mine) { balance } }';
    for (let round = 0; round < 4; round += 1) {
      const open = await post(queryBody(query, { mine: false }));
      expect(JSON.parse(open.text)).toEqual({ data: { pricing: { count: 83 } } });
      const closed = await post(queryBody(query, { mine: true }));
      expect(JSON.parse(closed.text)).toMatchObject({ data: { balance: null }, errors: [{}] });
      const own = await post(queryBody(query, { mine: true }), withKey(bob));
      expect(JSON.parse(own.text)).toEqual({ data: { pricing: { count: 83 }, balance: { balance: 22 } } });
    }
  });

  it.each([
    ['a mutation', 'mutation { __typename }', 200],
    ['a refused mutation', 'mutation { createApiKey { secret } }', 401],
    ['a refused field', '{ offers(limit: 1000) { machineId } }', 200],
    ['a syntax error', '{ offers', 200],
    ['an unknown field', '{ nothing }', 200],
  ])('never caches %s', async (_name, query, status) => {
    const keep = vi.spyOn(PublicAnswers.prototype, 'keep');
    const answers = [];
    for (let time = 0; time < 4; time += 1) answers.push(await post(queryBody(query)));
    for (const answer of answers) expect(comparable(answer)).toEqual(comparable(answers[0]!));
    expect(answers[0]!.status).toBe(status);
    expect(keep).not.toHaveBeenCalled();
  });

  it('executes the named operation', async () => {
    const query = 'query A { regions { code } } query B { templates { slug } } mutation C { createApiKey { secret } }';
    for (let round = 0; round < 3; round += 1) {
      const fields = ['A', 'B'].map(async (operationName) => {
        const { text } = await post(JSON.stringify({ query, operationName }));
        return Object.keys(JSON.parse(text).data);
      });
      expect(await Promise.all(fields)).toEqual([['regions'], ['templates']]);
      expect((await post(JSON.stringify({ query, operationName: 'C' }))).status).toBe(401);
      expect(JSON.parse((await post(JSON.stringify({ query }))).text).errors).toHaveLength(1);
    }
  });

  it('responds to POST and GET in the accepted type, regardless of earlier requests', async () => {
    const good = '{ templates { slug } }';
    const bad = '{ nothing }';
    const types = [JSON_TYPE, RESPONSE_TYPE, 'text/event-stream', JSON_TYPE, RESPONSE_TYPE];
    for (const query of [good, bad]) {
      for (let round = 0; round < 3; round += 1) {
        for (const accept of types) {
          const requests: [string, Promise<RawAnswer>][] = [
            ['POST', post(queryBody(query), { accept })],
            ['GET', get(`/graphql?query=${encodeURIComponent(query)}`, { accept })],
          ];
          for (const [method, response] of requests) {
            const { status, headers, text } = await response;
            expect([method, accept, headers['content-type']]).toEqual([
              method,
              accept,
              expect.stringContaining(accept),
            ]);
            const isStream = accept === 'text/event-stream';
            // An EventSource reconnects after any stream that ends, so a refusal must not be a stream with status 200.
            const isRefused = query === bad && (accept === RESPONSE_TYPE || (isStream && method === 'GET'));
            expect([method, accept, status]).toEqual([method, accept, isRefused ? 400 : 200]);
            const result = isStream ? /^event: next\ndata: (.*)$/m.exec(text)?.[1] : text;
            expect([method, accept, text.slice(0, 20), result]).toEqual([
              method,
              accept,
              text.slice(0, 20),
              expect.any(String),
            ]);
            expect(Object.keys(JSON.parse(result!))).toEqual([query === bad ? 'errors' : 'data']);
          }
        }
      }
    }
  });

  it('responds with 406, cached or not, if it supports no accepted type', async () => {
    const body = queryBody('{ templates { image } }');
    expect((await post(body)).status).toBe(200);
    for (let time = 0; time < 2; time += 1) expect((await post(body, { accept: 'image/png' })).status).toBe(406);
  });

  it('distinguishes documents that differ in whitespace or spelling', async () => {
    const documents = [
      '{ templates { slug } }',
      '{templates{slug}}',
      '{ templates { slug }\n}',
      '{ templates { image } }',
      '{ templates { slug: image } }',
    ];
    for (let round = 0; round < 3; round += 1) {
      const texts = [];
      for (const query of documents) texts.push((await post(queryBody(query))).text);
      expect(new Set(texts.slice(0, 3)).size).toBe(1);
      expect(new Set(texts).size).toBe(3);
    }
    const spaced = await post(' \n{ "query" : "{ templates { slug } }" }\n');
    expect(spaced.text).toBe((await post(queryBody('{ templates { slug } }'))).text);
  });

  it('distinguishes similar characters and always rejects invalid UTF-8', async () => {
    // The UTF-8 bytes of the first, read as Latin-1, are the second.
    for (const [slug, name] of [
      ['\u00e9', 'E acute'],
      ['\u00c3\u00a9', 'A tilde'],
    ]) {
      await service.sql(
        `insert into gpu_model select (jsonb_populate_record(gpu_model, jsonb_build_object('slug', $1::text, 'name', $2::text, 'position', 900))).*
         from gpu_model where slug = 'l4'`,
        [slug, name],
      );
    }
    const body = (slug: string) => queryBody(`{ gpuModel(slug: "${slug}") { name } }`);
    const nameOf = async (bytes: string | Buffer) => JSON.parse((await post(bytes)).text).data.gpuModel.name;
    for (let round = 0; round < 3; round += 1) {
      expect(await nameOf(body('\u00e9'))).toBe('E acute');
      expect(await nameOf(body('\u00c3\u00a9'))).toBe('A tilde');
      expect(await nameOf(body('\\u00e9').replaceAll('\\\\', '\\'))).toBe('E acute');
      // The replacement character is a valid character itself.
      expect(JSON.parse((await post(body('\ufffd'))).text)).toEqual({ data: { gpuModel: null } });
      const nameless = Buffer.from(body('?'));
      nameless[nameless.indexOf('?')] = 0xff;
      for (const bytes of [Buffer.from(body('\u00e9'), 'latin1'), nameless]) {
        const { status, text } = await post(bytes);
        expect([status, JSON.parse(text).data]).toEqual([400, undefined]);
      }
    }
    await service.sql('delete from gpu_model where position = 900');
  });

  it('executes a long document without caching it', async () => {
    const keep = vi.spyOn(PublicAnswers.prototype, 'keep');
    for (const length of [7_900, 8_100, 33_000]) {
      const body = queryBody('{ templates { slug } } #'.padEnd(length, '.'));
      for (let time = 0; time < 2; time += 1) {
        expect(JSON.parse((await post(body)).text).data.templates.length).toBeGreaterThan(1);
      }
      expect([length, keep.mock.calls.length]).toEqual([length, 1]);
    }
  });
});

describe('many requests on one connection', () => {
  const CACHED = queryBody('{ pricing { count } }');
  const PRIVATE = queryBody('{ balance { balance } }');

  /** Returns the bytes of a request. */
  function bytesOf(path: string, { method = 'GET', headers = {}, body }: RawRequest = {}): string {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const lines = Object.entries({ host: 'gateway', ...length, ...headers }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`;
  }

  const graphql = (body: string, headers = {}) =>
    bytesOf('/graphql', { method: 'POST', headers: { 'content-type': JSON_TYPE, ...headers }, body });
  /** A body that could be mistaken for a request. */
  const smuggled = bytesOf('/v1/balance', { headers: { authorization: 'Bearer x' } });

  type Step = [name: string, bytes: string, check: (answer: RawAnswer) => void];
  const counts = ({ status, text }: RawAnswer) =>
    expect([status, text]).toEqual([200, '{"data":{"pricing":{"count":83}}}']);
  const offers = ({ status, text }: RawAnswer) => expect([status, JSON.parse(text).count]).toEqual([200, 1]);
  const OFFER = '/v1/offers?limit=1';

  const steps = (): Step[] => [
    ['cached GraphQL', graphql(CACHED), counts],
    ['cached GraphQL again', graphql(CACHED), counts],
    ['cached REST', bytesOf(OFFER), offers],
    ['cached REST with a body', bytesOf(OFFER, { body: smuggled }), offers],
    ['HEAD', bytesOf(OFFER, { method: 'HEAD' }), ({ status }) => expect(status).toBe(200)],
    ['HEAD with a body', bytesOf(OFFER, { method: 'HEAD', body: smuggled }), ({ status }) => expect(status).toBe(200)],
    [
      'a preflight with a body',
      bytesOf('/graphql', { method: 'OPTIONS', body: smuggled }),
      (a) => expect(a.status).toBe(204),
    ],
    [
      'with a key',
      graphql(PRIVATE, withKey(ann)),
      ({ text }) => expect(JSON.parse(text)).toEqual({ data: { balance: { balance: 11 } } }),
    ],
    [
      'with another key',
      graphql(PRIVATE, withKey(bob)),
      ({ text }) => expect(JSON.parse(text)).toEqual({ data: { balance: { balance: 22 } } }),
    ],
    ['without a key', graphql(PRIVATE), ({ status }) => expect(status).toBe(401)],
    ['not modified', bytesOf(OFFER, { headers: { 'if-none-match': '*' } }), ({ status }) => expect(status).toBe(304)],
    [
      'in chunks',
      `POST /graphql HTTP/1.1\r\nhost: gateway\r\ncontent-type: ${JSON_TYPE}\r\ntransfer-encoding: chunked\r\n\r\n${CACHED.length.toString(16)}\r\n${CACHED}\r\n0\r\n\r\n`,
      counts,
    ],
    ['an empty body', graphql(''), ({ status }) => expect(status).toBe(400)],
    ['invalid JSON', graphql('{"query":'), ({ status }) => expect(status).toBe(400)],
    ['an ignored body', bytesOf('/v1/nowhere', { method: 'POST', body: smuggled }), (a) => expect(a.status).toBe(404)],
    ['cached GraphQL at the end', graphql(CACHED), counts],
  ];

  async function expectAnswers(line: Line, taken: readonly Step[]): Promise<void> {
    for (const [name, bytes, check] of taken) {
      const answer = await line.next(bytes.startsWith('HEAD '));
      try {
        check(answer);
      } catch (error) {
        throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
      }
    }
  }

  it('are processed one after another', async () => {
    const line = await Line.open(service.address);
    for (const step of steps()) {
      await line.write(step[1]);
      await expectAnswers(line, [step]);
    }
    line.end();
    expect(await line.rest()).toBe('');
  });

  it.each([1, 7, 33])('get responses in order when pipelined, rotated by %d', async (by) => {
    const taken = [...steps().slice(by % 16), ...steps().slice(0, by % 16)];
    const line = await Line.open(service.address);
    await line.write(taken.map(([, bytes]) => bytes).join(''));
    await expectAnswers(line, taken);
    line.end();
    expect(await line.rest()).toBe('');
  });

  it('get responses no matter where they are split into packets', async () => {
    const request = graphql(CACHED);
    const head = request.indexOf('\r\n\r\n') + 4;
    for (const at of [5, head - 2, head, head + 1, head + 10, request.length - 1]) {
      const line = await Line.open(service.address);
      await line.write(request.slice(0, at));
      // The first part has been read once a response arrives on another connection.
      await get('/healthz');
      await line.write(request.slice(at));
      counts(await line.next());
      // The connection remains usable.
      await line.write(request);
      counts(await line.next());
      line.end();
      expect(await line.rest()).toBe('');
    }
  });

  it('get responses until excess bytes after a body are rejected as the next request', async () => {
    const line = await Line.open(service.address);
    await line.write(`${graphql(CACHED)}{"query":"more"}`);
    counts(await line.next());
    expect((await line.next()).status).toBe(400);
    expect(await line.rest()).toBe('');
  });

  it('are not executed if the connection ends before the announced length', async () => {
    const line = await Line.open(service.address);
    const keep = vi.spyOn(PublicAnswers.prototype, 'keep');
    await line.write(graphql(CACHED, { 'content-length': CACHED.length + 10 }));
    await get('/healthz');
    line.end();
    expect(await line.rest()).not.toContain('"count"');
    expect(keep).not.toHaveBeenCalled();
    // The same body with its rest is executed.
    counts(await post(`${CACHED}          `));
  });
});
