import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { HubClient } from '../../../src/hub/hub-client.js';
import { client, startGateway, type TestGateway } from '../../support/gateway.js';
import { QWEN_7B as CONFIG, Hub, type HubHandler, json } from '../../support/hub.js';

const NAME = 'Qwen/Qwen2.5-7B-Instruct';
const INDEX = {
  metadata: { total_size: 15_231_233_024 },
  weight_map: { 'a.weight': 'model-00001-of-00004.safetensors' },
};
const MEMORY = `query ($model: String, $config: String, $contextLength: Int, $concurrency: Int, $parametersInBillions: Float,
  $weightBits: Int) { modelMemory(model: $model, config: $config, contextLength: $contextLength, concurrency: $concurrency,
  parametersInBillions: $parametersInBillions, weightBits: $weightBits) { model architecture parameters weightBits weightsFrom
  weightBytes contextLength maxContextLength diskGb splits { gpus vramGbMin } } }`;

let hub: Hub;
let url: string;
let gateway: TestGateway;

beforeAll(async () => {
  hub = new Hub();
  url = await hub.listen();
  hub.set(NAME, 'config.json', json(CONFIG));
  hub.set(NAME, 'model.safetensors.index.json', json(INDEX));
  gateway = await startGateway({ modelHub: url, rateLimitPerMinute: 100 });
});
afterAll(async () => {
  await gateway?.close();
  await hub?.close();
});

const memory = async (variables: object) => {
  const { body } = await client(gateway.address).graphql(MEMORY, { ...variables });
  return body.errors?.[0] ?? body.data.modelMemory;
};

