import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pruneIdempotencyRecords } from '../../../src/domain/billing/idempotency.js';
import type { Answer, Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

let service: Service;
let renter: Renter;

beforeAll(async () => {
  service = await startService();
  renter = await service.renter('10000');
});
afterAll(() => service.close());

const FIELDS = 'id status template diskGb mode priceHr createdAt stoppedAt';
const DEPLOY = `mutation ($input: DeployInput!) { deploy(input: $input) { ${FIELDS} } }`;
const ACTION = `mutation ($id: ID!, $action: InstanceActionKind!, $key: String) {
  action(id: $id, action: $action, idempotencyKey: $key) { ${FIELDS} } }`;

let keys = 0;
function newKey(): string {
  keys += 1;
  return `key-${keys}`;
}

const keyed = (key: string) => ({ 'idempotency-key': key });
const replayed = ({ headers }: Answer) => headers.get('idempotent-replayed');

function deploy(by: Renter, key: string, body: object): Promise<Answer> {
  return by.rest('POST', '/instances', body, keyed(key));
}

function act(by: Renter, key: string, id: string, action: string): Promise<Answer> {
  return by.rest('POST', `/instances/${id}/actions`, { action }, keyed(key));
}

function remove(by: Renter, key: string, id: string): Promise<Answer> {
  return by.rest('DELETE', `/instances/${id}`, undefined, keyed(key));
}

async function count(by: Renter): Promise<number> {
  const rows = await service.sql('select count(*)::int as count from instance where account_id = $1', [by.accountId]);
  return rows[0]!.count as number;
}

describe('a lost response', () => {
  const LOST = 'query ($key: String!) { instanceByIdempotencyKey(idempotencyKey: $key) { id status } }';
  const lookFor = async (by: Renter, key: string) => (await by.graphql(LOST, { key })).body;

  it('can be looked up by its key for 24 hours, but only by its own account', async () => {
    const [key, by, other] = [newKey(), await service.renter(), await service.renter()];
    expect((await lookFor(by, key)).data.instanceByIdempotencyKey).toBeNull();
    const { id } = (await deploy(by, key, { machine_id: await service.machine() })).body;
    await act(by, newKey(), id, 'stop');
    expect((await lookFor(by, key)).data.instanceByIdempotencyKey).toEqual({ id, status: 'STOPPED' });
    expect((await lookFor(other, key)).data.instanceByIdempotencyKey).toBeNull();
    expect((await lookFor(by, 'a b')).errors[0].extensions).toMatchObject({ code: 'invalid_request' });
    service.clock.advance(86_400);
    expect((await lookFor(by, key)).data.instanceByIdempotencyKey).toBeNull();
  });

  it('can be looked up only after the request has finished', async () => {
    const [key, by] = [newKey(), await service.renter()];
    const holder = new pg.Client({ connectionString: service.databaseUrl });
    await holder.connect();
    await holder.query('select pg_advisory_lock(hashtextextended($1, 0))', [`${by.accountId} ${key}`]);
    const looked = lookFor(by, key);
    const first = await Promise.race([looked, sleep(300)]);
    await holder.end();
    expect([first, (await looked).data.instanceByIdempotencyKey]).toEqual([undefined, null]);
  });
});

describe('a repeated request', () => {
  it('deploys once and returns the first response, even if the instance has changed', async () => {
    const [key, machine_id, by] = [newKey(), await service.machine(), await service.renter()];
    const first = await deploy(by, key, { machine_id });
    expect([first.status, replayed(first)]).toEqual([201, null]);
    service.clock.advance(60);
    await by.rest('POST', `/instances/${first.body.id}/actions`, { action: 'stop' });
    const again = await deploy(by, key, { machine_id });
    expect([again.status, replayed(again)]).toEqual([201, 'true']);
    expect(again.body).toEqual(first.body);
    expect(await count(by)).toBe(1);
  });

  it('may state defaults and nulls explicitly', async () => {
    const [key, machine_id] = [newKey(), await service.machine()];
    const first = await deploy(renter, key, { machine_id });
    for (const body of [
      { machine_id, template: 'pytorch', disk_gb: 50, type: 'od' },
      { machine_id, template: null, disk_gb: null, type: null },
    ]) {
      const again = await deploy(renter, key, body);
      expect([again.status, replayed(again), again.body]).toEqual([201, 'true', first.body]);
    }
  });

  it('may use GraphQL after a REST deploy', async () => {
    const [key, machine_id] = [newKey(), await service.machine()];
    const first = await deploy(renter, key, { machine_id, disk_gb: 60, type: 'res' });
    const input = { machineId: machine_id, diskGb: 60, mode: 'RESERVED', idempotencyKey: key };
    const again = await renter.graphql(DEPLOY, { input });
    expect([again.status, replayed(again), again.body.errors]).toEqual([200, 'true', undefined]);
    const { id, price_hr, created_at } = first.body;
    expect(again.body.data.deploy).toMatchObject({ id, mode: 'RESERVED', priceHr: price_hr, createdAt: created_at });
  });

  it('may use REST after a GraphQL deploy', async () => {
    const [key, machine_id] = [newKey(), await service.machine()];
    const first = await renter.graphql(DEPLOY, { input: { machineId: machine_id, idempotencyKey: key } });
    expect(replayed(first)).toBeNull();
    const again = await deploy(renter, key, { machine_id });
    expect([again.status, replayed(again), again.body.id]).toEqual([201, 'true', first.body.data.deploy.id]);
    const graphql = await renter.graphql(DEPLOY, { input: { machineId: machine_id, idempotencyKey: key } });
    expect([replayed(graphql), graphql.body]).toEqual(['true', first.body]);
  });

  it('acts only once, even if another action was executed in between', async () => {
    const { body } = await renter.rest('POST', '/instances', { machine_id: await service.machine() });
    const key = newKey();
    const first = await act(renter, key, body.id, 'stop');
    expect([first.status, first.body.status]).toEqual([200, 'stopped']);
    service.clock.advance(5);
    await act(renter, newKey(), body.id, 'start');
    const again = await act(renter, key, body.id, 'stop');
    expect([again.status, replayed(again), again.body]).toEqual([200, 'true', first.body]);
    const graphql = await renter.graphql(ACTION, { id: body.id, action: 'STOP', key });
    expect([replayed(graphql), graphql.body.data.action.status]).toEqual(['true', 'STOPPED']);
    expect((await renter.rest('GET', `/instances/${body.id}`)).body.status).toBe('running');
  });

  it('destroys only once, even across DELETE and the destroy action', async () => {
    const { body } = await renter.rest('POST', '/instances', { machine_id: await service.machine() });
    const key = newKey();
    const first = await remove(renter, key, body.id);
    expect([first.status, replayed(first)]).toEqual([200, null]);
    const again = await remove(renter, key, body.id);
    expect([again.status, replayed(again), again.body]).toEqual([200, 'true', first.body]);
    const action = await act(renter, key, body.id, 'destroy');
    expect([action.status, replayed(action), action.body.status]).toEqual([200, 'true', 'destroyed']);
    expect((await remove(renter, newKey(), body.id)).status).toBe(409);
  });

  it('is independent if sent by another account', async () => {
    const [key, other] = [newKey(), await service.renter()];
    const [mine, theirs] = [await service.machine(), await service.machine()];
    expect((await deploy(renter, key, { machine_id: mine })).status).toBe(201);
    const answer = await deploy(other, key, { machine_id: theirs });
    expect([answer.status, replayed(answer)]).toEqual([201, null]);
  });

  it('is executed again if it has no key', async () => {
    const machine_id = await service.machine();
    expect((await renter.rest('POST', '/instances', { machine_id })).status).toBe(201);
    expect((await renter.rest('POST', '/instances', { machine_id })).status).toBe(409);
  });

  it('can use any case-sensitive key of 1 to 255 visible characters', async () => {
    const { body } = await renter.rest('POST', '/instances', { machine_id: await service.machine() });
    for (const key of ['!', '~'.repeat(255), 'Ab', 'aB']) {
      expect(replayed(await act(renter, key, body.id, 'stop'))).toBeNull();
      await renter.rest('POST', `/instances/${body.id}/actions`, { action: 'start' });
      expect(replayed(await act(renter, key, body.id, 'stop'))).toBe('true');
    }
  });
});

describe('reusing a key gets 422 idempotency_mismatch', () => {
  const MISMATCH = {
    error: {
      code: 'idempotency_mismatch',
      message: 'this idempotency key was used with another operation or input',
    },
  };

  it('for a different machine, template, disk or type', async () => {
    const [key, machine_id] = [newKey(), await service.machine()];
    await deploy(renter, key, { machine_id });
    for (const difference of [
      { machine_id: await service.machine() },
      { template: 'jupyter' },
      { disk_gb: 51 },
      { type: 'interruptible' },
    ]) {
      const answer = await deploy(renter, key, { machine_id, ...difference });
      expect([answer.status, answer.body]).toEqual([422, MISMATCH]);
    }
    const graphql = await renter.graphql(DEPLOY, {
      input: { machineId: machine_id, diskGb: 51, idempotencyKey: key },
    });
    expect(graphql.status).toBe(200);
    expect(graphql.body.errors[0].extensions).toMatchObject({ code: 'idempotency_mismatch', status: 422 });
  });

  it('for another maximum price, or without one', async () => {
    const [key, machineId] = [newKey(), await service.machine()];
    const rent = (maxPricePerHour?: number) =>
      renter.graphql(DEPLOY, { input: { machineId, maxPricePerHour, idempotencyKey: key } });
    const first = await rent(100);
    expect(first.body.errors).toBeUndefined();
    for (const other of [99.5, undefined]) {
      const { body } = await rent(other);
      expect(body.errors?.[0].extensions).toMatchObject({ code: 'idempotency_mismatch', status: 422 });
    }
    expect((await rent(100)).body).toEqual(first.body);
  });

  it('for a different operation, action or instance', async () => {
    const [key, machine_id] = [newKey(), await service.machine()];
    const { body } = await deploy(renter, key, { machine_id });
    expect((await act(renter, key, body.id, 'stop')).body).toEqual(MISMATCH);
    expect((await remove(renter, key, body.id)).body).toEqual(MISMATCH);
    const stop = newKey();
    await act(renter, stop, body.id, 'stop');
    expect((await act(renter, stop, body.id, 'start')).body).toEqual(MISMATCH);
    const other = await renter.rest('POST', '/instances', { machine_id: await service.machine() });
    const answer = await act(renter, stop, other.body.id, 'stop');
    expect([answer.status, answer.body]).toEqual([422, MISMATCH]);
    expect((await renter.rest('GET', `/instances/${other.body.id}`)).body.status).toBe('running');
  });
});

describe('a refusal is not stored', () => {
  it('so a refused deploy can be retried with its key', async () => {
    const [key, machine_id, holder] = [newKey(), await service.machine(), await service.renter()];
    const held = await holder.rest('POST', '/instances', { machine_id });
    expect((await deploy(renter, key, { machine_id })).status).toBe(409);
    expect((await deploy(renter, key, { machine_id: 'm-unknown' })).status).toBe(409);
    await holder.rest('DELETE', `/instances/${held.body.id}`);
    const answer = await deploy(renter, key, { machine_id });
    expect([answer.status, replayed(answer)]).toEqual([201, null]);
  });

  it('so a refused action can be retried, even for an unknown instance', async () => {
    const { body } = await renter.rest('POST', '/instances', { machine_id: await service.machine() });
    const key = newKey();
    expect((await act(renter, key, body.id, 'start')).status).toBe(409);
    expect((await act(renter, key, 'i-00000000', 'start')).status).toBe(404);
    await renter.rest('POST', `/instances/${body.id}/actions`, { action: 'stop' });
    const answer = await act(renter, key, body.id, 'start');
    expect([answer.status, replayed(answer), answer.body.status]).toEqual([200, null, 'running']);
  });
});

describe('an idempotency key', () => {
  it('is stored for 24 hours', async () => {
    const { body } = await renter.rest('POST', '/instances', { machine_id: await service.machine({ gpu: 'p4' }) });
    const key = newKey();
    await act(renter, key, body.id, 'stop');
    await renter.rest('POST', `/instances/${body.id}/actions`, { action: 'start' });
    service.clock.advance(86_399);
    expect(replayed(await act(renter, key, body.id, 'stop'))).toBe('true');
    service.clock.advance(1);
    const later = await act(renter, key, body.id, 'stop');
    expect([later.status, replayed(later), later.body.status]).toEqual([200, null, 'stopped']);
    expect((await renter.rest('GET', `/instances/${body.id}`)).body.status).toBe('stopped');
    service.clock.advance(86_399);
    const again = await act(renter, key, body.id, 'stop');
    expect([replayed(again), again.body]).toEqual(['true', later.body]);
    service.clock.advance(1);
    const other = await act(renter, key, body.id, 'start');
    expect([other.status, replayed(other), other.body.status]).toEqual([200, null, 'running']);
  });

  it('is pruned by a sweep after exactly 24 hours', async () => {
    const own = await service.renter();
    const { body } = await deploy(own, newKey(), { machine_id: await service.machine({ gpu: 'p4' }) });
    const key = newKey();
    await act(own, key, body.id, 'stop');
    const kept = async () => (await service.sql('select 1 from idempotency_key where key = $1', [key])).length;
    service.clock.advance(86_399);
    await pruneIdempotencyRecords(service.deps);
    expect([await kept(), replayed(await act(own, key, body.id, 'stop'))]).toEqual([1, 'true']);
    service.clock.advance(1);
    await pruneIdempotencyRecords(service.deps);
    expect(await kept()).toBe(0);
  });

  it('in progress makes another request with it wait up to 5 s, then fail with a 409', async () => {
    const [key, other] = [newKey(), await service.renter()];
    const machine_id = await service.machine();
    const input = { machineId: machine_id, idempotencyKey: key };
    const release = [await holdKey(renter.accountId, key), await holdKey(other.accountId, key)];
    const started = performance.now();
    const [first, second, third] = await Promise.all([
      deploy(renter, key, { machine_id }),
      deploy(renter, key, { machine_id }),
      other.graphql(DEPLOY, { input }),
    ]);
    expect(performance.now() - started).toBeGreaterThan(4_500);
    const message = 'an earlier request with this idempotency key is still in progress';
    for (const answer of [first, second]) {
      expect([answer.status, answer.body]).toEqual([409, { error: { code: 'idempotency_in_progress', message } }]);
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    expect(third.body.errors[0]).toMatchObject({
      message,
      extensions: { code: 'idempotency_in_progress', status: 409 },
    });
    await Promise.all(release.map((letGo) => letGo()));
    expect((await deploy(renter, key, { machine_id })).status).toBe(201);
  });

  it("in progress doesn't block its account's other requests", async () => {
    const [held, free] = [newKey(), newKey()];
    const [first, second] = [await service.machine(), await service.machine()];
    const release = await holdKey(renter.accountId, held);
    const waiting = deploy(renter, held, { machine_id: first });
    await sleep(300);
    expect((await deploy(renter, free, { machine_id: second })).status).toBe(201);
    // If it had waited for the other request, that request would have timed out by now.
    await release();
    expect((await waiting).status).toBe(201);
  });

  it('that is released in time lets the waiting request proceed', async () => {
    const [key, machine_id] = [newKey(), await service.machine()];
    const release = await holdKey(renter.accountId, key);
    const waiting = deploy(renter, key, { machine_id });
    setTimeout(release, 300);
    expect((await waiting).status).toBe(201);
  });

  it('yields one execution and one response when sent ten times concurrently', async () => {
    const [key, machine_id, by] = [newKey(), await service.machine(), await service.renter()];
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        index % 2 === 0
          ? deploy(by, key, { machine_id }).then((answer) => [answer.status, answer.body.id, replayed(answer)])
          : by
              .graphql(DEPLOY, { input: { machineId: machine_id, idempotencyKey: key } })
              .then((answer) => [201, answer.body.data.deploy?.id, replayed(answer)]),
      ),
    );
    expect(new Set(answers.map(([status, id]) => `${status} ${id}`)).size).toBe(1);
    expect(answers.filter(([, , again]) => again === null)).toHaveLength(1);
    expect(await count(by)).toBe(1);
  });
});

/** Marks a key as in progress, as another gateway's transaction would. */
async function holdKey(accountId: string, key: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: service.databaseUrl });
  await client.connect();
  await client.query('begin');
  await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`${accountId} ${key}`]);
  return () => client.end();
}
