import { setTimeout as sleep } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import { parse } from 'graphql';
import { createClient } from 'graphql-sse';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { createDeps } from '../../../src/compose/deps.js';
import { openDatabase } from '../../../src/database/database.js';
import { Notices } from '../../../src/database/notices.js';
import { creditAccount, resumeAccount, suspendAccount } from '../../../src/domain/accounts/accounts.js';
import { createApiKey, revokeApiKey } from '../../../src/domain/accounts/api-keys.js';
import { act, deploy, operatorAct } from '../../../src/domain/instances/instances.js';
import { balanceChanges, instanceChanges, offerChanges } from '../../../src/domain/updates/change-streams.js';
import { GRAPHIQL_EXAMPLES } from '../../../src/http/graphiql/examples.js';
import { testSettings } from '../../support/clock.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';
import { type EventStream, type Subscribing, subscribe } from '../../support/events.js';
import type { Renter } from '../../support/gateway.js';
import { query } from '../../support/process.js';
import { type Service, startService } from '../../support/service.js';

const INSTANCES = 'subscription($id: ID) { instanceChanged(id: $id) { id status stopReason } }';
const BALANCE = 'subscription { balanceChanged { currency balance burnPerHour } }';
const OFFERS = `subscription($gpu: String, $region: String, $limit: Int) {
  offersChanged(gpu: $gpu, region: $region, limit: $limit) { machineId gpu region pricePerHour { onDemand } }
}`;
const PATIENCE = { timeout: 10_000, interval: 10 };
/** A region with few machines, so that one page shows all of them. */
const REGION = 'eu-fi-hel';
const NOTICES = 'gpu-rental-gateway notices';

/** Two gateways on one database. */
let here: Service;
let there: Service;
const open: EventStream[] = [];

beforeAll(async () => {
  here = await startService();
  there = await startService({ databaseUrl: here.databaseUrl });
});
afterEach(async () => {
  for (const stream of open.splice(0)) stream.abort();
  await expect.poll(() => here.deps.subscriptions.size + there.deps.subscriptions.size, PATIENCE).toBe(0);
});
afterAll(() => Promise.all([here.close(), there.close()]));

/** Opens a subscription that must be accepted. It ends after the test. */
async function watch(service: Service, query: string, options: Subscribing = {}): Promise<EventStream> {
  const stream = await subscribe(service.address, query, options);
  open.push(stream);
  expect(stream.status).toBe(200);
  return stream;
}

function advance(seconds: number): void {
  for (const service of [here, there]) service.clock.advance(seconds);
}

async function rent(renter: Renter, machine_id: string, type = 'od'): Promise<string> {
  const { status, body } = await renter.rest('POST', '/instances', { machine_id, type });
  expect([status, body.error]).toEqual([201, undefined]);
  return body.id;
}

const requestAction = (renter: Renter, id: string, action: string) =>
  renter.rest('POST', `/instances/${id}/actions`, { action });

/** Returns the account as a caller of the domain, with a new key. */
async function ownerOf(deps: TestDomain, accountId: string) {
  return { accountId, keyId: (await createApiKey(deps, accountId)).apiKey.id };
}

const never = () => new AbortController().signal;

