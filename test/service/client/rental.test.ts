import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import {
  createClient,
  type DeployRequest,
  type GpuClient,
  GpuError,
  GpuRefusal,
  type Instance,
  type InstanceAction,
  type LaunchRequest,
  type RawAnswer,
  requestOf,
} from '../../../src/client/index.js';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { type Service, startService } from '../../support/service.js';

const ONCE = { retry: { maxAttempts: 1 } };
const NO_INSTANCE = 'i-00000000';

let service: Service;
let baseUrl: string;

beforeAll(async () => {
  service = await startService();
  baseUrl = `${service.address}/v1`;
});
afterAll(() => service.close());

async function clientWith(creditUsd = '100'): Promise<GpuClient> {
  return createClient({ apiKey: (await service.renter(creditUsd)).key, baseUrl, ...ONCE });
}

/** Returns the refusal of a call. */
async function refusalOf(call: Promise<unknown>): Promise<GpuRefusal> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(GpuRefusal);
  return error as GpuRefusal;
}

async function expectRefusal(call: Promise<unknown>, status: number, code: string, message?: RegExp): Promise<void> {
  const error = await refusalOf(call);
  expect({ status: error.status, code: error.code }).toEqual({ status, code });
  expect(error).toBeInstanceOf(GpuError);
  expect(error.requestId).toMatch(/^[0-9a-f]{32}$/);
  expect(error.attempts).toBe(1);
  if (message !== undefined) expect(error.message).toMatch(message);
}

/** Returns only the code, since GraphQL refuses with status 200. */
const codeOf = async (call: Promise<unknown>) => (await refusalOf(call)).code;

describe('ensureDestroyed', () => {
  it('succeeds if the instance is already destroyed, but throws any other refusal', async () => {
    const client = await clientWith();
    const { id } = await client.instances.deploy({ machine_id: await service.machine() });
    const destroyed = { object: 'instance', id, status: 'destroyed' };
    expect(await client.instances.ensureDestroyed(id)).toEqual(destroyed);
    expect(await client.instances.ensureDestroyed(id)).toEqual(destroyed);
    expect(await codeOf(client.instances.destroy(id))).toBe('action_failed');
    expect(await codeOf(client.instances.ensureDestroyed(NO_INSTANCE))).toBe('not_found');
    // Leaving its term early costs more than the balance.
    const poor = await clientWith('1.6');
    const reserved = await poor.instances.deploy({ machine_id: await service.machine(), type: 'res' });
    service.clock.advance(3_600);
    expect(await codeOf(poor.instances.ensureDestroyed(reserved.id))).toBe('action_failed');
  });
});

describe('templates', () => {
  it('can be listed, saved, deployed again, shared by link and deleted', async () => {
    const client = await clientWith();
    const jupyter = (await createClient({ baseUrl, ...ONCE }).templates.list()).find(({ slug }) => slug === 'jupyter')!;
    expect(jupyter).toMatchObject({ title: 'JupyterLab', ports: [{ port: 8888, name: 'JupyterLab' }], vramGb: 8 });
    expect(jupyter.variables.find(({ name }) => name === 'JUPYTER_TOKEN')).toMatchObject({
      isGenerated: true,
      made: true,
      default: null,
    });
    const all: LaunchRequest = {
      template: 'jupyter',
      disk_gb: 60,
      name: 'mine',
      env: { EPOCHS: 'a  b' },
      secrets: [{ secret: 'hf', variable: 'HF_TOKEN', file: null }],
      entrypoint: ['/bin/sh'],
      command: ['-c', 'exit 3'],
      ports: [{ port: 8000, name: 'API' }],
      tcp_ports: [22],
      registry_login: 'hub',
      user: 'root',
      restart: 'never',
      on_exit: 'stop',
    };
    const saved = await client.templates.save('of-mine', all, { description: 'to try' });
    expect(saved).toMatchObject({ name: 'of-mine', description: 'to try', link: expect.stringContaining('/launch?') });
    expect(await client.templates.saved()).toEqual([saved]);
    expect(requestOf(saved)).toEqual(all);
    await client.templates.save('of-mine', { template: 'jupyter', env: { EPOCHS: '3' } });
    const [machine_id, [plain]] = [await service.machine(), await client.templates.saved()];
    const { id } = await client.instances.deploy({ machine_id, ...requestOf(plain!) });
    expect(await client.instances.get(id)).toMatchObject({ template: 'jupyter', disk_gb: 50 });
    // Nothing runs on a machine without a host agent.
    expect(await client.instances.links(id)).toEqual({ links: [], tokens: [] });
    expect(await codeOf(client.templates.save('No Name', {}))).toBe('invalid_request');
    expect(await codeOf(client.instances.links(NO_INSTANCE))).toBe('not_found');
    expect(await codeOf((await clientWith()).instances.links(id))).toBe('not_found');
    expect(await codeOf(createClient({ baseUrl, ...ONCE }).templates.saved())).toBe('unauthorized');
    await client.templates.delete('of-mine');
    expect(await codeOf(client.templates.delete('of-mine'))).toBe('not_found');
    expect(await client.templates.saved()).toEqual([]);
    await client.instances.destroy(id);
    expect(await codeOf(client.instances.links(id))).toBe('action_failed');
  });
});

