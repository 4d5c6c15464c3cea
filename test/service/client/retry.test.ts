import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ClientOptions,
  createClient,
  type GpuClient,
  GpuConnectionError,
  GpuError,
  type Retry,
} from '../../../src/client/index.js';
import { type Fate, openWire, refusal, type Wire } from '../../support/client-wire.js';
import { type Service, startService } from '../../support/service.js';

const FAST = { baseDelayMs: 10, maxDelayMs: 40 };
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let service: Service;
let wire: Wire;
let apiKey: string;

beforeAll(async () => {
  service = await startService();
  wire = await openWire(service.address);
  apiKey = (await service.renter('100000')).key;
});
afterAll(async () => {
  await wire.close();
  await service.close();
});

function clientOn(options: ClientOptions = {}): GpuClient {
  return createClient({ apiKey, baseUrl: wire.baseUrl, ...options, retry: { ...FAST, ...options.retry } });
}

async function errorOf(call: Promise<unknown>): Promise<GpuError> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(GpuError);
  return error as GpuError;
}

function keysSeen(): unknown[] {
  return wire.seen.map(({ headers }) => headers['idempotency-key']);
}

function rentals(machineId: string): Promise<number> {
  return service.sql('select id from instance where machine_id = $1', [machineId]).then(({ length }) => length);
}

describe('a lost response', () => {
  const LOST: Fate[] = ['lose request', 'lose answer', 'cut answer'];

  it.each(LOST)('to a deploy causes a retry without a second rental (%s)', async (fate) => {
    const machine_id = await service.machine();
    wire.next(fate);
    const instance = await clientOn().instances.deploy({ machine_id });
    expect(instance).toMatchObject({ object: 'instance', status: 'running' });
    expect(await rentals(machine_id)).toBe(1);
    expect(wire.seen).toHaveLength(2);
    expect(keysSeen()[0]).toMatch(UUID);
    expect(keysSeen()[1]).toBe(keysSeen()[0]);
  });

  it("to an action or destroy causes a retry that doesn't repeat the action", async () => {
    const client = clientOn();
    const { id } = await client.instances.deploy({ machine_id: await service.machine() });
    wire.next('lose answer');
    expect(await client.instances.action(id, 'stop')).toMatchObject({ id, status: 'stopped' });
    wire.next('cut answer', 'lose answer');
    expect(await client.instances.destroy(id)).toEqual({ object: 'instance', id, status: 'destroyed' });
    expect(wire.seen).toHaveLength(3);
  });

  it('to a read causes a retry', async () => {
    for (const fate of LOST) {
      wire.next(fate);
      expect((await clientOn().offers.list({ limit: 1 })).count).toBe(1);
      expect(keysSeen()).toEqual([undefined, undefined]);
    }
  });

  it('leaves the caller with the idempotency key, which retrieves the outcome', async () => {
    const machine_id = await service.machine();
    wire.next('lose answer', 'lose answer');
    const error = await errorOf(clientOn({ retry: { maxAttempts: 2 } }).instances.deploy({ machine_id }));
    expect(error).toBeInstanceOf(GpuConnectionError);
    expect(error).toMatchObject({
      code: 'no_connection',
      status: null,
      attempts: 2,
      idempotencyKey: expect.any(String),
    });
    const again = await clientOn().instances.deploy({ machine_id }, { idempotencyKey: error.idempotencyKey! });
    expect(again.status).toBe('running');
    expect(await rentals(machine_id)).toBe(1);
  });

  it('never makes two calls share an idempotency key', async () => {
    const client = clientOn();
    const machine_id = await service.machine();
    wire.next();
    const { id } = await client.instances.deploy({ machine_id });
    await client.instances.action(id, 'stop');
    await client.instances.action(id, 'start');
    await client.instances.destroy(id);
    expect(new Set(keysSeen()).size).toBe(4);
  });
});

