import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { enrol } from '../../../src/domain/fleet/enrolment.js';
import { timelineCursor } from '../../../src/domain/instances/rules/timeline.js';
import { seen } from '../../support/agent.js';
import { withoutTimers } from '../../support/background.js';
import type { Renter } from '../../support/gateway.js';
import { rowsTouched } from '../../support/rows-touched.js';
import { type Service, startService } from '../../support/service.js';
import { WireAgent } from '../../support/wire-agent.js';

const TIMELINE = `query ($id: ID!, $first: Int, $after: String, $last: Int, $before: String) { instance(id: $id) {
  timeline(first: $first, after: $after, last: $last, before: $before) {
    pageInfo { hasNextPage hasPreviousPage endCursor startCursor }
    edges { cursor node { at kind ratePerHour amount seconds stopReason creditReason hostFault volumeId volumeName sizeBytes
      asked { at operation targets keyId byConsole address code times } } } } } }`;

interface Entry {
  at: string;
  kind: string;
  ratePerHour: number | null;
  amount: number | null;
  seconds: number | null;
  stopReason: string | null;
  creditReason: string | null;
  volumeName: string | null;
  sizeBytes: number | null;
  asked: { operation: string; targets: string[]; code: string | null } | null;
}

const SSH_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGJvYmJvYmJvYmJvYmJvYmJvYmJvYmJvYmJvYmJvYmJv laptop';

/** More entries than any page contains. */
const NOTES = 10_000;

withoutTimers();
let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

async function page(renter: Renter, id: string, variables: object = {}) {
  await service.deps.activityLog.flush();
  const { body } = await renter.graphql(TIMELINE, { id, ...variables });
  expect(body.errors).toBeUndefined();
  return body.data.instance?.timeline;
}

async function timeline(renter: Renter, id: string): Promise<Entry[]> {
  const { edges } = await page(renter, id, { first: 100 });
  return edges.map(({ node }: { node: Entry }) => node);
}

/** Returns a short form that says what happened or which change was requested. */
const summary = (entries: readonly Entry[]) =>
  entries.map(({ kind, asked }) => (kind === 'CHANGED' ? `${asked?.operation}${asked?.code ? ' refused' : ''}` : kind));

/** Rents a machine. `createdAt` is in seconds since 1970. */
async function rented(renter: Renter): Promise<{ id: string; createdAt: number }> {
  const { body } = await renter.rest('POST', '/instances', { machine_id: await service.machine() });
  service.clock.advance(60);
  return { id: body.id, createdAt: Date.parse(body.created_at) / 1_000 };
}

/** Returns a cursor that belongs to no entry and precedes all entries in its second. */
const halfway = (createdAt: number) =>
  timelineCursor({ at: BigInt(createdAt + NOTES / 2), kind: 'CHANGED', about: '0' });

const act = (renter: Renter, id: string, action: string) => renter.rest('POST', `/instances/${id}/actions`, { action });