describe('instanceChanged', () => {
  it('sends each change, both on the gateway that made it and on the other', async () => {
    const renter = await here.renter();
    const streams = [
      await watch(here, INSTANCES, { key: renter.key }),
      await watch(there, INSTANCES, { key: renter.key, method: 'GET' }),
    ];
    const expectEvents = async (id: string, status: string, stopReason: string | null) => {
      for (const stream of streams) expect(await stream.next()).toEqual({ id, status, stopReason });
    };
    const id = await rent(renter, await here.machine());
    await expectEvents(id, 'RUNNING', null);
    await requestAction(renter, id, 'stop');
    await expectEvents(id, 'STOPPED', 'USER');
    await requestAction(renter, id, 'start');
    await expectEvents(id, 'RUNNING', null);
    await renter.rest('DELETE', `/instances/${id}`);
    await expectEvents(id, 'DESTROYED', 'USER');
  });

  it('notifies each account of a preemption, but only for its own instances', async () => {
    const [ann, bob] = [await here.renter(), await here.renter()];
    const machine = await here.machine();
    const [toAnn, toBob] = [
      await watch(there, INSTANCES, { key: ann.key }),
      await watch(here, INSTANCES, { key: bob.key }),
    ];
    const preempted = await rent(ann, machine, 'interruptible');
    expect(await toAnn.next()).toMatchObject({ id: preempted, status: 'RUNNING' });
    const preempting = await rent(bob, machine);
    expect(await toAnn.next()).toEqual({ id: preempted, status: 'STOPPED', stopReason: 'PREEMPTED' });
    expect(await toBob.next()).toEqual({ id: preempting, status: 'RUNNING', stopReason: null });
    await requestAction(bob, preempting, 'stop');
    await requestAction(ann, preempted, 'start');
    expect(await toAnn.next()).toMatchObject({ id: preempted, status: 'RUNNING' });
    expect(await toBob.next()).toMatchObject({ id: preempting, status: 'STOPPED' });
  });

  it("sends the sweep's changes when credit runs out and when the grace period ends", async () => {
    const renter = await here.renter('5');
    const id = await rent(renter, await here.machine());
    const streams = [
      await watch(here, INSTANCES, { key: renter.key }),
      await watch(there, INSTANCES, { key: renter.key }),
    ];
    advance(5 * 3_600);
    for (const stream of streams) {
      expect(await stream.next()).toEqual({ id, status: 'STOPPED', stopReason: 'BALANCE_EXHAUSTED' });
    }
    advance(8 * 86_400);
    for (const stream of streams) expect(await stream.next()).toMatchObject({ id, status: 'DESTROYED' });
  });

  it('follows only one instance if requested', async () => {
    const renter = await here.renter();
    const first = await rent(renter, await here.machine());
    const second = await rent(renter, await here.machine());
    const stream = await watch(there, INSTANCES, { key: renter.key, variables: { id: first } });
    await requestAction(renter, second, 'stop');
    await rent(renter, await here.machine());
    await requestAction(renter, first, 'stop');
    expect(await stream.next()).toEqual({ id: first, status: 'STOPPED', stopReason: 'USER' });
  });

  it("refuses unknown ids and other accounts' ids alike", async () => {
    const [ann, bob] = [await here.renter(), await here.renter()];
    const id = await rent(bob, await here.machine());
    for (const unknown of [id, 'i-00000000', 'nonsense']) {
      const stream = await watch(here, INSTANCES, { key: ann.key, variables: { id: unknown } });
      expect(await stream.next()).toMatchObject({ code: 'not_found', errors: [{ message: 'no such instance' }] });
      expect(await stream.next()).toBe('complete');
    }
  });

  it('merges changes into one event per instance for a slow reader', async () => {
    const deps = await openTestDomain();
    const accountId = await deps.account();
    const changes = await instanceChanges(deps, await ownerOf(deps, accountId), null, never());
    const next = async () => {
      const { id, status } = (await changes.next()).value;
      return [id, status];
    };
    const rentOne = async () => (await deploy(deps, accountId, { machineId: await deps.machine() })).instance.id;
    const [one, two] = [await rentOne(), await rentOne()];
    await act(deps, accountId, { id: one, action: 'STOP' });
    await act(deps, accountId, { id: two, action: 'STOP' });
    await act(deps, accountId, { id: two, action: 'START' });
    expect(await next()).toEqual([one, 'STOPPED']);
    expect(await next()).toEqual([two, 'RUNNING']);
    await act(deps, accountId, { id: one, action: 'START' });
    await act(deps, accountId, { id: one, action: 'STOP' });
    expect(await next()).toEqual([one, 'STOPPED']);
    const brief = await rentOne();
    await act(deps, accountId, { id: brief, action: 'DESTROY' });
    expect(await next()).toEqual([brief, 'DESTROYED']);
    await deps.close();
  });
});