describe('a response', () => {
  it.each([
    refusal(429, 'rate_limited', '0'),
    refusal(503, 'unavailable', '0'),
    refusal(503, 'unavailable'),
    refusal(409, 'idempotency_in_progress', '0'),
    { status: 502, body: '<html>Bad Gateway</html>' },
    { status: 503, body: '' },
    { status: 504, body: 'upstream timed out' },
  ])('with $status $body is retried', async (reply) => {
    wire.next(reply);
    expect((await clientOn().balance.get()).object).toBe('balance');
    expect(wire.seen).toHaveLength(2);
  });

  it.each([
    refusal(401, 'unauthorized'),
    refusal(409, 'deploy_failed'),
    refusal(409, 'action_failed'),
    refusal(422, 'invalid_request'),
    refusal(500, 'internal'),
  ])('with $status $body is not retried', async (reply) => {
    wire.next(reply);
    const error = await errorOf(clientOn().balance.get());
    expect({ error: { code: error.code, message: error.message } }).toEqual(JSON.parse(reply.body!));
    expect(wire.seen).toHaveLength(1);
  });

  it.each([
    ['a page', { status: 200, body: '<html>' }],
    ['an empty body', { status: 200 }],
    ['a list', { status: 200, body: '[]' }],
    ['an error in another format', { status: 404, body: '{"error":"nothing here"}' }],
    ['a redirect', { status: 302, headers: { location: 'https://elsewhere.example/v1' } }],
  ])('that the service would never send is not retried: %s', async (_, reply) => {
    wire.next(reply);
    const error = await errorOf(clientOn().instances.list());
    expect(error).toBeInstanceOf(GpuConnectionError);
    expect(error).toMatchObject({ code: 'bad_answer', status: reply.status });
    expect(wire.seen).toHaveLength(1);
  });

  it('that redirects is reported without sending the key to the target', async () => {
    wire.next({ status: 301, headers: { location: '/v1/offers' } });
    const error = await errorOf(clientOn().instances.deploy({ machine_id: 'm' }));
    expect(error.message).toContain('redirect to /v1/offers');
    expect(wire.seen).toHaveLength(1);
  });
});

describe('the retry policy', () => {
  it('honours Retry-After in seconds', async () => {
    wire.next(refusal(429, 'rate_limited', '1'));
    const retries: Retry[] = [];
    await clientOn({ onRetry: (retry) => retries.push(retry) }).balance.get();
    expect(wire.seen[1]!.atMs - wire.seen[0]!.atMs).toBeGreaterThanOrEqual(995);
    expect(retries).toMatchObject([{ attempt: 1, maxAttempts: 5, error: { code: 'rate_limited', retryAfter: 1 } }]);
  });

  it('honours Retry-After as a date', async () => {
    const date = new Date(Date.now() + 120_000).toUTCString();
    wire.next(refusal(503, 'unavailable', date));
    const error = await errorOf(clientOn({ retry: { totalMs: 1_000 } }).balance.get());
    expect(error.retryAfter).toBeGreaterThan(110);
    expect(error.retryAfter).toBeLessThanOrEqual(120);
  });

  it('fails immediately if Retry-After exceeds the total time', async () => {
    wire.next(refusal(429, 'rate_limited', '60'));
    const startedAt = performance.now();
    const error = await errorOf(clientOn({ retry: { totalMs: 5_000 } }).balance.get());
    expect(error).toMatchObject({ code: 'rate_limited', retryAfter: 60, attempts: 1 });
    expect(performance.now() - startedAt).toBeLessThan(30_000);
  });

  it('waits a randomized, increasing time between attempts and finally gives up', async () => {
    const waits: number[][] = [];
    for (let run = 0; run < 2; run += 1) {
      const delays: number[] = [];
      wire.next(...Array<Fate>(9).fill('lose request'));
      const onRetry = ({ delayMs }: Retry) => delays.push(delayMs);
      const retry = { baseDelayMs: 8, maxDelayMs: 32, maxAttempts: 5 };
      expect(await errorOf(clientOn({ onRetry, retry }).balance.get())).toMatchObject({ attempts: 5 });
      expect(wire.seen).toHaveLength(5);
      const bounds = [8, 16, 32, 32];
      expect(delays).toHaveLength(4);
      for (const [index, delay] of delays.entries()) {
        expect(delay).toBeGreaterThanOrEqual(bounds[index]! / 2);
        expect(delay).toBeLessThanOrEqual(bounds[index]!);
      }
      waits.push(delays);
    }
    expect(waits[0]).not.toEqual(waits[1]);
  });

  it('keeps all attempts within the total time, however long each may take', async () => {
    wire.next(...Array<Fate>(9).fill('hang'));
    const error = await errorOf(clientOn({ timeoutMs: 200, retry: { totalMs: 500, maxAttempts: 9 } }).balance.get());
    expect(error.code).toBe('timed_out');
    expect(wire.seen.length).toBeGreaterThanOrEqual(1);
    expect(wire.seen.length).toBeLessThanOrEqual(4);
  });

  it('ends a pending attempt when the total time is over', async () => {
    wire.next('hang');
    const startedAt = performance.now();
    const error = await errorOf(clientOn({ timeoutMs: 60_000, retry: { totalMs: 300 } }).balance.get());
    expect(error).toMatchObject({ code: 'timed_out', attempts: 1 });
    expect(performance.now() - startedAt).toBeLessThan(30_000);
  });

  it('uses the default number of attempts if the limit is undefined', async () => {
    wire.next(...Array<Fate>(9).fill('lose request'));
    const retry = { maxAttempts: undefined } as unknown as { maxAttempts: number };
    expect(await errorOf(clientOn({ retry }).balance.get())).toMatchObject({ attempts: 5 });
  });
});