describe('the client', () => {
  it('completes a rental, from reading the price sheet to checking the balance', async () => {
    const client = await clientWith();
    const sheet = await client.gpus.pricing();
    const price = sheet.data.find(({ slug }) => slug === 'rtx-4090')!;
    const offers = await client.offers.list({ gpu: 'rtx-4090', num_min: 2, limit: 1 });
    expect(offers).toMatchObject({ object: 'offers', count: 1, data: [{ gpu: 'rtx-4090' }] });
    const offer = offers.data[0]!;
    expect(offer.price_per_hour.on_demand).toBeCloseTo(offer.num_gpus * price.price_per_gpu_hour.on_demand, 6);
    expect(await client.balance.get()).toEqual({ object: 'balance', currency: 'USD', balance: 100, month_spend: 0 });

    const deployed = await client.instances.deploy({
      machine_id: offer.machine_id,
      disk_gb: 60,
      type: 'interruptible',
    });
    const { id } = deployed;
    expect(deployed).toMatchObject({ object: 'instance', status: 'running', disk_gb: 60, type: 'spot' });
    expect(deployed.price_hr).toBe(offer.price_per_hour.interruptible);
    expect(await client.instances.get(id)).toEqual(deployed);
    expect((await client.instances.list()).data).toEqual([deployed]);

    service.clock.advance(3_600);
    const stopped = await client.instances.action(id, 'stop');
    expect(stopped).toMatchObject({ id, status: 'stopped', stopped_at: expect.any(String) });
    service.clock.advance(3_600);
    expect(await client.instances.action(id, 'start')).toMatchObject({ id, status: 'running', stopped_at: null });
    expect(await client.instances.destroy(id)).toEqual({ object: 'instance', id, status: 'destroyed' });
    expect((await client.instances.list()).data).toEqual([]);
    const { data, page_info } = await client.instances.timeline(id, { first: 3 });
    expect(data.map(({ kind }) => kind)).toEqual(['destroyed', 'started', 'stopped']);
    const older = await client.instances.timeline(id, { after: page_info.end_cursor! });
    expect(older.data).toMatchObject([{ kind: 'rented', asked: { operation: 'deploy' } }]);

    const { balance, month_spend } = await client.balance.get();
    expect(month_spend).toBeCloseTo(deployed.price_hr + 2 * 60 * 0.00014, 6);
    expect(balance + month_spend).toBeCloseTo(100, 6);
  });

  it('shows prices and offers without a key', async () => {
    const client = createClient({ baseUrl, ...ONCE });
    expect((await client.gpus.pricing()).count).toBe(83);
    expect((await client.offers.list()).count).toBe(25);
  });

  it('applies every filter to the offers', async () => {
    const client = createClient({ baseUrl, ...ONCE });
    const [matching] = await service.sql(
      `select count(*) from machine where gpu = 'h100-sxm' and region = 'us-tx' and num_gpus >= 2
         and num_gpus * 219 <= 3000`,
    );
    const { data } = await client.offers.list({
      gpu: 'h100-sxm',
      region: 'us-tx',
      num_min: 2,
      price_max: 30,
      limit: 100,
    });
    expect(data).toHaveLength(Number(matching?.count));
    for (const offer of data) {
      expect([offer.gpu, offer.region]).toEqual(['h100-sxm', 'us-tx']);
      expect(offer.num_gpus).toBeGreaterThanOrEqual(2);
      expect(offer.price_per_hour.on_demand).toBeLessThanOrEqual(30);
    }
  });

  it('passes every raw response, but never a key, to onAnswer', async () => {
    const answers: RawAnswer[] = [];
    const { key } = await service.renter();
    const client = createClient({ apiKey: key, baseUrl, onAnswer: (answer) => answers.push(answer) });
    const balance = await client.balance.get();
    expect(answers).toEqual([
      {
        method: 'GET',
        url: `${baseUrl}/balance`,
        status: 200,
        requestId: expect.any(String),
        text: expect.any(String),
      },
    ]);
    expect(JSON.parse(answers[0]!.text)).toEqual(balance);
    expect(JSON.stringify(answers)).not.toContain(key);
  });
});