describe('balanceChanged', () => {
  it('starts with the balance and sends it again when credit or the burn rate changes', async () => {
    const renter = await here.renter('100');
    const machine = await here.machine();
    const streams = [await watch(here, BALANCE, { key: renter.key }), await watch(there, BALANCE, { key: renter.key })];
    const expectEvents = async (balance: number, burnPerHour: number) => {
      for (const stream of streams) expect(await stream.next()).toEqual({ currency: 'USD', balance, burnPerHour });
    };
    await expectEvents(100, 0);
    const id = await rent(renter, machine);
    const { gpuRate, diskRate } = await here.deps.db.prisma.instance.findUniqueOrThrow({ where: { id } });
    const burn = Number(gpuRate + diskRate) / 1e6;
    await expectEvents(100, burn);
    advance(3_600);
    await creditAccount(here.deps, renter.accountId, { amountMicro: 7_000_000n });
    await expectEvents(107 - burn, burn);
    await requestAction(renter, id, 'stop');
    await expectEvents(107 - burn, Number(diskRate) / 1e6);
  });

  it('sends nothing as time passes, for other writes or for other accounts', async () => {
    const [ann, bob] = [await here.renter('100'), await here.renter()];
    const id = await rent(ann, await here.machine());
    const stream = await watch(there, BALANCE, { key: ann.key });
    await stream.next();
    advance(600);
    await there.withKey(ann.key).rest('GET', '/balance');
    await creditAccount(here.deps, bob.accountId, { amountMicro: 1_000_000n });
    await rent(bob, await here.machine());
    // A write that settles the account and changes neither its credit nor its burn rate.
    await resumeAccount(here.deps, ann.accountId);
    await there.sql('update account set settled_at = settled_at where id = $1', [ann.accountId]);
    await there.deps.db.notices.caughtUp();
    await requestAction(ann, id, 'stop');
    const { diskRate } = await here.deps.db.prisma.instance.findUniqueOrThrow({ where: { id } });
    expect(await stream.next()).toMatchObject({ burnPerHour: Number(diskRate) / 1e6 });
  });

  it("sends another program's charge even if the credit and burn rate are unchanged", async () => {
    const deps = await openTestDomain({ diskRatePerGb: 0n });
    const accountId = await deps.account('1000');
    const { instance } = await deploy(deps, accountId, { machineId: await deps.machine(), mode: 'RESERVED' });
    deps.clock.advance(36_000);
    await act(deps, accountId, { id: instance.id, action: 'STOP' });
    const changes = await balanceChanges(deps, await ownerOf(deps, accountId), never());
    const before = (await changes.next()).value;
    const operator = createDeps(openDatabase(deps.db.pool.options.connectionString!), deps.clock, testSettings());
    await operatorAct(operator, instance.id, 'DESTROY');
    await operator.db.close();
    const after = (await changes.next()).value;
    expect([before.burnPerHour, after.burnPerHour]).toEqual([0n, 0n]);
    expect(after.balance).toBeLessThan(before.balance);
    await deps.close();
  });
});

describe('offersChanged', () => {
  const idsOf = (offers: { machineId: string }[]) => offers.map(({ machineId }) => machineId);

  it('starts with the offers and sends them again as machines are rented and freed', async () => {
    const renter = await here.renter();
    const machine = await here.machine({ region: REGION });
    const variables = { gpu: 'h100-sxm', region: REGION };
    const stream = await watch(there, OFFERS, { variables, method: 'GET' });
    const first = await stream.next();
    expect(first).toContainEqual({
      machineId: machine,
      gpu: 'h100-sxm',
      region: REGION,
      pricePerHour: { onDemand: expect.any(Number) },
    });
    const id = await rent(renter, machine);
    expect(await stream.next()).toEqual(first.filter((offer: { machineId: string }) => offer.machineId !== machine));
    await requestAction(renter, id, 'stop');
    expect(await stream.next()).toEqual(first);
  });

  it('sends nothing for changes outside the filter', async () => {
    // This stream is opened first, so that it reads first.
    const narrow = await watch(here, OFFERS, { variables: { gpu: 'h100-sxm', region: REGION } });
    const wide = await watch(here, OFFERS, { variables: { gpu: 'h100-sxm', limit: 100 } });
    const first = await narrow.next();
    await wide.next();
    const outside = await there.machine({ region: 'us-tx' });
    expect(idsOf(await wide.next())).toContain(outside);
    const inside = await there.machine({ region: REGION });
    expect(idsOf(await narrow.next()).sort()).toEqual([...idsOf(first), inside].sort());
  });

  it('merges many changes into a few events', async () => {
    const startedAt = performance.now();
    const stream = await watch(here, OFFERS, { variables: { gpu: 'h100-sxm', region: REGION, limit: 100 } });
    let last = idsOf(await stream.next());
    const added: string[] = [];
    for (let index = 0; index < 20; index += 1) added.push(await there.machine({ region: REGION }));
    let events = 0;
    while (!added.every((id) => last.includes(id))) {
      last = idsOf(await stream.next());
      events += 1;
    }
    // There is one event per second and not one per change, no matter how slow the computer is.
    expect(events).toBeLessThanOrEqual(1 + (performance.now() - startedAt) / 1_000);
  });

  it('validates its arguments as offers does', async () => {
    const stream = await watch(here, OFFERS, { variables: { limit: 101 } });
    expect(await stream.next()).toMatchObject({
      code: 'invalid_request',
      errors: [{ message: 'limit must be a whole number from 1 to 100' }],
    });
    const defaults = await watch(here, 'subscription { offersChanged { machineId } }');
    const { body } = await here.anyone.graphql('{ offers { machineId } }');
    expect(await defaults.next()).toEqual(body.data.offers);
  });
});