describe("an instance's timeline", () => {
  it('contains every event, newest first, with the request that caused it', async () => {
    const renter = await service.renter('50');
    const { id } = await rented(renter);
    await renter.graphql(`mutation { setSpendLimit(id: "${id}", spendLimit: 20) { id } }`);
    service.clock.advance(10);
    await act(renter, id, 'stop');
    service.clock.advance(100);
    await act(renter, id, 'stop');
    service.clock.advance(10);
    await act(renter, id, 'start');
    service.clock.advance(30);
    await act(renter, id, 'destroy');
    const entries = await timeline(renter, id);
    expect(summary(entries)).toEqual(['DESTROYED', 'STARTED', 'stop refused', 'STOPPED', 'setSpendLimit', 'RENTED']);
    const [destroyed, started, , stopped, , first] = entries;
    expect(first).toMatchObject({ asked: { operation: 'deploy' }, amount: null, stopReason: null });
    expect(started).toMatchObject({ asked: { operation: 'start' }, ratePerHour: first!.ratePerHour });
    expect(stopped).toMatchObject({ stopReason: 'USER', seconds: 70, asked: { operation: 'stop', code: null } });
    expect(destroyed).toMatchObject({ stopReason: 'USER', seconds: 30, asked: { operation: 'destroy' } });
    expect(entries.map(({ at }) => at)).toEqual(
      entries
        .map(({ at }) => at)
        .toSorted()
        .reverse(),
    );
    const { body } = await renter.graphql(`{ instance(id: "${id}") { usage { gpuCost } } }`);
    expect(stopped!.amount! + destroyed!.amount!).toBeCloseTo(body.data.instance.usage.gpuCost, 5);
  });

  it('shows the reason for every stop, not only the last one', async () => {
    const renter = await service.renter('50');
    const { id } = await rented(renter);
    await renter.graphql(`mutation { setDeadlines(id: "${id}", stopAt: "1h") { id } }`);
    service.clock.advance(7_200);
    await renter.graphql('{ account { balance } }');
    await act(renter, id, 'start');
    service.clock.advance(60);
    await act(renter, id, 'stop');
    const stops = (await timeline(renter, id)).filter(({ kind }) => kind === 'STOPPED');
    expect(stops.map(({ stopReason, asked }) => [stopReason, asked?.operation ?? null])).toEqual([
      ['USER', 'stop'],
      ['DEADLINE', null],
    ]);
  });

  it('can be paged in both directions and shows each entry once', async () => {
    const renter = await service.renter('50');
    const { id } = await rented(renter);
    // Several entries in the same second still have distinct positions.
    for (let count = 0; count < 7; count += 1)
      await renter.graphql(`mutation { setSpendLimit(id: "${id}", spendLimit: ${20 + count}) { id } }`);
    const all = (await page(renter, id, { first: 100 })).edges.map(({ cursor }: { cursor: string }) => cursor);
    expect(all).toHaveLength(8);
    expect(new Set(all).size).toBe(8);
    const forwards: string[] = [];
    for (let after: string | null = null; ; ) {
      const { edges, pageInfo } = await page(renter, id, { first: 3, after });
      forwards.push(...edges.map(({ cursor }: { cursor: string }) => cursor));
      if (!pageInfo.hasNextPage) break;
      after = pageInfo.endCursor;
    }
    expect(forwards).toEqual(all);
    const last = await page(renter, id, { last: 3 });
    expect(last.edges.map(({ cursor }: { cursor: string }) => cursor)).toEqual(all.slice(-3));
    const before = await page(renter, id, { last: 2, before: all.at(-3) });
    expect(before.edges.map(({ cursor }: { cursor: string }) => cursor)).toEqual(all.slice(-5, -3));
    for (const bad of ['nonsense', Buffer.from('T:1:99:x').toString('base64'), '']) {
      const { body } = await renter.graphql(TIMELINE, { id, first: 3, after: bad });
      expect(body.errors[0].extensions.code).toBe('invalid_request');
    }
  });

  it("contains only its own account's and instance's entries", async () => {
    const [ann, bob] = [await service.renter('50'), await service.renter('50')];
    const [mine, other] = [await rented(ann), await rented(ann)];
    await ann.graphql(`mutation { setSpendLimit(id: "${other.id}", spendLimit: 20) { id } }`);
    await bob.graphql(`mutation { setSpendLimit(id: "${mine.id}", spendLimit: 20) { id } }`);
    expect(summary(await timeline(ann, mine.id))).toEqual(['RENTED']);
    expect(summary(await timeline(ann, other.id))).toEqual(['setSpendLimit', 'RENTED']);
    const { body } = await bob.graphql(TIMELINE, { id: mine.id });
    expect(body.data.instance).toBeNull();
  });

  it("includes SSH keys that can open the instance, but not other instances' keys", async () => {
    const renter = await service.renter('50');
    const [one, two] = [await rented(renter), await rented(renter)];
    const add = (key: string, about = '') =>
      renter.graphql(`mutation { addSshKey(publicKey: "${key}"${about}) { id } }`);
    expect((await add(SSH_KEY)).body.errors).toBeUndefined();
    const { body } = await add(SSH_KEY.replace('laptop', 'x').replace('GJv', 'GJw'), `, instanceId: "${two.id}"`);
    expect(body.errors).toBeUndefined();
    expect(summary(await timeline(renter, one.id))).toEqual(['addSshKey', 'RENTED']);
    expect(summary(await timeline(renter, two.id))).toEqual(['addSshKey', 'addSshKey', 'RENTED']);
  });

  it('includes container and machine events and stored snapshots', async () => {
    const renter = await service.renter('1000');
    const input = { machineId: null, gpu: null, region: 'us-tx', online: true, demo: false };
    const agent = await WireAgent.join(service.address, (await enrol(service.deps, input)).code);
    await agent.report();
    await service.deps.fleet.heartbeats.flush();
    await service.deps.db.notices.caughtUp();
    const { id } = (await renter.rest('POST', '/instances', { machine_id: agent.machineId })).body;
    await agent.desired();
    service.clock.advance(5);
    await agent.report([seen(id, 'RUNNING')]);
    service.clock.advance(5);
    const at = new Date(Number(service.clock.now()) * 1_000).toISOString();
    const [{ machine_id: host }] = (await service.sql('select machine_id from instance where id = $1', [id])) as [
      { machine_id: string },
    ];
    const name = '<b>\u202eevil\u009b31m</b>';
    await service.sql(
      `insert into volume (id, account_id, name, size_gb, gb_rate, created_at, sealed_password, sealing_key_id)
       values ('v-0000000a', $1, $2, 10, 1, $3, '', 'x')`,
      [renter.accountId, name, at],
    );
    await service.sql(
      "insert into volume_attachment (instance_id, volume_id, path) values ($1, 'v-0000000a', '/data')",
      [id],
    );
    await service.sql(
      `insert into volume_snapshot (volume_id, id, at, lease, instance_id, size_bytes, dropped_at)
       values ('v-0000000a', $1, $3, 1, $4, 5000000000, null), ('v-0000000a', $2, $3, 1, $4, 1, $3)`,
      ['a'.repeat(64), 'b'.repeat(64), at, id],
    );
    service.clock.advance(5);
    const gone = new Date(Number(service.clock.now()) * 1_000).toISOString();
    await service.sql(
      'insert into machine_outage (machine_id, started_at, ended_at, settled) values ($1, $2, $3, true)',
      [host, gone, new Date(Date.parse(gone) + 5_000).toISOString()],
    );
    const entries = await timeline(renter, id);
    expect(summary(entries)).toEqual(['REACHABLE', 'UNREACHABLE', 'VOLUME_STORED', 'RUNNING', 'RENTED']);
    // The name is returned as given. Clients escape it when they display it.
    expect(entries[2]).toMatchObject({ volumeName: name, sizeBytes: 5e9 });
  });

  it('shows why seconds were credited, also those credited by earlier versions', async () => {
    const renter = await service.renter('50');
    const { id } = await rented(renter);
    const reasons = ['START', 'SLOW_START', 'TEMPLATE_START', 'START_FAILED', 'OUTAGE'];
    for (const [place, reason] of reasons.entries()) {
      const [from, to] = [place, place + 1].map((second) => new Date((1_800_000_000 + second) * 1_000).toISOString());
      const values = [id, place + 1, reason, from, to];
      await service.sql(
        `insert into service_gap (instance_id, ordinal, resource, reason, rate, started_at, ended_at)
         values ($1, $2, 'GPU', $3::service_gap_reason, 1, $4, $5)`,
        values,
      );
      await service.sql(
        `insert into ledger_entry (id, account_id, kind, units, at, instance_id, note)
         values ($1, $2, 'SERVICE_CREDIT', 1, $3, $4, '')`,
        [`${id}/service/${place + 1}`, renter.accountId, new Date(service.clock.nowMs()).toISOString(), id],
      );
    }
    const credits = (await timeline(renter, id)).filter(({ kind }) => kind === 'CREDITED');
    expect(credits.map(({ creditReason }) => creditReason).reverse()).toEqual(['SLOW_START', ...reasons.slice(1)]);
  });

  it('requires no more reads per page when it is long than when it is short', async () => {
    const [renter, other] = [await service.renter('50'), await service.renter('50')];
    const [long, short] = [await rented(renter), await rented(other)];
    await service.sql(
      `insert into activity (account_id, at, key_id, is_session, address, operation, targets)
       select $1, created_at + n * interval '1 second', 'key-0', false, '::1', 'setSpendLimit', array[$2]
       from instance, generate_series(1, $3::int) n where instance.id = $2`,
      [renter.accountId, long.id, NOTES],
    );
    // Query plans depend on statistics, which the database would otherwise collect only some time later.
    await service.sql('vacuum analyze activity');
    const touchedBy = (who: Renter, id: string, variables: object) =>
      rowsTouched(service.deps.db.pool, async () => expect(await page(who, id, variables)).not.toBeNull());
    const [{ cursor, node }] = (await page(renter, long.id, { first: 1, after: halfway(long.createdAt) })).edges;
    expect(Date.parse(node.at) / 1_000).toBe(long.createdAt + NOTES / 2 - 1);
    // Each entry is read in the index, on the page, and by its id.
    const most = (await touchedBy(other, short.id, { first: 25 })) + 26 * 8;
    for (const place of [{ first: 25 }, { first: 25, after: cursor }, { last: 25 }, { last: 25, before: cursor }])
      expect(await touchedBy(renter, long.id, place), JSON.stringify(place)).toBeLessThanOrEqual(most);
    expect((await timeline(renter, long.id)).length).toBe(100);
  });

  it('can be requested for at most ten instances at once', async () => {
    const renter = await service.renter('50');
    const { id } = await rented(renter);
    const requestTimelines = (count: number) =>
      renter.graphql(
        `{ ${Array.from({ length: count }, (_, at) => `a${at}: instance(id: "${id}") { timeline(first: 1) { edges { node { kind } } } }`).join(' ')} }`,
      );
    expect((await requestTimelines(10)).body.errors).toBeUndefined();
    expect((await requestTimelines(11)).body.errors[0].extensions.code).toBe('invalid_request');
  });
});

