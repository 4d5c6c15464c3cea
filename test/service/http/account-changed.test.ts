import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createDeps } from '../../../src/compose/deps.js';
import { openDatabase } from '../../../src/database/database.js';
import { creditAccount, suspendAccount } from '../../../src/domain/accounts/accounts.js';
import { accountChanges } from '../../../src/domain/updates/change-streams.js';
import { testSettings } from '../../support/clock.js';
import { type EventStream, subscribe } from '../../support/events.js';
import type { Renter } from '../../support/gateway.js';
import { allCaughtUp, type Service, startService } from '../../support/service.js';

const ACCOUNT = `subscription { accountChanged {
  account { id balance burnPerHour exhaustsAt diskDeleteAt asOf }
  instances { id status stopReason usage { total asOf } }
  topUps { id state }
} }`;
const INSTANCES = 'subscription { instanceChanged { id status stopReason } }';
const BALANCE = 'subscription { balanceChanged { balance burnPerHour exhaustsAt diskDeleteAt asOf } }';

/** Two gateways on one database. */
let here: Service;
let there: Service;
const open: EventStream[] = [];

beforeAll(async () => {
  here = await startService();
  there = await startService({ databaseUrl: here.databaseUrl });
});
afterEach(() => {
  for (const stream of open.splice(0)) stream.abort();
});
afterAll(() => Promise.all([here.close(), there.close()]));

async function follow(service: Service, query: string, { key }: Renter): Promise<EventStream> {
  const stream = await subscribe(service.address, query, { key });
  open.push(stream);
  expect(stream.status).toBe(200);
  return stream;
}

function advance(seconds: number): void {
  for (const { clock } of [here, there]) clock.advance(seconds);
}

const rent = async (renter: Renter, machine_id: string, type = 'od'): Promise<string> =>
  (await renter.rest('POST', '/instances', { machine_id, type })).body.id;
const act = (renter: Renter, id: string, action: string) => renter.rest('POST', `/instances/${id}/actions`, { action });

describe('accountChanged', () => {
  it('combines the events from the balance and instance streams', async () => {
    const renter = await here.renter('40');
    const single = [await follow(here, INSTANCES, renter), await follow(here, BALANCE, renter)] as const;
    const all = await follow(there, ACCOUNT, renter);
    const begin = await single[1].next();
    expect(await all.next()).toEqual({ account: { id: renter.accountId, ...begin }, instances: [], topUps: [] });

    /** Reads the events that one step caused in all streams, and compares them. */
    const expectSame = async (changes: number) => {
      const instances = [];
      for (let count = 0; count < changes; count += 1) instances.push(await single[0].next());
      const balance = await single[1].next();
      const combined: { instances: Record<string, unknown>[]; account: unknown } = { instances: [], account: null };
      // Concurrent changes may arrive in one event or several.
      while (combined.instances.length < changes || combined.account === null) {
        const event = await all.next();
        expect(event.topUps).toEqual([]);
        combined.instances.push(...event.instances);
        combined.account = event.account;
      }
      expect(combined.instances.map(({ usage: _, ...instance }) => instance)).toEqual(instances);
      expect(combined.account).toEqual({ id: renter.accountId, ...balance });
    };

    const first = await rent(renter, await here.machine());
    await expectSame(1);
    advance(61);
    const yielding = await rent(renter, await there.machine(), 'interruptible');
    await expectSame(1);
    await act(renter, first, 'stop');
    await expectSame(1);
    await creditAccount(there.deps, renter.accountId, { amountMicro: 1_000_000n });
    await expectSame(0);
    await act(renter, first, 'start');
    await expectSame(1);
    await renter.rest('DELETE', `/instances/${yielding}`);
    await expectSame(1);
    // Credit runs out, and the sweep settles it without a request.
    advance(20 * 3_600);
    await expectSame(1);
    advance(8 * 86_400);
    await expectSame(1);
    expect(single.map((stream) => stream.text().split('event: next').length)).toEqual([8, 10]);
  });

  it('shows how another account affects this one, but nothing else about the other', async () => {
    const [ann, bob] = [await here.renter(), await here.renter()];
    const machine = await here.machine();
    const [toAnn, toBob] = [await follow(there, ACCOUNT, ann), await follow(there, ACCOUNT, bob)];
    await toAnn.next();
    await toBob.next();
    const yielding = await rent(ann, machine, 'interruptible');
    expect((await toAnn.next()).instances).toMatchObject([{ id: yielding, status: 'RUNNING' }]);
    const taking = await rent(bob, machine);
    expect((await toAnn.next()).instances).toMatchObject([{ id: yielding, stopReason: 'PREEMPTED' }]);
    expect((await toBob.next()).instances).toMatchObject([{ id: taking, status: 'RUNNING' }]);
    expect(toBob.text()).not.toContain(yielding);
    expect(toAnn.text()).not.toContain(taking);
  });

  it('ends when its account is suspended', async () => {
    const renter = await here.renter();
    const stream = await follow(there, ACCOUNT, renter);
    await stream.next();
    await suspendAccount(here.deps, renter.accountId);
    expect(await stream.next()).toMatchObject({ code: 'unauthorized' });
    expect(await stream.next()).toBe('complete');
  });

  it('loses no change if the database fails in the middle of a read', async () => {
    const renter = await here.renter();
    const db = openDatabase(here.databaseUrl);
    const deps = createDeps(db, here.clock, testSettings());
    const end = new AbortController();
    try {
      const keyId = (await renter.graphql('{ apiKeys { id } }')).body.data.apiKeys[0].id;
      const events = await accountChanges(deps, { accountId: renter.accountId, keyId }, end.signal);
      await events.next();
      // After the instances are read, the last read fails once, as if the connection were lost.
      const { account } = deps.accountLoader;
      let failures = 0;
      let calls = 0;
      deps.accountLoader.account = (id) => {
        calls += 1;
        if (calls !== 2) return account.call(deps.accountLoader, id);
        failures += 1;
        return Promise.reject(Object.assign(new Error('Connection terminated'), { code: '57P01' }));
      };
      const next = events.next();
      const id = await rent(renter, await here.machine());
      await allCaughtUp([here]);
      const { value } = await next;
      expect(failures).toBe(1);
      expect(value!.instances.map((instance: { id: string }) => instance.id)).toEqual([id]);
      expect(value!.account.burnPerHour).toBeGreaterThan(0n);
    } finally {
      end.abort();
      await db.close();
    }
  });
});

