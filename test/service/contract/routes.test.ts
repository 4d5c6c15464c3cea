import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gpu } from '../../support/cli/command.js';
import * as tables from '../../support/contract-tables.js';
import type { Answer, Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

let service: Service;
let renter: Renter;

beforeAll(async () => {
  service = await startService();
  renter = await service.renter();
});
afterAll(() => service.close());

const SECOND_IN_UTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;
const REQUEST_ID = /^[0-9a-f]{32}$/;

async function running(): Promise<string> {
  const answer = await renter.rest('POST', '/instances', { machine_id: await service.machine() });
  return answer.body.id;
}

/** Returns the raw response. */
function raw(method: string, path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(service.address + path, { method, headers: { authorization: `Bearer ${renter.key}`, ...headers } });
}

describe('a request', () => {
  it('to GET /gpus/pricing returns 200 gpu_pricing without a key', async () => {
    const { status, body } = await service.anyone.rest('GET', '/gpus/pricing');
    expect(status).toBe(200);
    expect(tables.misfits(body, tables.PRICE_SHEET)).toEqual([]);
    expect(body).toMatchObject({ object: 'gpu_pricing', currency: 'USD', billing: 'per_second', count: 83 });
    expect(body.market_snapshot).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  });

  it('to GET /offers returns 200 offers without a key', async () => {
    const { status, body } = await service.anyone.rest('GET', '/offers');
    expect(status).toBe(200);
    expect(tables.misfits(body, tables.OFFERS)).toEqual([]);
    expect(body).toMatchObject({ object: 'offers', count: 25 });
  });

  it('to GET /balance returns 200 balance', async () => {
    const { status, body } = await renter.rest('GET', '/balance');
    expect(status).toBe(200);
    expect(tables.misfits(body, tables.BALANCE)).toEqual([]);
    expect(body).toMatchObject({ object: 'balance', currency: 'USD' });
  });

  it('to POST /instances returns 201 and a running instance with the body’s defaults', async () => {
    const machine_id = await service.machine({ numGpus: 4, region: 'eu-pl-waw' });
    const { status, body } = await renter.rest('POST', '/instances', { machine_id });
    expect(status).toBe(201);
    expect(tables.misfits(body, tables.INSTANCE)).toEqual([]);
    expect(body).toEqual({
      object: 'instance',
      id: expect.stringMatching(/^i-[a-f0-9]{8}$/),
      status: 'running',
      gpu: 'h100-sxm',
      num_gpus: 4,
      region: 'eu-pl-waw',
      template: 'pytorch',
      disk_gb: 50,
      type: 'od',
      price_hr: 8.76,
      hostname: `${body.id}.gpu.localhost`,
      created_at: '2026-11-20T12:00:00Z',
      stopped_at: null,
    });
  });

  it('to GET /instances returns 200 and the active instances, newest first', async () => {
    const other = await service.renter();
    const ids: string[] = [];
    for (let index = 0; index < 4; index += 1) {
      const { body } = await other.rest('POST', '/instances', { machine_id: await service.machine() });
      ids.unshift(body.id);
    }
    await other.rest('POST', `/instances/${ids[1]}/actions`, { action: 'stop' });
    await other.rest('DELETE', `/instances/${ids[2]}`);
    const { status, body } = await other.rest('GET', '/instances');
    expect(status).toBe(200);
    expect(tables.misfits(body, tables.INSTANCES)).toEqual([]);
    expect(body.object).toBe('instances');
    const listed = body.data.map((instance: { id: string; status: string }) => [instance.id, instance.status]);
    expect(listed).toEqual([
      [ids[0], 'running'],
      [ids[1], 'stopped'],
      [ids[3], 'running'],
    ]);
  });

  it('to GET /instances/{id} returns 200 and the instance, even if destroyed', async () => {
    const id = await running();
    const { status, body } = await renter.rest('GET', `/instances/${id}`);
    expect(status).toBe(200);
    expect(tables.misfits(body, tables.INSTANCE)).toEqual([]);
    await renter.rest('DELETE', `/instances/${id}`);
    const destroyed = await renter.rest('GET', `/instances/${id}`);
    expect(destroyed.status).toBe(200);
    expect(destroyed.body).toEqual({ ...body, status: 'destroyed', stopped_at: '2026-11-20T12:00:00Z' });
  });

  it('to DELETE /instances/{id} returns 200 with the object, id and status', async () => {
    const id = await running();
    const { status, body } = await renter.rest('DELETE', `/instances/${id}`);
    expect(status).toBe(200);
    expect(tables.misfits(body, tables.DESTROYED)).toEqual([]);
    expect(body).toEqual({ object: 'instance', id, status: 'destroyed' });
  });

  it('to POST /instances/{id}/actions returns 200 and the instance in its new state', async () => {
    const id = await running();
    service.clock.advance(60);
    const { status, body } = await renter.rest('POST', `/instances/${id}/actions`, { action: 'stop' });
    expect(status).toBe(200);
    expect(tables.misfits(body, tables.INSTANCE)).toEqual([]);
    expect(body).toMatchObject({ object: 'instance', id, status: 'stopped' });
    expect(body.stopped_at).toMatch(SECOND_IN_UTC);
    expect(Date.parse(body.stopped_at) - Date.parse(body.created_at)).toBe(60_000);
    const started = await renter.rest('POST', `/instances/${id}/actions`, { action: 'start' });
    expect(started.body).toEqual({ ...body, status: 'running', stopped_at: null });
  });

  it.each([
    ['od', 'od', 2.19],
    ['interruptible', 'spot', 1.095],
    ['spot', 'spot', 1.095],
    ['res', 'res', 1.4235],
  ])('to deploy type %s returns type %s', async (type, returnedType, price) => {
    const { status, body } = await renter.rest('POST', '/instances', {
      machine_id: await service.machine(),
      type,
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({ type: returnedType, price_hr: price });
  });

  it('may set optional members to null', async () => {
    const body = { machine_id: await service.machine(), template: null, disk_gb: null, type: null };
    const deployed = await renter.rest('POST', '/instances', body);
    expect(deployed.status).toBe(201);
    expect(deployed.body).toMatchObject({ template: 'pytorch', disk_gb: 50, type: 'od' });
  });

  it.each<[string, string, object | undefined, string]>([
    ['GET', '/offers?num_gpus=8', undefined, 'unknown query parameter num_gpus; did you mean num_min?'],
    ['GET', '/offers?gpu=l4&max_price=0.1', undefined, 'unknown query parameter max_price; did you mean price_max?'],
    ['GET', '/offers?LIMIT=9', undefined, 'unknown query parameter LIMIT; did you mean limit?'],
    [
      'GET',
      '/offers?page=2',
      undefined,
      'unknown query parameter page; known: gpu, region, num_min, price_max, cuda_min, limit',
    ],
    ['GET', '/offers?__proto__=1', undefined, 'unknown query parameter __proto__; known: gpu,'],
    ['GET', '/balance?currency=EUR', undefined, 'unknown query parameter currency; this route has none'],
    ['GET', '/instances?status=running', undefined, 'unknown query parameter status; known: labels'],
    ['POST', '/instances?disk_gb=7', {}, 'unknown query parameter disk_gb; did you mean the body member disk_gb?'],
    ['POST', '/instances', { diskGb: 9 }, 'unknown body member diskGb; did you mean disk_gb?'],
    [
      'POST',
      '/instances',
      { idempotency_key: 'a' },
      'unknown body member idempotency_key; did you mean the header Idempotency-Key?',
    ],
    [
      'POST',
      '/instances',
      { ports: [{ port: 80, nmae: 'a' }] },
      'ports[0] has an unknown member nmae; did you mean name?',
    ],
    ['POST', '/volumes/v-00000000/release', { force: true }, 'unknown body member force; this route has none'],
  ])('is refused if it has unknown names: %s %s %j', async (method, path, more, message) => {
    const machine_id = await service.machine();
    const body = path.startsWith('/instances') && method === 'POST' ? { machine_id, ...more } : more;
    const answer = await renter.rest(method, path, body);
    expect([answer.status, answer.body.error.code]).toEqual([422, 'invalid_request']);
    expect(answer.body.error.message).toContain(message);
    expect(await service.sql('select from instance where machine_id = $1', [machine_id])).toEqual([]);
  });

  it('is refused even if the unknown parameter comes after a thousand others', async () => {
    for (const path of [`/offers?${'&'.repeat(1_200)}num_min=9`, `/offers?${'a&'.repeat(1_200)}limit=1`])
      expect((await service.anyone.rest('GET', path)).status).toBe(422);
    const url = `${service.address}/graphql?${'a=&'.repeat(1_200)}query=%7Bpricing%7Bcount%7D%7D`;
    expect((await fetch(url, { headers: { accept: 'application/json' } })).status).toBe(200);
  });

  it.each([
    'jupyter',
    'ghcr.io/org/image:tag',
    'localhost:5000/a/b',
    `pytorch/pytorch@sha256:${'a'.repeat(64)}`,
    'a'.repeat(255),
  ])('may specify the template %s', async (template) => {
    const answer = await renter.rest('POST', '/instances', { machine_id: await service.machine(), template });
    expect(answer.status).toBe(201);
    expect(answer.body.template).toBe(template);
  });
});

describe('a launch', () => {
  it('is returned as given, together with the instance’s terms', async () => {
    const launch = {
      name: 'train-1',
      env: { MODEL: 'base' },
      command: ['python', 'train.py'],
      ports: [{ port: 8888, name: 'JupyterLab' }],
      restart: 'on_failure',
    };
    const terms = { template: 'pytorch', disk_gb: 60, type: 'spot', spend_limit: 5 };
    const machine_id = await service.machine();
    const { id } = (await renter.rest('POST', '/instances', { machine_id, ...terms, ...launch })).body;
    const { status, body } = await renter.rest('GET', `/instances/${id}/launch`);
    expect([status, body.object, body.id]).toEqual([200, 'instance_launch', id]);
    expect(body).toMatchObject({ ...terms, name: 'train-1', launch, volumes: [] });
    expect((await (await service.renter()).rest('GET', `/instances/${id}/launch`)).body).toEqual({
      error: { code: 'not_found', message: 'no such instance' },
    });
    const plain = (await renter.rest('POST', '/instances', { machine_id: await service.machine() })).body.id;
    expect((await renter.rest('GET', `/instances/${plain}/launch`)).body).toMatchObject({ name: plain, launch: null });
  });
});

describe('offers', () => {
  it('are filtered by model name, with no results for an unknown one', async () => {
    const slugs = async (gpu: string) => {
      const query = new URLSearchParams({ gpu, limit: '100' });
      const { body } = await service.anyone.rest('GET', `/offers?${query}`);
      return [...new Set(body.data.map((offer: { gpu: string }) => offer.gpu))].sort();
    };
    const { body } = await service.anyone.graphql('{ gpuModels { slug name } offers(limit: 100) { gpu } }');
    const [{ gpu }] = body.data.offers;
    const { name } = body.data.gpuModels.find(({ slug }: { slug: string }) => slug === gpu);
    expect(await slugs(name)).toEqual([gpu]);
    expect(await slugs('no such model')).toEqual([]);
    const search = 'query ($gpu: String!) { offerSearch(filter: { gpus: [$gpu] }) { models { gpu } } }';
    const found = (await service.anyone.graphql(search, { gpu: name })).body.data.offerSearch.models;
    expect(found).toEqual([{ gpu }]);
  });

  it('for an unknown model make the CLI exit with 1 and suggest a similar one', async () => {
    const env = { GPU_BASE_URL: `${service.address}/v1` };
    const unknown = await gpu(['offers', '--gpu', 'RTX 4091'], env);
    expect([unknown.code, unknown.stderr]).toEqual([
      1,
      expect.stringContaining('there is no GPU model RTX 4091; did you mean rtx-4090?'),
    ]);
    const known = await gpu(['offers', '--gpu', 'H100', '--cuda-min', '1.0'], env);
    expect([known.code, known.stdout]).toEqual([0, expect.stringMatching(/h100-/)]);
  });

  it('are from machines with at least the requested CUDA version', async () => {
    const versions = async (query: string) => {
      const { body } = await service.anyone.rest('GET', `/offers?limit=100${query}`);
      return body.data.map(({ cuda_max }: { cuda_max: string }) => cuda_max);
    };
    expect((await versions('&cuda_min=1.0')).length).toBeGreaterThan(0);
    expect(await versions('&cuda_min=99')).toEqual([]);
    const { status, body } = await service.anyone.rest('GET', '/offers?cuda_min=v12');
    expect([status, body.error.message]).toEqual([422, 'cuda_min must be a CUDA version such as 12.4']);
  });
});

describe('routes', () => {
  it.each([
    ['GET', '/v1'],
    ['GET', '/v1/'],
    ['GET', '/v1/nothing'],
    ['GET', '/v1/offers/'],
    ['GET', '/v1/Offers'],
    ['GET', '/V1/offers'],
    ['GET', '/v2/offers'],
    ['GET', '/offers'],
    ['GET', '/v1/instances/i-00000000/logs'],
    ['POST', '/v1/instances/i-00000000/actions/stop'],
    ['PUT', '/v1/nothing'],
    ['GET', '/v1/%zz'],
    ['POST', '/graphql/deploy'],
    ['GET', '//v1/offers'],
  ])('return 404 no_route for %s %s, with or without a key', async (method, path) => {
    for (const headers of [{}, { authorization: '' }] as Record<string, string>[]) {
      const answer = await raw(method, path, headers);
      expect(answer.status).toBe(404);
      const body = await answer.json();
      expect(tables.misfits(body, tables.ERROR)).toEqual([]);
      expect(body.error.code).toBe('no_route');
    }
  });

  it.each([
    ['POST', '/gpus/pricing', 'GET, HEAD, OPTIONS'],
    ['DELETE', '/offers', 'GET, HEAD, OPTIONS'],
    ['PUT', '/balance', 'GET, HEAD, OPTIONS'],
    ['PATCH', '/instances', 'GET, HEAD, OPTIONS, POST'],
    ['DELETE', '/instances', 'GET, HEAD, OPTIONS, POST'],
    ['POST', '/instances/i-00000000', 'DELETE, GET, HEAD, OPTIONS'],
    ['GET', '/instances/i-00000000/actions', 'OPTIONS, POST'],
    ['HEAD', '/instances/i-00000000/actions', 'OPTIONS, POST'],
  ])('return 405 with Allow for %s %s, before the key is checked', async (method, path, allow) => {
    const answer = await service.anyone.rest(method, path);
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe(allow);
    if (method !== 'HEAD') expect(answer.body.error.code).toBe('method_not_allowed');
  });

  it.each(['/v1/openapi.json', '/healthz', '/readyz'])('return 405 with Allow for POST %s', async (path) => {
    const answer = await raw('POST', path);
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
    expect((await answer.json()).error.code).toBe('method_not_allowed');
  });

  it.each(['/gpus/pricing', '/offers?limit=3', '/balance', '/instances', '/openapi.json'])(
    'respond to HEAD %s as to GET, but without a body',
    async (path) => {
      // `fetch` decompresses responses, so the length would differ from the header's.
      const plain = { 'accept-encoding': 'identity' };
      const [get, head] = [await raw('GET', `/v1${path}`, plain), await raw('HEAD', `/v1${path}`, plain)];
      expect(head.status).toBe(200);
      for (const name of ['content-type', 'etag']) expect(head.headers.get(name)).toBe(get.headers.get(name));
      expect(head.headers.get('content-length')).toBe(String((await get.arrayBuffer()).byteLength));
      expect((await head.arrayBuffer()).byteLength).toBe(0);
    },
  );

  it('distinguish missing keys from missing instances in HEAD requests', async () => {
    const id = await running();
    expect((await raw('HEAD', `/v1/instances/${id}`)).status).toBe(200);
    expect((await raw('HEAD', '/v1/instances/i-00000000')).status).toBe(404);
    expect((await raw('HEAD', `/v1/instances/${id}`, { authorization: '' })).status).toBe(401);
  });

  it("send JSON in UTF-8 and a unique request id, but not the software's name", async () => {
    const answers = [await renter.rest('GET', '/balance'), await renter.rest('GET', '/nothing')];
    for (const { headers } of answers) {
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(headers.get('x-request-id')).toMatch(REQUEST_ID);
      expect(headers.get('x-powered-by')).toBeNull();
    }
    expect(answers[0]!.headers.get('x-request-id')).not.toBe(answers[1]!.headers.get('x-request-id'));
  });

  it('send a request id even on endpoints outside the API', async () => {
    for (const path of ['/healthz', '/readyz', '/graphql?query={regions{code}}', '/v1/openapi.json']) {
      const answer = await raw('GET', path, { accept: 'application/json' });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('x-request-id')).toMatch(REQUEST_ID);
    }
  });
});

describe('CORS', () => {
  const ORIGIN = { origin: 'https://console.example.com' };

  it.each(['/v1/offers', '/v1/instances/i-00000000/actions', '/v1/nothing', '/graphql'])(
    'lets a preflight OPTIONS %s succeed without a key',
    async (path) => {
      const answer = await raw('OPTIONS', path, {
        ...ORIGIN,
        authorization: '',
        'access-control-request-method': 'DELETE',
        'access-control-request-headers': 'authorization,idempotency-key,content-type',
      });
      expect(answer.status).toBe(204);
      expect(await answer.text()).toBe('');
      expect(answer.headers.get('access-control-allow-methods')).toBe('GET, HEAD, POST, DELETE, OPTIONS');
      expect(answer.headers.get('access-control-allow-headers')).toBe('Authorization, Content-Type, Idempotency-Key');
      expectOpen(answer);
    },
  );

  it('lets any page read responses and refusals, but never with credentials', async () => {
    const paths = ['/v1/offers', '/v1/nothing', '/v1/balance', '/graphql?query={regions{code}}'];
    for (const path of paths) expectOpen(await raw('GET', path, { ...ORIGIN, accept: 'application/json' }));
  });

  function expectOpen({ headers }: Response): void {
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    const exposed = headers.get('access-control-expose-headers')?.split(', ');
    for (const name of ['X-Request-Id', 'Retry-After', 'RateLimit-Remaining', 'Idempotent-Replayed']) {
      expect(exposed).toContain(name);
    }
  }
});

describe('API keys', () => {
  const GUARDED = [
    ['GET', '/balance'],
    ['GET', '/instances'],
    ['POST', '/instances'],
    ['GET', '/instances/i-00000000'],
    ['DELETE', '/instances/i-00000000'],
    ['POST', '/instances/i-00000000/actions'],
  ] as const;

  function expectUnauthorized({ status, headers, body }: Answer): void {
    expect(status).toBe(401);
    expect(headers.get('www-authenticate')).toBe('Bearer');
    expect(body).toEqual({ error: { code: 'unauthorized', message: 'missing or unknown API key' } });
  }

  it.each(GUARDED)('are required for %s %s, which otherwise returns 401 unauthorized', async (method, path) => {
    expectUnauthorized(await service.anyone.rest(method, path));
  });

  it('are accepted with the scheme in any letter case, but in no other form', async () => {
    const { key } = renter;
    const wrong = [
      key,
      `Basic ${key}`,
      `Bearer${key}`,
      'Bearer',
      `Bearer ${key.toUpperCase()}`,
      `Bearer ${key}0`,
      `Bearer gpu_live_${'0'.repeat(40)}`,
      `Bearer ${key} ${key}`,
    ];
    for (const authorization of wrong) {
      expectUnauthorized(await service.anyone.rest('GET', '/balance', undefined, { authorization }));
    }
    const right = await service.anyone.rest('GET', '/balance', undefined, { authorization: `bearer ${key}` });
    expect(right.status).toBe(200);
  });

  it('are refused if their account is suspended', async () => {
    const suspended = await service.renter();
    await service.sql('update account set suspended_at = settled_at where id = $1', [suspended.accountId]);
    expectUnauthorized(await suspended.rest('GET', '/balance'));
  });

  it('have a fixed prefix and 40 hex characters, and are stored hashed', async () => {
    expect(renter.key).toMatch(/^gpu_live_[0-9a-f]{40}$/);
    const rows = await service.sql(`select row_to_json(api_key)::text as row from api_key`);
    expect(rows.filter(({ row }) => String(row).includes(renter.accountId))).toHaveLength(1);
    const secret = renter.key.slice('gpu_live_'.length);
    expect(rows.filter(({ row }) => String(row).includes(secret.slice(0, 20)))).toEqual([]);
  });

  it("get the same bytes for other accounts' instances as for missing ones", async () => {
    const id = await running();
    const stranger = await service.renter();
    const requests = [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/actions', { action: 'stop' }],
      ['POST', '/actions', { action: 'start' }],
      ['POST', '/actions', { action: 'destroy' }],
    ] as const;
    for (const [method, suffix, body] of requests) {
      const bodies = new Set<string>();
      for (const target of [id, 'i-00000000', 'i-xyz', 'I-0000000A', '%00', '..%2f', 'i-000000000']) {
        const answer = await fetch(`${service.address}/v1/instances/${target}${suffix}`, {
          method,
          headers: { authorization: `Bearer ${stranger.key}`, 'content-type': 'application/json' },
          ...(body && { body: JSON.stringify(body) }),
        });
        expect(answer.status).toBe(404);
        bodies.add(await answer.text());
      }
      expect([...bodies]).toEqual(['{"error":{"code":"not_found","message":"no such instance"}}']);
    }
    expect((await renter.rest('GET', `/instances/${id}`)).body.status).toBe('running');
  });
});