describe('the memory of a model', () => {
  it('is computed from a pasted config.json', async () => {
    expect(await memory({ config: JSON.stringify(CONFIG), concurrency: 1 })).toEqual({
      model: null,
      architecture: 'Qwen2ForCausalLM',
      parameters: expect.closeTo(7_615_283_200, -6),
      weightBits: 16,
      weightsFrom: 'CONFIG',
      weightBytes: expect.closeTo(15_230_566_400, -7),
      contextLength: 8_192,
      maxContextLength: 32_768,
      diskGb: 60,
      splits: [
        { gpus: 1, vramGbMin: 20 },
        { gpus: 2, vramGbMin: 11 },
        { gpus: 4, vramGbMin: 6 },
      ],
    });
    const quantised = await memory({ config: JSON.stringify(CONFIG), parametersInBillions: 8, weightBits: 4 });
    expect(quantised).toMatchObject({ weightsFrom: 'REQUEST', parameters: 8e9, weightBits: 4 });
  });

  it('is the same in REST, which reads the hub by name or URL', async () => {
    const { status, headers, body } = await client(gateway.address).rest('POST', '/models/memory', {
      model: `${url}/${NAME}/tree/main`,
      context_length: 32_768,
      concurrency: 2,
    });
    expect(status).toBe(200);
    expect(headers.get('cache-control') ?? '').not.toContain('public');
    expect(body).toMatchObject({
      object: 'model_memory',
      model: NAME,
      weights_from: 'hub',
      weight_bytes: INDEX.metadata.total_size,
      kv_bytes: 2 * 28 * 4 * 128 * 2 * 32_768 * 2,
      context_length: 32_768,
      concurrency: 2,
    });
    const graphql = await memory({ model: NAME, contextLength: 32_768, concurrency: 2 });
    expect(graphql.splits.map(({ vramGbMin }: { vramGbMin: number }) => vramGbMin)).toEqual(
      body.splits.map(({ vram_gb_min }: { vram_gb_min: number }) => vram_gb_min),
    );
    const { body: host } = await client(gateway.address).graphql('{ modelHub }');
    expect(host.data).toEqual({ modelHub: new URL(url).host });
  });

  it.each([
    ['no JSON', '{]', 'config must be JSON'],
    ['NaN', '{"hidden_size": NaN}', 'config must be JSON'],
    ['nesting', `${'['.repeat(21)}${']'.repeat(21)}`, 'config may nest at most 20 levels'],
    ['many values', `[${'1,'.repeat(20_001)}1]`, 'config may have at most 20000 values'],
    [
      'a text that is too long',
      ' '.repeat(64_001),
      'config must be the text of a config.json, of 2 to 64000 characters',
    ],
    ['a missing member', '{}', 'config.num_hidden_layers is missing; it must be a whole number from 1 to 10000'],
  ])('is refused for a config.json with %s', async (_what, config, message) => {
    expect(await memory({ config })).toMatchObject({
      message,
      extensions: { code: 'invalid_request', field: 'config' },
    });
  });

  it.each([
    [{}, 'model or config is required'],
    [{ model: NAME, weightBits: 5 }, 'weightBits must be one of 4, 8, 16'],
    [
      { model: NAME, contextLength: 32_769 },
      "contextLength must be a whole number from 1 to 32768, the model's maximum",
    ],
    [{ model: NAME, concurrency: 0 }, 'concurrency must be a whole number from 1 to 10000'],
    [
      { model: 'https://huggingface.co/a/b' },
      'model must be a name such as Qwen/Qwen2.5-7B-Instruct, or its URL at 127.0.0.1',
    ],
    [{ model: `${NAME}/../../x` }, 'model must be a name such as Qwen/Qwen2.5-7B-Instruct'],
  ])('is refused for %j', async (variables, message) => {
    expect((await memory(variables)).message).toContain(message);
  });

  it('reads nothing unless the operator names a hub', async () => {
    const closed = await startGateway();
    const anyone = client(closed.address);
    const { status, body } = await anyone.rest('POST', '/models/memory', { model: NAME });
    expect([status, body.error.message]).toEqual([
      422,
      "config is required, because this gateway reads no model hub: paste the model's config.json",
    ]);
    expect((await anyone.graphql('{ modelHub }')).body.data).toEqual({ modelHub: null });
    const pasted = await anyone.rest('POST', '/models/memory', { model: NAME, config: JSON.stringify(CONFIG) });
    expect(pasted.body.model).toBe(NAME);
    await closed.close();
  });

  it('limits the models that a client makes the gateway read', async () => {
    const renter = await gateway.renter();
    const answers = await Promise.all(
      Array.from({ length: 22 }, (_, index) => renter.rest('POST', '/models/memory', { model: `some/model-${index}` })),
    );
    const limited = answers.filter(({ status }) => status === 429);
    expect(limited.length).toBeGreaterThan(0);
    expect(limited[0]!.body.error.message).toMatch(/^too many models read from the hub; try again in [123] s$/);
    expect(Number(limited[0]!.headers.get('retry-after'))).toBeGreaterThan(0);
    // Cached models and other clients aren't affected.
    expect((await renter.rest('POST', '/models/memory', { model: NAME })).status).toBe(200);
    expect((await memory({ model: 'some/model-1' })).extensions.code).toBe('not_found');
  });

  it('limits the results of an account, whose aliases all count', async () => {
    const renter = await gateway.renter();
    const aliases = Array.from({ length: 70 }, (_, at) => `a${at}: modelMemory(config: $config) { diskGb }`);
    const query = `query ($config: String) { ${aliases.join(' ')} }`;
    const { body } = await renter.graphql(query, { config: JSON.stringify(CONFIG) });
    const codes = body.errors.map(({ extensions }: { extensions: { code: string } }) => extensions.code);
    expect(new Set(codes)).toEqual(new Set(['rate_limited']));
    expect(codes.length).toBeGreaterThanOrEqual(5);
  });
});

