import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { enrol, revokeHost } from '../../../src/domain/fleet/enrolment.js';
import { markUnreachable } from '../../../src/domain/fleet/heartbeats.js';
import { hardware, seen } from '../../support/agent.js';
import { whileBusy } from '../../support/busy.js';
import { createTestDatabase } from '../../support/database.js';
import { allCaughtUp, type Service, startService } from '../../support/service.js';

/** Two gateways on one database. */
let first: Service;
let second: Service;
beforeAll(async () => {
  const databaseUrl = await createTestDatabase();
  first = await startService({ databaseUrl });
  second = await startService({ databaseUrl });
});
afterAll(async () => {
  await first?.close();
  await second?.close();
});

interface AgentResponse {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: responses of any shape
  body: any;
}

async function send(
  gateway: Service,
  method: string,
  path: string,
  { token, body, headers }: { token?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<AgentResponse> {
  const answer = await fetch(`${gateway.address}/agent/v1${path}`, {
    method,
    headers: { ...(token && { authorization: `Bearer ${token}` }), ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) };
}

async function joinAgent(online = true): Promise<{ machineId: string; token: string }> {
  const { code } = await enrol(first.deps, { machineId: null, gpu: null, region: 'us-tx', online, demo: false });
  const { status, body } = await send(first, 'POST', '/join', { body: { protocol: 1, code, hardware: hardware() } });
  expect(status).toBe(201);
  return body;
}

function reporter(token: string, gateway: Service) {
  const session = randomBytes(4).toString('hex');
  let sequence = 0;
  return (instances: unknown[] = [], changes: object = {}) => {
    sequence += 1;
    const body = { protocol: 1, session, sequence, generation: 0, instances, unknown: [], engine: 'ok', ...changes };
    return send(gateway, 'POST', '/report', { token, body });
  };
}

describe('the agent API', () => {
  test('lets an agent join and notifies it of a deploy through another gateway', async () => {
    const { machineId, token } = await joinAgent();
    expect((await reporter(token, first)()).body).toEqual({ generation: 0, now: expect.any(Number) });
    await first.deps.fleet.heartbeats.flush();
    await allCaughtUp([first, second]);
    const waiting = send(first, 'GET', '/desired?after=0&wait=25', { token });
    const renter = await second.renter();
    const deployed = await renter.rest('POST', '/instances', { machine_id: machineId });
    expect(deployed.status).toBe(201);
    const { status, body } = await waiting;
    expect(status).toBe(200);
    expect(body).toMatchObject({ generation: 1, instances: [{ id: deployed.body.id, phase: 'running', start: 1 }] });
    expect((await send(second, 'GET', '/desired?after=1&wait=0', { token })).status).toBe(204);
    expect((await send(second, 'GET', '/desired?after=7', { token })).status).toBe(200);
  });

  test('stores a repeated report whose first write failed', async () => {
    const { machineId, token } = await joinAgent();
    const { pool } = first.deps.db;
    const report = reporter(token, first);
    await pool.query(
      `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
       create trigger refuse before update on machine_host for each row execute function refuse()`,
    );
    expect((await report([], { engine: 'away' })).status).toBe(500);
    await pool.query('drop trigger refuse on machine_host; drop function refuse');
    expect((await report([], { engine: 'away' })).status).toBe(200);
    const { rows } = await pool.query('select sequence::int, engine from machine_host where machine_id = $1', [
      machineId,
    ]);
    expect(rows).toEqual([{ sequence: 2, engine: 'away' }]);
  });

  test('ends an older poll when a newer one arrives', async () => {
    const { token } = await joinAgent();
    const older = send(first, 'GET', '/desired?after=0&wait=25', { token });
    await expect.poll(() => first.deps.fleet.desired.waiting).toBeGreaterThan(0);
    const newer = send(first, 'GET', '/desired?after=0&wait=1', { token });
    expect((await older).status).toBe(204);
    expect((await newer).status).toBe(204);
  });

  test('refuses a revoked token on every gateway', async () => {
    const { machineId, token } = await joinAgent();
    for (const gateway of [first, second]) expect((await send(gateway, 'GET', '/desired', { token })).status).toBe(204);
    await revokeHost(second.deps, machineId);
    await allCaughtUp([first, second]);
    for (const gateway of [first, second]) {
      const { status, headers, body } = await send(gateway, 'GET', '/desired?after=5', { token });
      expect([status, headers.get('www-authenticate'), body.error.code]).toEqual([401, 'Bearer', 'unauthorized']);
      expect((await reporter(token, gateway)()).status).toBe(401);
    }
  });

  test("closes without waiting for agents' late polls or hanging tunnels", async () => {
    const closing = await startService({ databaseUrl: first.databaseUrl });
    const { machineId, token } = await joinAgent();
    const report = reporter(token, first);
    await report();
    await first.deps.fleet.heartbeats.flush();
    await allCaughtUp([first, second, closing]);
    const renter = await first.renter();
    const { body: instance } = await renter.rest('POST', '/instances', { machine_id: machineId });
    await send(first, 'GET', '/desired', { token });
    await report([seen(instance.id, 'RUNNING')]);
    const target = { kind: 'exec', command: 'true', argv: null, env: {}, terminal: null } as const;
    const opener = { accountId: renter.accountId, apiKeyId: null, sshKeyId: null };
    const opening = closing.tunnels.open({ opener, instanceId: instance.id, target });
    const { streams } = (await send(closing, 'GET', '/desired?after=1&wait=25&streams=1', { token })).body;
    const address = closing.address.replace('http', 'ws');
    const agent = new WebSocket(`${address}/agent/v1/streams/${streams[0].id}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    await once(agent, 'open');
    agent.send(JSON.stringify({ type: 'opened' }));
    const stream = await opening;
    agent.pause();
    agent.send(JSON.stringify({ type: 'exit', code: 0 }));
    stream.resume();
    await once(stream, 'close');
    const began = performance.now();
    closing.deps.fleet.endWaits();
    expect((await send(closing, 'GET', '/desired?after=1&wait=25', { token })).status).toBe(204);
    await closing.close();
    expect(performance.now() - began).toBeLessThan(whileBusy(5_000));
    agent.terminate();
  });

  test('shows the renter each step and notifies subscribers', async () => {
    const { machineId, token } = await joinAgent();
    const report = reporter(token, first);
    await report();
    await first.deps.fleet.heartbeats.flush();
    await allCaughtUp([first, second]);
    const renter = await second.renter();
    const { body: instance } = await renter.rest('POST', '/instances', { machine_id: machineId });
    const runtime = async () => {
      const query = `{ instance(id: "${instance.id}") { runtime { phase pulledBytes totalBytes message exitCode restarts reachable lastSeenAt } } }`;
      return (await renter.graphql(query)).body.data.instance.runtime;
    };
    const nothing = { pulledBytes: null, totalBytes: null, message: null, exitCode: null, restarts: 0 };
    expect(await runtime()).toMatchObject({ phase: 'WAITING', reachable: true, ...nothing });
    const events = await fetch(`${second.address}/graphql`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${renter.key}`,
        'content-type': 'application/json',
        accept: 'text/event-stream',
      },
      body: JSON.stringify({ query: 'subscription { instanceChanged { status runtime { phase pulledBytes } } }' }),
    });
    const reader = events.body!.pipeThrough(new TextDecoderStream()).getReader();
    let stream = '';
    const received = async (text: string) => {
      while (!stream.includes(text)) stream += (await reader.read()).value ?? '';
    };
    await send(first, 'GET', '/desired', { token });
    await expect.poll(() => second.deps.subscriptions.size).toBe(1);
    await report([seen(instance.id, 'PULLING', { pulledBytes: 4_000_000_000, totalBytes: 8_000_000_000 })]);
    await received('"pulledBytes":4000000000');
    await report([seen(instance.id, 'RUNNING')]);
    await received('"phase":"RUNNING"');
    await renter.rest('DELETE', `/instances/${instance.id}`);
    await received('"DESTROYED"');
    await report([seen(instance.id, 'ERASED')]);
    await received('"phase":"ERASED"');
    await reader.cancel();
    expect(await runtime()).toMatchObject({ phase: 'ERASED' });
    const record = await (await first.renter()).rest('POST', '/instances', { machine_id: await first.machine() });
    expect(record.status).toBe(201);
  });

  test('sends no notices and rereads nothing for heartbeats', async () => {
    const { token } = await joinAgent();
    const report = reporter(token, first);
    // Machines of other tests are unreachable by now, which correctly causes notices. Their heartbeats are written
    // first.
    for (const { deps } of [first, second]) await deps.fleet.heartbeats.flush();
    for (const { clock } of [first, second]) clock.advance(100);
    await markUnreachable(first.deps.db, first.clock.now());
    await report();
    await first.deps.fleet.heartbeats.flush();
    await allCaughtUp([first, second]);
    await first.deps.inventory.current();
    const notices: unknown[] = [];
    const end = second.deps.db.notices.subscribe({ onNotice: (notice) => void notices.push(notice) });
    const { version } = first.deps.inventory;
    for (let beat = 0; beat < 5; beat += 1) {
      first.clock.advance(10);
      second.clock.advance(10);
      expect((await report()).status).toBe(200);
      await first.deps.fleet.heartbeats.flush();
    }
    await allCaughtUp([first, second]);
    end();
    expect(notices).toEqual([]);
    expect(first.deps.inventory.version).toBe(version);
  });
});

describe("an agent's invalid request", () => {
  const good = { protocol: 1, session: 's', sequence: 1, generation: 0, instances: [], unknown: [], engine: 'ok' };
  const entry = seen('i-00000000', 'RUNNING');
  const bad: [string, unknown, number][] = [
    ['malformed JSON', '{', 400],
    ['text with a zero byte', JSON.stringify({ ...good, session: 'a\0' }), 400],
    ['half a surrogate pair', `{"session":"\\ud800"}`, 400],
    ['an empty body', '', 400],
    ['a list', [], 422],
    ['another protocol', { ...good, protocol: 3 }, 422],
    ['an empty session', { ...good, session: '' }, 422],
    ['a long session', { ...good, session: 'x'.repeat(65) }, 422],
    ['sequence zero', { ...good, sequence: 0 }, 422],
    ['a sequence as text', { ...good, sequence: '1' }, 422],
    ['a huge sequence', { ...good, sequence: 2 ** 60 }, 422],
    ['a negative generation', { ...good, generation: -1 }, 422],
    ['a null instance', { ...good, instances: [null] }, 422],
    ['a malformed id', { ...good, instances: [{ ...entry, id: "i-' or 1=1" }] }, 422],
    ['an unknown instance', { ...good, instances: [entry] }, 422],
    ['an unknown phase', { ...good, instances: [{ ...entry, phase: 'DANCING' }] }, 422],
    ['a start out of bounds', { ...good, instances: [{ ...entry, start: 2 ** 40 }] }, 422],
    ['negative bytes', { ...good, instances: [{ ...entry, pulledBytes: -1 }] }, 422],
    ['half a byte', { ...good, instances: [{ ...entry, totalBytes: 0.5 }] }, 422],
    ['a long message', { ...good, instances: [{ ...entry, message: 'x'.repeat(1_001) }] }, 422],
    ['an exit code above 255', { ...good, instances: [{ ...entry, exitCode: 256 }] }, 422],
    ['a malformed unknown id', { ...good, unknown: ['*'] }, 422],
    ['too many unknown ids', { ...good, unknown: Array.from({ length: 1_201 }, () => 'i-00000000') }, 422],
    ['an unknown engine state', { ...good, engine: 'sleepy' }, 422],
    ['too many bytes', `{"session":"${'x'.repeat(2_000_001)}"}`, 413],
  ];

  test.each(bad)('with %s is rejected and changes nothing', async (_name, body, status) => {
    const { machineId, token } = await joinAgent();
    const answer = await send(first, 'POST', '/report', { token, body });
    expect([answer.status, typeof answer.body.error.message]).toEqual([status, 'string']);
    expect(JSON.stringify(answer.body)).not.toMatch(/postgres|stack|select/i);
    await first.deps.fleet.heartbeats.flush();
    const { prisma } = first.deps.db;
    expect(await prisma.machineHost.findUnique({ where: { machineId } })).toMatchObject({ session: null });
    expect(await prisma.machineHeartbeat.findUnique({ where: { machineId } })).toMatchObject({ seenAt: null });
  });

  test.each([
    ['GET', '/desired?after=-1', 422],
    ['GET', '/desired?after=1&after=2', 422],
    ['GET', '/desired?wait=26', 422],
    ['GET', '/desired?wait=soon', 422],
    ['DELETE', '/report', 405],
    ['GET', '/join', 405],
    ['GET', '/nowhere', 404],
    ['GET', '/constructor', 404],
  ])('to %s %s gets status %i', async (method, path, status) => {
    const { token } = await joinAgent();
    const answer = await send(first, method, path, { token });
    expect(answer.status).toBe(status);
    expect(answer.body.error.code).toEqual(expect.any(String));
  });

  test('to join gets a 422, or a 401 if the code or the token is unknown', async () => {
    for (const body of [
      {},
      { protocol: 1, code: 5 },
      { protocol: 1, code: 'x', hardware: { ...hardware(), vcpus: 0 } },
    ])
      expect((await send(first, 'POST', '/join', { body })).status).toBe(422);
    const wrong = { protocol: 1, code: 'x', hardware: hardware() };
    // More joins than may be in progress concurrently, since each releases its slot.
    for (let time = 0; time < 9; time += 1)
      expect((await send(first, 'POST', '/join', { body: wrong })).status).toBe(401);
    await joinAgent();
    for (const token of [undefined, 'gpu_live_x', `gpu_host_${'0'.repeat(40)}`])
      expect((await send(first, 'GET', '/desired', token === undefined ? {} : { token })).status).toBe(401);
  });

  test('that is one poll too many gets a 429', async () => {
    const { token } = await joinAgent();
    // A bucket refills with time, and a busy machine takes long to send this many requests.
    const frozenClock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    const answers = await Promise.all(
      Array.from({ length: 300 }, () => send(first, 'GET', '/desired?wait=0', { token })),
    );
    frozenClock.mockRestore();
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBe(180);
    expect(refused[0]!.headers.get('retry-after')).toBe('1');
  });
});

test("the agent API's OpenAPI document is valid and describes the served routes", async () => {
  const { body } = await send(first, 'GET', '/openapi.json');
  expect(Object.keys(body.paths)).toEqual(['/join', '/desired', '/secrets', '/volumes', '/report']);
  const ajv = new Ajv2020({ strict: false });
  ajv.addSchema(body, 'agent');
  const report = ajv.getSchema('agent#/components/schemas/Report')!;
  expect(
    report({ protocol: 1, session: 's', sequence: 1, generation: 0, instances: [], unknown: [], engine: 'ok' }),
  ).toBe(true);
  expect(report({ protocol: 1 })).toBe(false);
});