describe('subscriptions over HTTP', () => {
  it('use an event stream that is never cached or buffered, with comments while idle', async () => {
    const stream = await watch(here, OFFERS, { variables: { limit: 100 }, headers: { 'accept-encoding': 'gzip, br' } });
    expect(Object.fromEntries(stream.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      'access-control-allow-origin': '*',
    });
    expect(stream.headers.get('content-encoding')).toBeNull();
    await stream.next();
    const comments = () => stream.text().match(/^:\n\n/gm)?.length ?? 0;
    const before = comments();
    await expect.poll(comments, PATIENCE).toBeGreaterThan(before);
  });

  it.each(['POST', 'GET'] as const)('refuse a %s that doesn’t request an event stream', async (method) => {
    const renter = await here.renter();
    for (const accept of ['application/json', 'application/graphql-response+json', '*/*']) {
      const stream = await subscribe(here.address, BALANCE, { key: renter.key, method, headers: { accept } });
      await expect
        .poll(stream.text, PATIENCE)
        .toContain('a subscription requires the header Accept: text/event-stream');
      expect([stream.status, JSON.parse(stream.text()).errors[0].extensions]).toEqual([
        406,
        { code: 'invalid_request', status: 406 },
      ]);
    }
    expect(here.deps.subscriptions.size).toBe(0);
  });

  it.each([
    ['POST', 200],
    ['GET', 401],
  ] as const)('refuse a %s with status %i without a valid key', async (method, status) => {
    for (const key of [undefined, `gpu_live_${'0'.repeat(40)}`]) {
      for (const query of [INSTANCES, BALANCE]) {
        const stream = await subscribe(here.address, query, { method, ...(key && { key }) });
        expect([stream.status, stream.headers.get('www-authenticate')]).toEqual([status, 'Bearer']);
        expect(await stream.next()).toMatchObject({ code: 'unauthorized', data: undefined });
        expect(await stream.next()).toBe('complete');
      }
    }
  });

  it.each([
    ['a wrong key', BALANCE, 'unauthorized'],
    ['an unknown field', 'subscription { nothingChanged }', 'GRAPHQL_VALIDATION_FAILED'],
    ['a syntax error', 'subscription {', 'GRAPHQL_PARSE_FAILED'],
  ])('report refusals to graphql-sse immediately: %s', async (_name, query, code) => {
    const client = createClient({ url: `${here.address}/graphql`, headers: { authorization: 'Bearer gpu_live_no' } });
    const codes: unknown[] = [];
    for await (const { errors } of client.iterate({ query })) codes.push(errors?.[0]?.extensions?.code);
    expect(codes).toEqual([code]);
    client.dispose();
  });

  it('report invalid requests with a code', async () => {
    const offers = (rest: string) => `subscription($n: Int!) { ${rest} }`;
    for (const [query, variables, message] of [
      [offers('offersChanged(limit: $n) { gpu }'), {}, /Variable "\$n" of required type/],
      [offers('offersChanged(limit: $n) @skip(if: true) { gpu }'), { n: 1 }, /must select its field/],
      [offers('... @include(if: false) { offersChanged(limit: $n) { gpu } }'), { n: 1 }, /must select its field/],
    ] as const) {
      const stream = await subscribe(here.address, query, { variables });
      open.push(stream);
      const { code, errors } = await stream.next();
      expect([code, errors[0].message]).toEqual(['invalid_request', expect.stringMatching(message)]);
    }
  });

  it('limit the size of each event', async () => {
    const aliases = Array.from({ length: 60 }, (_, index) => `a${index}: machineId`).join(' ');
    const stream = await subscribe(here.address, `subscription { offersChanged(limit: 100) { ${aliases} } }`);
    open.push(stream);
    expect((await stream.next()).errors[0].message).toMatch(/^an event may have at most 5000 values/);
  });

  it('count toward the rate limit once, when opened', async () => {
    const limited = await startService({ rateLimitPerMinute: 3 });
    const renter = await limited.renter();
    const stream = await subscribe(limited.address, BALANCE, { key: renter.key });
    expect(stream.headers.get('ratelimit-remaining')).toBe('2');
    await stream.next();
    await creditAccount(limited.deps, renter.accountId, { amountMicro: 1_000_000n });
    await stream.next();
    const offers = await subscribe(limited.address, OFFERS, { key: renter.key });
    expect([offers.status, offers.headers.get('ratelimit-remaining')]).toEqual([200, null]);
    for (const remaining of ['1', '0']) {
      const { headers } = await subscribe(limited.address, INSTANCES, { key: renter.key });
      expect(headers.get('ratelimit-remaining')).toBe(remaining);
    }
    const refused = await subscribe(limited.address, INSTANCES, { key: renter.key });
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
    expect(limited.deps.subscriptions.size).toBe(4);
    await limited.close();
  });
});