describe('the REST API for timelines', () => {
  const read = (renter: Renter, id: string, query = '') => renter.rest('GET', `/instances/${id}/timeline${query}`);
  /** Returns a member's name in GraphQL. */
  const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

  /** Converts a REST response to GraphQL's names and enum values. */
  function inGraphql(value: unknown, name = ''): unknown {
    if (Array.isArray(value)) return value.map((each) => inGraphql(each));
    if (typeof value !== 'object' || value === null)
      return typeof value === 'string' && ['kind', 'stop_reason', 'credit_reason'].includes(name)
        ? value.toUpperCase()
        : value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [camel(key), inGraphql(member, key)]));
  }

  async function rentAndAct(renter: Renter): Promise<string> {
    const { id } = await rented(renter);
    for (const action of ['stop', 'stop', 'start', 'destroy']) {
      await act(renter, id, action);
      service.clock.advance(30);
    }
    await service.deps.activityLog.flush();
    return id;
  }

  it('returns the same entries as GraphQL, with all members', async () => {
    const renter = await service.renter('50');
    const id = await rentAndAct(renter);
    const { status, body } = await read(renter, id);
    const { edges, pageInfo } = await page(renter, id);
    expect([status, body.object]).toEqual([200, 'timeline']);
    expect(body.data.map(({ kind }: { kind: string }) => kind)).toEqual([
      'destroyed',
      'started',
      'changed',
      'stopped',
      'rented',
    ]);
    expect(inGraphql(body.page_info)).toEqual(pageInfo);
    expect(inGraphql(body.data)).toEqual(
      edges.map(({ cursor, node }: { cursor: string; node: object }) => ({ cursor, ...node })),
    );
    expect(body.data[2].asked).toMatchObject({ operation: 'stop', code: 'action_failed', by_console: false });
    expect(body.data[3]).toMatchObject({ stop_reason: 'user', seconds: 60 });
  });

  it('returns the same pages in both directions', async () => {
    const renter = await service.renter('50');
    const id = await rentAndAct(renter);
    const all = (await read(renter, id)).body.data;
    const second = all[1].cursor;
    const place = encodeURIComponent(second);
    for (const [query, variables, expected] of [
      ['first=2', { first: 2 }, all.slice(0, 2)],
      [`first=2&after=${place}`, { first: 2, after: second }, all.slice(2, 4)],
      ['last=2', { last: 2 }, all.slice(-2)],
      [`last=1&before=${place}`, { last: 1, before: second }, all.slice(0, 1)],
    ] as const) {
      const { body } = await read(renter, id, `?${query}`);
      expect([query, body.data]).toEqual([query, expected]);
      expect(inGraphql(body.page_info)).toEqual((await page(renter, id, variables)).pageInfo);
    }
  });

  it("rejects the same input as GraphQL and hides other accounts' instances", async () => {
    const [ann, bob] = [await service.renter('50'), await service.renter('50')];
    const { id } = await rented(ann);
    for (const query of ['first=0', 'first=101', 'last=x', 'after=', 'after=nonsense', 'before=VDoxOjk5Ong=']) {
      const { status, body } = await read(ann, id, `?${query}`);
      expect([query, status, body.error.code]).toEqual([query, 422, 'invalid_request']);
    }
    for (const [who, other] of [
      [ann, 'i-00000000'],
      [bob, id],
    ] as const) {
      expect(await read(who, other)).toMatchObject({
        status: 404,
        body: { error: { code: 'not_found', message: 'no such instance' } },
      });
    }
    expect((await read(service.anyone, id)).status).toBe(401);
  });
});