describe('refusals', () => {
  it('are 401 unauthorized without a key or with an unknown one', async () => {
    await expectRefusal(createClient({ baseUrl, ...ONCE }).balance.get(), 401, 'unauthorized');
    const unknown = createClient({ apiKey: `gpu_live_${'0'.repeat(40)}`, baseUrl, ...ONCE });
    await expectRefusal(unknown.instances.list(), 401, 'unauthorized');
  });

  it('are 404 not_found for an instance that is missing or belongs to another account', async () => {
    const [one, other] = [await clientWith(), await clientWith()];
    const { id } = await one.instances.deploy({ machine_id: await service.machine() });
    for (const missing of [NO_INSTANCE, id, 'a/b', 'a?b#c']) {
      await expectRefusal(other.instances.get(missing), 404, 'not_found');
    }
    await expectRefusal(other.instances.destroy(id), 404, 'not_found');
    await expectRefusal(other.instances.action(id, 'stop'), 404, 'not_found');
  });

  it('are 404 no_route for a URL with the wrong prefix', async () => {
    const misdirected = createClient({ baseUrl: `${service.address}/v2`, ...ONCE });
    await expectRefusal(misdirected.gpus.pricing(), 404, 'no_route', /GET \/v2\/gpus\/pricing/);
  });

  it('are 409 deploy_failed for a taken or unknown machine or a low balance', async () => {
    const client = await clientWith();
    const machine_id = await service.machine();
    await client.instances.deploy({ machine_id });
    await expectRefusal(client.instances.deploy({ machine_id }), 409, 'deploy_failed');
    await expectRefusal(client.instances.deploy({ machine_id: 'm-unknown' }), 409, 'deploy_failed');
    const poor = await clientWith('0.01');
    await expectRefusal(
      poor.instances.deploy({ machine_id: await service.machine() }),
      409,
      'deploy_failed',
      /balance/,
    );
  });

  it("are 409 action_failed for an action that the instance's state doesn't allow", async () => {
    const client = await clientWith();
    const { id } = await client.instances.deploy({ machine_id: await service.machine() });
    await expectRefusal(client.instances.action(id, 'start'), 409, 'action_failed');
    await client.instances.destroy(id);
    await expectRefusal(client.instances.destroy(id), 409, 'action_failed');
  });

  it('are 422 invalid_request for input forbidden by the types', async () => {
    const client = await clientWith();
    const { id } = await client.instances.deploy({ machine_id: await service.machine() });
    await expectRefusal(client.instances.deploy({} as DeployRequest), 422, 'missing_machine');
    await expectRefusal(client.instances.action(id, 'reboot' as InstanceAction), 422, 'bad_action');
    await expectRefusal(client.offers.list({ limit: 101 }), 422, 'invalid_request', /limit .*1 to 100/);
  });

  it('are 422 idempotency_mismatch for a key already used for another request', async () => {
    const client = await clientWith();
    const options = { idempotencyKey: 'mine' };
    const machine_id = await service.machine();
    const { id } = await client.instances.deploy({ machine_id }, options);
    expect((await client.instances.deploy({ machine_id }, options)).id).toBe(id);
    await expectRefusal(client.instances.deploy({ machine_id, disk_gb: 7 }, options), 422, 'idempotency_mismatch');
    await expectRefusal(client.instances.destroy(id, options), 422, 'idempotency_mismatch');
    expect((await refusalOf(client.instances.destroy(id, options))).idempotencyKey).toBe('mine');
  });

  it('are 413 payload_too_large for a large body', async () => {
    const client = await clientWith();
    const template = 'x'.repeat(110_000);
    await expectRefusal(client.instances.deploy({ machine_id: 'm', template }), 413, 'payload_too_large');
  });

  it('are 429 rate_limited with the number of seconds to wait', async () => {
    const limited = await startService({ rateLimitPerMinute: 2 });
    const { key } = await limited.renter();
    const client = createClient({ apiKey: key, baseUrl: `${limited.address}/v1`, ...ONCE });
    await client.balance.get();
    await client.balance.get();
    const error = await refusalOf(client.balance.get());
    expect(error).toMatchObject({ code: 'rate_limited', status: 429 });
    expect(error.retryAfter).toBeGreaterThanOrEqual(1);
    expect(error.retryAfter).toBeLessThanOrEqual(60);
    await limited.close();
  });

  it('are 500 internal with the request id and are not retried', async () => {
    const broken = await startService();
    const { key } = await broken.renter();
    await broken.sql('alter table instance rename to elsewhere');
    const client = createClient({ apiKey: key, baseUrl: `${broken.address}/v1` });
    await expectRefusal(client.instances.list(), 500, 'internal');
    await broken.close();
  });
});