describe('a key that is no longer accepted', () => {
  const ended = async (stream: EventStream) => {
    expect(await stream.next()).toMatchObject({ code: 'unauthorized', errors: [{ extensions: { status: 401 } }] });
    expect(await stream.next()).toBe('complete');
  };

  it('ends only its own streams, on all gateways, when it is revoked', async () => {
    const renter = await here.renter();
    const { body } = await renter.graphql('mutation { createApiKey { secret apiKey { id } } }');
    const { secret, apiKey } = body.data.createApiKey;
    const streams = [
      await watch(here, INSTANCES, { key: secret }),
      await watch(there, INSTANCES, { key: secret }),
      await watch(here, BALANCE, { key: secret }),
      await watch(there, OFFERS, { key: secret, variables: { limit: 1 } }),
    ];
    const other = await watch(there, BALANCE, { key: renter.key });
    for (const stream of [...streams.slice(2), other]) await stream.next();
    await renter.graphql('mutation($id: ID!) { revokeApiKey(id: $id) { id } }', { id: apiKey.id });
    for (const stream of streams) await ended(stream);
    await creditAccount(here.deps, renter.accountId, { amountMicro: 1_000_000n });
    expect(await other.next()).toMatchObject({ balance: 101 });
  });

  it("ends all of its account's streams on all gateways when the account is suspended", async () => {
    const [renter, other] = [await here.renter(), await here.renter()];
    const streams = [
      await watch(here, INSTANCES, { key: renter.key }),
      await watch(there, INSTANCES, { key: renter.key }),
      await watch(there, OFFERS, { key: renter.key, variables: { limit: 1 } }),
    ];
    await streams[2]!.next();
    const untouched = await watch(there, INSTANCES, { key: other.key });
    await suspendAccount(here.deps, renter.accountId);
    for (const stream of streams) await ended(stream);
    const id = await rent(other, await here.machine());
    expect(await untouched.next()).toMatchObject({ id });
  });

  it('ends its streams in the process that revokes it even without notices', async () => {
    const deps = await openTestDomain();
    // Uses the real class, which is never connected, so that only this process's own notices arrive.
    const disconnected = new Notices('postgres://nowhere.invalid/', 'within');
    disconnected.ready = async () => {};
    const isolated = createDeps({ ...deps.db, notices: disconnected }, deps.clock, testSettings());
    const owner = await ownerOf(deps, await deps.account());
    const changes = await instanceChanges(isolated, owner, null, never());
    const ended = expect(changes.next()).rejects.toMatchObject({ code: 'unauthorized' });
    await revokeApiKey(isolated, owner.accountId, owner.keyId);
    await ended;
    expect(await changes.next()).toEqual({ done: true, value: undefined });
    expect(isolated.subscriptions.size).toBe(0);
    await deps.close();
  });

  it('opens no stream if it was revoked while the request was in flight', async () => {
    const deps = await openTestDomain();
    const owner = await ownerOf(deps, await deps.account());
    await revokeApiKey(deps, null, owner.keyId);
    await expect(balanceChanges(deps, owner, never())).rejects.toMatchObject({ code: 'unauthorized' });
    expect(deps.subscriptions.size).toBe(0);
    await deps.close();
  });
});