describe('timeouts and abort signals', () => {
  it('an attempt without a response times out and is retried', async () => {
    wire.next('hang');
    expect((await clientOn({ timeoutMs: 250 }).balance.get()).object).toBe('balance');
    expect(wire.seen).toHaveLength(2);
  });

  it('a call can have its own timeout', async () => {
    wire.next('hang');
    const error = await errorOf(clientOn({ retry: { maxAttempts: 1 } }).balance.get({ timeoutMs: 100 }));
    expect(error).toMatchObject({ name: 'GpuConnectionError', code: 'timed_out', status: null });
    expect(error.message).toContain('100 ms');
  });

  it("an abort ends a pending call with the signal's reason", async () => {
    wire.next('hang');
    const controller = new AbortController();
    const call = clientOn().balance.get({ signal: controller.signal });
    setTimeout(() => controller.abort(new Error('changed my mind')), 50);
    await expect(call).rejects.toThrow('changed my mind');
    expect(wire.seen).toHaveLength(1);
  });

  it('an abort ends the wait before another attempt', async () => {
    wire.next(refusal(429, 'rate_limited', '30'));
    const startedAt = performance.now();
    const call = clientOn().balance.get({ signal: AbortSignal.timeout(100) });
    await expect(call).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    expect(wire.seen).toHaveLength(1);
  });

  it('an already aborted signal prevents the request', async () => {
    wire.next();
    await expect(clientOn().balance.get({ signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
    expect(wire.seen).toHaveLength(0);
  });

  it('an unreachable service is reported as no_connection with the reason', async () => {
    const gone = await openWire(service.address);
    await gone.close();
    const client = createClient({ baseUrl: gone.baseUrl, retry: { ...FAST, maxAttempts: 2 } });
    const error = await errorOf(client.gpus.pricing());
    expect(error).toMatchObject({ code: 'no_connection', attempts: 2, idempotencyKey: null });
    expect(error.message).toContain('ECONNREFUSED');
  });
});

describe("an error thrown by the caller's own code", () => {
  it('in onAnswer is not treated as a lost connection', async () => {
    wire.next();
    const onAnswer = () => {
      throw new Error('their bug');
    };
    await expect(clientOn({ onAnswer }).balance.get()).rejects.toThrow('their bug');
    expect(wire.seen).toHaveLength(1);
  });
});