describe('createClient', () => {
  it.each(['ftp://host/v1', 'nonsense', 'http://host/v1?a=b'])('rejects the baseUrl %s', (wrong) => {
    expect(() => createClient({ baseUrl: wrong })).toThrow(TypeError);
  });

  it("rejects an API key that can't be sent in a header, without showing it", () => {
    expect(() => createClient({ apiKey: 'secret\nkey' })).toThrow(/^apiKey must contain only visible ASCII/);
  });

  it("rejects an idempotency key that can't be sent in a header", async () => {
    const client = createClient({ baseUrl });
    await expect(client.instances.destroy(NO_INSTANCE, { idempotencyKey: 'a\nb' })).rejects.toThrow(TypeError);
  });

  it('accepts a base URL with a trailing slash or without the prefix', async () => {
    for (const address of [`${baseUrl}/`, service.address, `${service.address}/`]) {
      expect((await createClient({ baseUrl: address, ...ONCE }).offers.list({ limit: 1 })).count).toBe(1);
    }
  });
});

describe('the package', () => {
  it('exports a client that needs nothing else from the package', async () => {
    const script = `const { createClient } = await import('gpu-rental/client');
      const sheet = await createClient({ baseUrl: '${baseUrl}' }).gpus.pricing();
      process.stdout.write(String(sheet.count));`;
    const args = ['--input-type=module', '-e', script];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: PACKAGE_ROOT });
    expect(stdout).toBe('83');
  });

  it('has types generated from the OpenAPI document', () => {
    expectTypeOf<Instance['status']>().toEqualTypeOf<'running' | 'stopped' | 'destroyed'>();
    expectTypeOf<Instance['type']>().toEqualTypeOf<'od' | 'spot' | 'res'>();
    expectTypeOf<Instance['stopped_at']>().toEqualTypeOf<string | null>();
    expectTypeOf<DeployRequest['machine_id']>().toEqualTypeOf<string>();
    expectTypeOf<{ machine_id: string }>().toExtend<DeployRequest>();
    expectTypeOf<InstanceAction>().toEqualTypeOf<'start' | 'stop' | 'destroy'>();
    expectTypeOf<GpuRefusal['code']>().extract<'deploy_failed'>().toEqualTypeOf<'deploy_failed'>();
  });
});