describe('an instance in a GraphQL response', () => {
  it('contains the balance and hourly cost after an action', async () => {
    const renter = await here.renter('50');
    const fields = '{ id status balance { balance burnPerHour exhaustsAt asOf } }';
    const machineId = await here.machine();
    const deployed = (await renter.graphql(`mutation { deploy(input: { machineId: "${machineId}" }) ${fields} }`)).body
      .data.deploy;
    const now = async () =>
      (await renter.graphql('{ balance { balance burnPerHour exhaustsAt asOf } }')).body.data.balance;
    expect(deployed.balance).toEqual(await now());
    expect(deployed.balance.burnPerHour).toBeGreaterThan(0);
    advance(100);
    const stopped = (await renter.graphql(`mutation { action(id: "${deployed.id}", action: STOP) ${fields} }`)).body
      .data.action;
    expect(stopped.balance).toEqual(await now());
    expect(stopped.balance.balance).toBeLessThan(50);
    expect(stopped.balance.burnPerHour).toBeLessThan(0.01);
  });

  it('reports all its figures as of the same second', async () => {
    const renter = await here.renter('50');
    const id = await rent(renter, await here.machine(), 'res');
    advance(3_601);
    const { body } = await renter.graphql(
      `{ instance(id: "${id}") { asOf earlyExitCost usage { asOf gpuSeconds total } } account { asOf } balance { asOf } }`,
    );
    const second = new Date(Number(here.clock.now()) * 1_000).toISOString().replace('.000', '');
    const { instance, account, balance } = body.data;
    expect([instance.asOf, instance.usage.asOf, account.asOf, balance.asOf]).toEqual(new Array(4).fill(second));
    expect(instance.usage.gpuSeconds).toBe(3_601);
    await renter.rest('DELETE', `/instances/${id}`);
    advance(50);
    const after = (await renter.graphql(`{ instance(id: "${id}") { asOf destroyedAt usage { asOf } } }`)).body.data
      .instance;
    expect([after.asOf, after.usage.asOf]).toEqual([after.destroyedAt, after.destroyedAt]);
  });
});