describe('a gateway that missed notices', () => {
  it('sends missed changes later and ends the streams of revoked keys', async () => {
    const [ann, bob] = [await here.renter(), await here.renter()];
    const operator = createDeps(openDatabase(here.databaseUrl), here.clock, testSettings());
    const [kept, changed] = [await rent(ann, await here.machine()), await rent(ann, await here.machine())];
    const machine = await here.machine({ region: REGION });
    const instances = await watch(there, INSTANCES, { key: ann.key });
    const balance = await watch(there, BALANCE, { key: ann.key });
    const offers = await watch(there, OFFERS, { variables: { gpu: 'h100-sxm', region: REGION, limit: 100 } });
    const revoked = await watch(there, INSTANCES, { key: bob.key });
    await balance.next();
    const before = await offers.next();
    const { id: keyId } = await here.deps.db.prisma.apiKey.findFirstOrThrow({ where: { accountId: bob.accountId } });
    // This opens the operator's connection before new ones are refused.
    await operator.db.pool.query('select 1');
    const name = new URL(here.databaseUrl).pathname.slice(1);
    const allow = (allowed: boolean) =>
      query(inject('serverUrl'), `alter database ${name} with allow_connections ${allowed}`);
    let brief: string;
    await allow(false);
    try {
      await query(
        inject('serverUrl'),
        'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and datname = $2',
        [NOTICES, name],
      );
      await expect.poll(() => there.deps.db.notices.isListening, PATIENCE).toBe(false);
      await operatorAct(operator, changed, 'STOP');
      await creditAccount(operator, ann.accountId, { amountMicro: 1_000_000n });
      brief = (await deploy(operator, ann.accountId, { machineId: machine })).instance.id;
      await act(operator, ann.accountId, { id: brief, action: 'DESTROY' });
      await operator.db.prisma.machine.update({ where: { id: machine }, data: { state: 'OFFLINE' } });
      await operator.db.prisma.apiKey.update({ where: { id: keyId }, data: { revokedAt: new Date() } });
    } finally {
      await allow(true);
    }
    expect(await instances.next()).toEqual({ id: changed, status: 'STOPPED', stopReason: 'OPERATOR' });
    expect(await instances.next()).toMatchObject({ id: brief, status: 'DESTROYED' });
    expect(await balance.next()).toMatchObject({ balance: 101 });
    expect(await offers.next()).toEqual(before.filter((offer: { machineId: string }) => offer.machineId !== machine));
    expect(await revoked.next()).toMatchObject({ code: 'unauthorized' });
    // The streams continue.
    await requestAction(ann, kept, 'stop');
    expect(await instances.next()).toMatchObject({ id: kept, status: 'STOPPED' });
    await operator.db.close();
  });

  it('waits for an unreachable database and then catches up', async () => {
    const deps = await openTestDomain();
    const accountId = await deps.account();
    const changes = await balanceChanges(deps, await ownerOf(deps, accountId), never());
    await changes.next();
    const { pool } = deps.db;
    const read = pool.query;
    let faults = 0;
    pool.query = (() => {
      faults += 1;
      return Promise.reject(new Error('Connection terminated unexpectedly'));
    }) as never;
    const next = changes.next();
    deps.db.notices.publish([{ table: 'account', id: accountId }]);
    await expect.poll(() => faults, PATIENCE).toBeGreaterThan(1);
    pool.query = read;
    await creditAccount(deps, accountId, { amountMicro: 1_000_000n });
    expect((await next).value).toMatchObject({ balance: 101_000_000n });
    await deps.close();
  });

  it('ends a stream with an error that hides the cause', async () => {
    const stream = await watch(here, OFFERS, { variables: { limit: 1 } });
    await stream.next();
    const { inventory } = here.deps;
    inventory.current = () => Promise.reject(new Error('a fault of ours'));
    try {
      here.deps.db.notices.publish([{ table: 'catalogue' }]);
      expect(await stream.next()).toMatchObject({ code: 'internal', errors: [{ message: 'internal error' }] });
      expect([await stream.next(), here.deps.subscriptions.size]).toEqual(['complete', 0]);
    } finally {
      // Restores the method of the class.
      delete (inventory as Partial<typeof inventory>).current;
    }
  });
});