describe('the reader of a hub', () => {
  const reader = (take: (client: string) => void = () => {}) => new HubClient({ url, take, timeoutMs: 1_000 });
  const fault = (name: string) =>
    reader()
      .read(name, 'me')
      .then(
        () => null,
        ({ code, message }) => [code, message],
      );

  beforeEach(() => {
    hub.requests.length = 0;
  });

  it('sends no credentials and requests only two files', async () => {
    const { config, storedBytes } = await reader().read(NAME, 'me');
    expect([JSON.parse(config.toString()), storedBytes]).toEqual([CONFIG, INDEX.metadata.total_size]);
    expect(hub.requests.map(({ path }) => path)).toEqual([
      `/${NAME}/resolve/main/config.json`,
      `/${NAME}/resolve/main/model.safetensors.index.json`,
    ]);
    for (const { headers } of hub.requests) {
      expect(headers).not.toHaveProperty('authorization');
      expect(headers).not.toHaveProperty('cookie');
    }
  });

  it('shares a read and keeps its result, but no errors', async () => {
    const taken: string[] = [];
    const shared = reader((each) => taken.push(each));
    await Promise.all([shared.read(NAME, 'a'), shared.read(NAME, 'b')]);
    await shared.read(NAME, 'c');
    expect(hub.pathsOf(NAME)).toHaveLength(2);
    expect(taken).toEqual(['a', 'b']);
    for (let turn = 0; turn < 2; turn += 1) await shared.read('no/model', 'd').catch(() => {});
    expect(hub.pathsOf('no/model')).toHaveLength(2);
  });

  it('follows a redirect to a new name, but not to another host', async () => {
    let reached = 0;
    const other = createServer((_request, response) => {
      reached += 1;
      response.end(JSON.stringify(CONFIG));
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const to =
      (location: string): HubHandler =>
      (_request, response) =>
        response.writeHead(307, { location }).end();
    hub.set('old/name', 'config.json', to(`/${NAME}/resolve/main/config.json`));
    hub.set('evil/name', 'config.json', to(`http://127.0.0.1:${(other.address() as AddressInfo).port}/x`));
    hub.set('evil/file', 'config.json', to('file:///etc/passwd'));
    hub.set('round/round', 'config.json', to('/round/round/resolve/main/config.json'));
    expect(JSON.parse((await reader().read('old/name', 'me')).config.toString())).toEqual(CONFIG);
    const retry = 'retry later, or paste the config.json';
    const away = ['unavailable', `the model hub can't be read: it redirects to another host; ${retry}`];
    expect(await fault('evil/name')).toEqual(away);
    expect(await fault('evil/file')).toEqual(away);
    expect(await fault('round/round')).toEqual([
      'unavailable',
      `the model hub can't be read: it redirects more than 3 times; ${retry}`,
    ]);
    expect(reached).toBe(0);
    await new Promise((resolve) => other.close(resolve));
  });

  it.each<[string, HubHandler, string, RegExp]>([
    [
      'gated',
      (_q, r) => r.writeHead(401, { 'x-error-code': 'GatedRepo' }).end(),
      'invalid_request',
      /accepted its terms; paste it/,
    ],
    ['forbidden', (_q, r) => r.writeHead(403).end(), 'invalid_request', /accepted its terms; paste it/],
    ['private', (_q, r) => r.writeHead(401).end(), 'not_found', /^there is no public model test\/private$/],
    ['without-config', (_q, r) => r.writeHead(404).end(), 'not_found', /has no config.json$/],
    ['broken', (_q, r) => r.writeHead(500).end(), 'unavailable', /status 500/],
    ['slow', () => {}, 'unavailable', /no response within 1 s/],
    ['slow-body', (_q, r) => r.write('{'), 'unavailable', /no response within 1 s/],
    ['closed', (q) => q.socket.destroy(), 'unavailable', /can't be read: UND_ERR_SOCKET|ECONNRESET/],
    ['large', (_q, r) => r.end(' '.repeat(200_001)), 'invalid_request', /is larger than 200 kB; paste it/],
  ])('refuses a model that is %s', async (name, handler, code, message) => {
    hub.set(`test/${name}`, 'config.json', handler);
    expect(await fault(`test/${name}`)).toEqual([code, expect.stringMatching(message)]);
  });

  it('stops reading an endless config.json', async () => {
    let sent = 0;
    hub.set('test/endless', 'config.json', (_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write(' '.repeat(65_536))) sent += 65_536;
        sent += 65_536;
        response.once('drain', more);
      };
      more();
    });
    expect((await fault('test/endless'))?.[1]).toContain('is larger than 200 kB');
    expect(sent).toBeLessThan(20_000_000);
  });

  it.each<[string, HubHandler, number | null]>([
    ['absent', (_q, r) => r.writeHead(404).end(), null],
    ['endless', (_q, r) => void r.write(`{"metadata": {"total_size": 7}, "weight_map": {${' '.repeat(10_000)}`), 7],
    ['with a fraction', json({ metadata: { total_parameters: 1, total_size: 5 } }), 5],
    ['negative', json({ metadata: { total_size: -5 } }), null],
    ['a string', json({ metadata: { total_size: '5' } }), null],
    ['huge', json({ metadata: { total_size: 2_000_000_000_000_000 } }), null],
    ['nested', json({ metadata: { x: { total_size: 5 } } }), null],
    ['broken', (q) => q.socket.destroy(), null],
  ])('reads the size from an index that is %s', async (what, handler, size) => {
    const name = `index/${what.replaceAll(' ', '-')}`;
    hub.set(name, 'config.json', json(CONFIG));
    hub.set(name, 'model.safetensors.index.json', handler);
    expect((await reader().read(name, 'me')).storedBytes).toBe(size);
  });
});