describe('a stopping gateway', () => {
  it('completes its streams without waiting and opens no new ones', async () => {
    const ending = await startService();
    const renter = await ending.renter();
    const streams = await Promise.all(
      [INSTANCES, BALANCE, OFFERS].map((query) => subscribe(ending.address, query, { key: renter.key })),
    );
    for (const stream of streams.slice(1)) await stream.next();
    await ending.close();
    for (const stream of streams) expect(await stream.next()).toBe('complete');
    await expect(offerChanges(ending.deps, { address: '192.0.2.1' }, {}, never())).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});

describe("GraphiQL's page", () => {
  /** Returns the fetcher that the page's served script passes to GraphiQL, without a browser. */
  async function pageFetcher(address: string) {
    const page = await (await fetch(`${address}/graphql`, { headers: { accept: 'text/html' } })).text();
    const script = /<script>\s*(const .*?)<\/script>/s.exec(page)![1]!;
    const options = /<script type="application\/json" id="options">(.*?)<\/script>/s.exec(page)![1]!;
    let fetcher: (operation: object, options: object) => Promise<AsyncIterable<unknown> & AsyncIterator<unknown>>;
    runInNewContext(script, {
      document: { getElementById: () => ({ textContent: options }) },
      localStorage: { getItem: () => null },
      location: { pathname: '/graphql' },
      window: {},
      YogaGraphiQL: {
        renderYogaGraphiQL: (_root: unknown, props: { fetcher: typeof fetcher }) => (fetcher = props.fetcher),
      },
      fetch: (path: string, init: RequestInit) => fetch(address + path, init),
      ...{ AbortController, Headers, TextDecoderStream },
    });
    return (query: string, variables = {}) =>
      fetcher(
        { query, variables },
        { documentAST: parse(query), headers: { Authorization: 'Bearer gpu_live_PASTE_YOUR_KEY_HERE' } },
      );
  }

  it("shows ordinary responses, and a subscription's events until it is stopped", async () => {
    const run = await pageFetcher(here.address);
    const { query, variables } = GRAPHIQL_EXAMPLES.at(-1)!;
    const events = await run(query, variables);
    const { value } = (await events.next()) as { value: { data: { offersChanged: object[] } } };
    expect(value.data.offersChanged).toHaveLength(5);
    const next = events.next();
    expect(here.deps.subscriptions.size).toBe(1);
    void events.return!();
    expect(await next).toEqual({ done: true, value: undefined });
    await expect.poll(() => here.deps.subscriptions.size, PATIENCE).toBe(0);
    expect(await run('{ __typename }')).toEqual({ data: { __typename: 'Query' } });
    const refused = await run(BALANCE);
    expect(await refused.next()).toMatchObject({ value: { errors: [{ message: 'missing or unknown API key' }] } });
    expect(await refused.next()).toMatchObject({ done: true });
  });
});

it('a reader is removed immediately when it returns, even while it is waiting', async () => {
  const deps = await openTestDomain();
  const changes = await instanceChanges(deps, await ownerOf(deps, await deps.account()), null, never());
  const next = changes.next();
  await sleep(0);
  expect(deps.subscriptions.size).toBe(1);
  await changes.return!();
  expect([await next, deps.subscriptions.size]).toEqual([{ done: true, value: undefined }, 0]);
  await deps.close();
});
