import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ObservedVolume } from '../../../src/agent-protocol/protocol.js';
import { suspendAccount } from '../../../src/domain/accounts/accounts.js';
import { enrol, forgetContainers, revokeHost } from '../../../src/domain/fleet/enrolment.js';
import { markUnreachable } from '../../../src/domain/fleet/heartbeats.js';
import { settleOpenStarts } from '../../../src/domain/fleet/start-credits.js';
import { seen } from '../../support/agent.js';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';
import { WireAgent } from '../../support/wire-agent.js';

// biome-ignore lint/suspicious/noExplicitAny: responses have any shape
type Any = any;

let service: Service;
let renter: Renter;

beforeAll(async () => {
  service = await startService({ secretsKeys: ['ab'.repeat(32)] });
  renter = await service.renter('1000');
});
afterAll(() => service?.close());

const iso = (seconds = 0) => new Date(Number(service.clock.now()) * 1_000 + seconds * 1_000).toISOString();

/** Creates a volume and returns its id. */
async function volume(gb = 10, of = renter): Promise<string> {
  const { body } = await of.graphql(`mutation { createVolume(input: { name: "work", sizeGb: ${gb} }) { id } }`);
  return body.data.createVolume.id;
}

/** Records a snapshot as the store does, and returns its id. */
async function snapshot(of: string, lease: number | null, at = iso()): Promise<string> {
  const id = randomBytes(32).toString('hex');
  await service.sql('insert into volume_snapshot (volume_id, id, at, lease) values ($1, $2, $3, $4)', [
    of,
    id,
    at,
    lease,
  ]);
  return id;
}

async function row(id: string): Promise<Any> {
  const [found] = await service.sql(
    `select lease::int, lease_instance_id as holder, lease_host_id as host, lease_nonce as nonce, lease_opened as opened
     from volume where id = $1`,
    [id],
  );
  return found;
}

async function attachment(id: string, instance: string): Promise<Any> {
  const [found] = await service.sql(
    'select path, size_gb as gb, message, lost_since from volume_attachment where volume_id = $1 and instance_id = $2',
    [id, instance],
  );
  return found;
}

/** A machine whose agent reports what the test chooses. */
class Host {
  static readonly #joined: string[] = [];

  private constructor(readonly agent: WireAgent) {}

  static async join({ volumes = true, region = 'us-tx' } = {}): Promise<Host> {
    // Only a few hosts per minute may join from one network.
    service.clock.advance(61);
    const { code } = await enrol(service.deps, { machineId: null, gpu: null, region, online: true, demo: false });
    const agent = await WireAgent.join(service.address, code);
    agent.volumes = volumes;
    const host = new Host(agent);
    Host.#joined.push(host.id);
    // The other hosts send heartbeats too.
    for (const id of Host.#joined) service.deps.fleet.heartbeats.record(id, service.clock.now());
    await host.report();
    return host;
  }

  get id(): string {
    return this.agent.machineId;
  }

  async report(...instances: Parameters<WireAgent['report']>[0] & object): Promise<void> {
    await this.agent.report(instances);
    await service.deps.fleet.heartbeats.flush();
    await service.deps.db.notices.caughtUp();
  }

  async access(instance: string, start = 1): Promise<Any> {
    const path = `/agent/v1/volumes?instance=${instance}&start=${start}`;
    const answer = await fetch(service.address + path, { headers: this.agent.headers() });
    return { status: answer.status, body: (await answer.json()) as Any };
  }

  /** Deploys an instance on this host and reports it as running. */
  async run(...volumes: { id: string; path: string }[]): Promise<string> {
    const { status, body } = await this.deploy(volumes);
    expect([status, body.error]).toEqual([201, undefined]);
    await this.agent.desired();
    expect((await this.access(body.id)).status).toBe(200);
    await this.report(seen(body.id, 'RUNNING', { start: 1 }));
    return body.id;
  }

  deploy(volumes: unknown, of = renter, more = {}) {
    return of.rest('POST', '/instances', { machine_id: this.id, volumes, ...more });
  }

  /** Reports that the instance has stopped, together with these observations about its volumes. */
  async stopped(id: string, volumes: ObservedVolume[], start = 1): Promise<void> {
    await this.report(seen(id, 'SAVING', { start, volumes }));
  }
}

const at = (id: string, path = '/data') => ({ id, path });
const observed = (id: string, lease: number, of: Partial<ObservedVolume> = {}): ObservedVolume => {
  return { id, lease, snapshot: null, sizeBytes: null, saved: true, message: null, ...of };
};
const act = (id: string, action: string, of = renter) => of.rest('POST', `/instances/${id}/actions`, { action });

async function silence(seconds: number): Promise<void> {
  service.clock.advance(seconds);
  await markUnreachable(service.deps.db, service.clock.now());
  await service.deps.db.notices.caughtUp();
}

describe('an instance with volumes', () => {
  it('holds their leases, with access granted only to its agent', async () => {
    const host = await Host.join();
    const [one, two] = [await volume(10), await volume(20)];
    const newest = await snapshot(one, null);
    const { body } = await host.deploy([at(two, '/workspace'), at(one)]);
    expect(await row(one)).toMatchObject({ lease: 1, holder: body.id, host: host.id, opened: false });
    const document = await host.agent.desired();
    expect(document.instances.find(({ id }) => id === body.id)!.volumes).toEqual([
      { id: one, path: '/data', sizeGb: 10, lease: 1 },
      { id: two, path: '/workspace', sizeGb: 20, lease: 1 },
    ]);
    const access = await host.access(body.id);
    const [first, second] = [one, two].sort();
    expect(access.body.volumes.map(({ id }: Any) => id)).toEqual([first, second]);
    const of = (id: string) => access.body.volumes.find((each: Any) => each.id === id);
    expect(of(one)).toMatchObject({
      lease: 1,
      path: `/volumes/${one}/`,
      password: (await renter.graphql(`{ volumePassword(id: "${one}") }`)).body.data.volumePassword,
      token: expect.stringMatching(/^[0-9a-f]{64}$/),
      restore: { snapshot: newest, sizeBytes: null },
      snapshotSeconds: 600,
    });
    expect(of(two).restore).toBeNull();
    expect(await row(one)).toMatchObject({ opened: true });
    const other = await Host.join();
    for (const refused of [
      await other.access(body.id),
      await host.access(body.id, 2),
      await host.access('i-00000000'),
      await host.access("' or true --"),
    ])
      expect(refused).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
  });

  it('starts on a copied volume at the chosen snapshot once the copy is complete', async () => {
    const host = await Host.join();
    const id = await volume();
    const [older, head, other] = [
      await snapshot(id, null),
      await snapshot(id, null, iso(1)),
      await snapshot(id, null, iso(2)),
    ];
    await service.sql(`update volume set copy_of = 'v-00000000', head_snapshot_id = $2 where id = $1`, [id, head]);
    expect((await host.deploy([at(id)])).body.error.message).toBe(`volume ${id} is being copied; try again later`);
    await service.sql('update volume set copied_at = $2 where id = $1', [id, iso(10)]);
    const { body } = await host.deploy([at(id)]);
    const begins = async () => (await host.access(body.id)).body.volumes[0].restore.snapshot;
    expect([older, other]).not.toContain(await begins());
    expect(await begins()).toBe(head);
    const newer = await snapshot(id, 1, iso(20));
    expect(await begins()).toBe(newer);
  });

  it("uses the host's disk for its own disk and its volumes until destroyed", async () => {
    const host = await Host.join();
    const [small, large] = [await volume(400), await volume(600)];
    const refused = await host.deploy([at(small), at(large, '/large')]);
    expect(refused.body.error.message).toBe(
      `machine ${host.id} has 1000 GB of free disk, less than the 1050 of disk and volumes`,
    );
    const id = await host.run(at(small));
    const { rows } = await service.deps.db.pool.query('select volume_gb as gb from instance where id = $1', [id]);
    expect(rows[0].gb).toBe(400);
    const view = `{ offerSearch(filter: { diskGbMin: 551, regions: ["us-tx"] }) { edges { node { machineId } } } }`;
    await act(id, 'stop');
    expect(JSON.stringify((await renter.graphql(view)).body)).not.toContain(host.id);
    await renter.rest('DELETE', `/instances/${id}`);
    await expect
      .poll(async () => JSON.stringify((await renter.graphql(view)).body), { timeout: 20_000 })
      .toContain(host.id);
  });

  it('is rejected if its volume list is out of bounds', async () => {
    const host = await Host.join();
    const ids = await Promise.all(Array.from({ length: 9 }, () => volume(1)));
    const [one = '', two = ''] = ids;
    for (const volumes of [
      ids.map((id, index) => at(id, `/data-${index}`)),
      [at(one), at(two)],
      [at(one), at(one, '/other')],
      [{ id: one }],
      [at('v-1')],
      ...[
        'data',
        '/',
        '/etc',
        '/proc',
        '/sys/x',
        '/dev/shm',
        '/run/secrets/a',
        '/a/',
        '/a//b',
        '/a/../b',
        '/a/.',
        `/${'a'.repeat(200)}`,
        '/a\u0000',
      ].map((path) => [at(one, path)]),
    ]) {
      const { status, body } = await host.deploy(volumes);
      expect([JSON.stringify(volumes), status, body.error?.code]).toEqual([
        JSON.stringify(volumes),
        422,
        'invalid_request',
      ]);
    }
    const { status } = await host.deploy(ids.slice(0, 8).map((id, index) => at(id, `/etc/data-${index}`)));
    expect(status).toBe(201);
  });

  it("can't use another account's volume, a missing one or a host without volumes", async () => {
    const host = await Host.join();
    const stranger = await service.renter('100');
    const foreign = await volume(10, stranger);
    const messages = [];
    for (const id of [foreign, 'v-00000000']) {
      const { status, body } = await host.deploy([at(id)]);
      messages.push(body.error.message.replace(id, 'ID'));
      expect([status, body.error.code]).toEqual([409, 'deploy_failed']);
    }
    expect(messages).toEqual(['no such volume: ID', 'no such volume: ID']);
    const bare = await Host.join({ volumes: false });
    const own = await volume();
    const refused = await bare.deploy([at(own)]);
    expect(refused.body.error).toMatchObject({
      code: 'deploy_failed',
      message: expect.stringContaining(`machine ${bare.id}'s host doesn't support volumes: `),
    });
    expect(await row(own)).toMatchObject({ lease: 0, holder: null });
  });
});

describe('a lease holder', () => {
  it('is exactly one of two concurrent deploys', async () => {
    const hosts = [await Host.join(), await Host.join()];
    const id = await volume();
    const answers = await Promise.all(hosts.map((host) => host.deploy([at(id)])));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    const winner = answers.find(({ status }) => status === 201)!.body.id;
    expect(answers.find(({ status }) => status === 409)!.body.error.message).toBe(
      `volume ${id} is in use by instance ${winner}`,
    );
    expect(await row(id)).toMatchObject({ lease: 1, holder: winner });
  });

  it('keeps the lease until the gateway has the last snapshot, despite forged reports', async () => {
    const [host, other] = [await Host.join(), await Host.join()];
    const id = await volume();
    const before = await snapshot(id, null);
    const instance = await host.run(at(id));
    service.clock.advance(100);
    const during = await snapshot(id, 1);
    service.clock.advance(100);
    // While the instance runs, the lease continues.
    await host.report(seen(instance, 'RUNNING', { volumes: [observed(id, 1, { snapshot: during })] }));
    expect(await row(id)).toMatchObject({ holder: instance });
    expect((await act(instance, 'stop')).status).toBe(200);
    const saving = `volume ${id} is still being saved by instance ${instance} on ${host.id}; try again later, or release it`;
    expect((await other.deploy([at(id)])).body.error).toMatchObject({ code: 'deploy_failed', message: saving });
    expect((await act(instance, 'start')).body.error).toMatchObject({ code: 'action_failed', message: saving });
    const check = `{ instance(id: "${instance}") { canStart { allowed refusal { message } } } }`;
    expect((await renter.graphql(check)).body.data.instance.canStart).toMatchObject({
      allowed: false,
      refusal: { message: saving },
    });
    const ofNoLease = await snapshot(id, null, iso(1));
    const newer = await snapshot(id, 1, iso(2));
    for (const forged of [
      observed(id, 1, { snapshot: ofNoLease }),
      observed(id, 1),
      observed(id, 1, { snapshot: before }),
      observed(id, 1, { snapshot: during }),
      observed(id, 1, { snapshot: 'ab'.repeat(32) }),
      observed(id, 2, { snapshot: newer }),
      observed(id, 1, { snapshot: newer, saved: false }),
    ])
      await host.stopped(instance, [forged]);
    await other.report();
    expect(await row(id)).toMatchObject({ lease: 1, holder: instance });
    await host.stopped(instance, [observed(id, 1, { snapshot: newer, sizeBytes: 1_234 })]);
    expect(await row(id)).toMatchObject({ lease: 1, holder: null, nonce: null, opened: false });
    expect(await service.sql('select size_bytes::int as size from volume_snapshot where id = $1', [newer])).toEqual([
      { size: 1_234 },
    ]);
    expect((await host.access(instance)).status).toBe(404);
    const desired = (await host.agent.desired()).instances.find((each) => each.id === instance)!;
    expect(desired).toMatchObject({ phase: 'stopped', volumes: [{ id, lease: null }] });

    // The lease continues on another host, and late reports from the previous host change nothing.
    const next = await other.run(at(id));
    expect((await other.access(next)).body.volumes[0]).toMatchObject({ lease: 2, restore: { snapshot: newer } });
    await act(next, 'stop');
    const late = await snapshot(id, 2, iso(3));
    for (const lease of [1, 2]) await host.stopped(instance, [observed(id, lease, { snapshot: late })]);
    expect(await row(id)).toMatchObject({ lease: 2, holder: next });
  });

  it('never receives snapshot sizes larger than agents can report', async () => {
    const [host, other] = [await Host.join(), await Host.join()];
    const ids = [await volume(), await volume()];
    const instance = await host.run(...ids.map((id, index) => at(id, `/data-${index}`)));
    const saved = await Promise.all(ids.map((id) => snapshot(id, 1, iso(1))));
    await act(instance, 'stop');
    const size = Number.MAX_SAFE_INTEGER;
    const huge = ids.map((id, index) => observed(id, 1, { snapshot: saved[index]!, sizeBytes: size }));
    await host.stopped(instance, huge);
    const next = await other.run(...ids.map((id, index) => at(id, `/data-${index}`)));
    const { volumes } = (await other.access(next)).body;
    // An agent adds up the sizes, and a report with a larger number is rejected.
    const totalBytes = volumes.reduce((sum: number, { restore }: Any) => sum + restore.sizeBytes, 0);
    await other.report(seen(next, 'RESTORING', { pulledBytes: totalBytes, totalBytes }));
    expect(volumes).toHaveLength(2);
  });

  it('is not credited for the time taken by a restore', async () => {
    const host = await Host.join();
    const [full, empty] = [await volume(), await volume()];
    await snapshot(full, null);
    const creditCounts = [];
    for (const id of [full, empty]) {
      const { body } = await host.deploy([at(id)]);
      await host.agent.desired();
      await host.access(body.id);
      service.clock.advance(300);
      await host.report(seen(body.id, 'RUNNING'));
      service.clock.advance(400);
      await host.report(seen(body.id, 'RUNNING'));
      await settleOpenStarts(service.deps);
      creditCounts.push((await service.sql('select from service_gap where instance_id = $1', [body.id])).length);
      await renter.rest('DELETE', `/instances/${body.id}`);
      await host.report(seen(body.id, 'ERASED'));
    }
    expect(creditCounts).toEqual([0, 1]);
  });

  it('shows why the last snapshot failed', async () => {
    const host = await Host.join();
    const id = await volume();
    const instance = await host.run(at(id));
    await host.report(
      seen(instance, 'RUNNING', { volumes: [observed(id, 1, { saved: false, message: 'store is full' })] }),
    );
    expect(await attachment(id, instance)).toMatchObject({ message: 'store is full', lost_since: null });
    await host.report(seen(instance, 'RUNNING', { volumes: [observed(id, 1, { saved: false })] }));
    expect(await attachment(id, instance)).toMatchObject({ message: null });
  });

  it('releases the lease immediately if nothing was mounted', async () => {
    const host = await Host.join();
    const id = await volume();
    const never = (await host.deploy([at(id)])).body.id;
    await act(never, 'stop');
    const { body } = await act(never, 'start');
    expect(body.status).toBe('running');
    expect(await row(id)).toMatchObject({ lease: 2, holder: never });
    await act(never, 'stop');
    expect((await host.access(never, 2)).status).toBe(404);
    const failed = (await host.deploy([at(id)])).body.id;
    await host.agent.desired();
    expect((await host.access(failed)).status).toBe(200);
    await act(failed, 'stop');
    // With access, the instance may still save something, but the agent reports that there is nothing to save.
    expect((await act(never, 'start')).status).toBe(409);
    await host.stopped(failed, [observed(id, 3)]);
    expect(await row(id)).toMatchObject({ holder: null });
    expect(await attachment(id, failed)).toMatchObject({ lost_since: null });
    expect((await act(never, 'start')).status).toBe(200);
  });

  it('keeps the lease after being destroyed until the volume is saved or erased', async () => {
    const host = await Host.join();
    const [id, lost] = [await volume(), await volume()];
    const instance = await host.run(at(id), at(lost, '/lost'));
    await renter.rest('DELETE', `/instances/${instance}`);
    const desired = (await host.agent.desired()).instances.find((each) => each.id === instance)!;
    expect(desired).toMatchObject({ phase: 'absent', volumes: [{ lease: 1 }, { lease: 1 }] });
    expect((await host.deploy([at(id)])).body.error.message).toContain('is still being saved');
    // A restarted agent must request access again.
    expect((await host.access(instance)).status).toBe(200);
    const last = await snapshot(id, 1, iso(1));
    await host.stopped(instance, [observed(id, 1, { snapshot: last }), observed(lost, 1, { saved: false })]);
    expect(await row(id)).toMatchObject({ holder: null });
    await host.report(seen(instance, 'ERASED'));
    // The other volume was lost with the disk, unsaved.
    expect((await host.deploy([at(lost)])).status).toBe(201);
    expect(await attachment(lost, instance)).toMatchObject({ lost_since: expect.anything() });
    expect(await attachment(id, instance)).toMatchObject({ lost_since: null });
  });

  it('loses access when its volume is deleted or a week after it is destroyed', async () => {
    const host = await Host.join();
    const [deleted, unsaved] = [await volume(), await volume()];
    const instance = await host.run(at(deleted), at(unsaved, '/unsaved'));
    await act(instance, 'stop');
    // The volume is deleted as at the end of the grace period, regardless of the lease.
    await service.sql(`update volume set deleted_at = $2, delete_reason = 'BALANCE_EXHAUSTED' where id = $1`, [
      deleted,
      iso(),
    ]);
    const { body } = await host.access(instance);
    expect(body.volumes.map(({ id }: Any) => id)).toEqual([unsaved]);
    await renter.rest('DELETE', `/instances/${instance}`);
    await silence(7 * 86_400 - 10);
    await host.report(seen(instance, 'SAVING', { volumes: [observed(unsaved, 1, { saved: false })] }));
    expect((await host.access(instance)).status).toBe(200);
    await silence(1_300);
    await host.report(seen(instance, 'SAVING', { volumes: [observed(unsaved, 1, { saved: false })] }));
    expect((await host.access(instance)).status).toBe(404);
    expect((await host.deploy([at(unsaved)])).status).toBe(201);
    expect(await attachment(unsaved, instance)).toMatchObject({ lost_since: expect.anything() });
  });

  it('loses the lease if stopped while its host is revoked or silent for 20 minutes', async () => {
    const [silent, other] = [await Host.join(), await Host.join()];
    const id = await volume();
    const first = await silent.run(at(id));
    service.clock.advance(100);
    const kept = iso();
    await snapshot(id, 1, kept);
    await silence(1_100);
    await other.report();
    // The instance is still considered running.
    expect((await other.deploy([at(id)])).body.error.message).toBe(`volume ${id} is in use by instance ${first}`);
    await act(first, 'stop');
    expect((await other.deploy([at(id)])).body.error.message).toContain('is still being saved');
    await silence(110);
    await other.report();
    const second = await other.run(at(id));
    expect(await row(id)).toMatchObject({ lease: 2, holder: second });
    const [{ since } = {}] = await service.sql(
      'select lost_since = $3::timestamptz as since from volume_attachment where volume_id = $1 and instance_id = $2',
      [id, first, kept.slice(0, 19)],
    );
    expect(since).toBe(true);
    await act(second, 'stop');
    await revokeHost(service.deps, other.id);
    await silent.report();
    const third = await silent.deploy([at(id)]);
    expect(third.status).toBe(201);
    expect(await row(id)).toMatchObject({ lease: 3, holder: third.body.id });
    // A running instance keeps its lease when the operator forgets its containers.
    await silence(31);
    await forgetContainers(service.deps, silent.id);
    expect(await row(id)).toMatchObject({ lease: 3, holder: third.body.id });
  });

  it('loses the lease if it is stopped and the owner releases the volume', async () => {
    const host = await Host.join();
    const id = await volume();
    const release = async (of = renter) => {
      const mutation = `mutation { releaseVolume(id: "${id}") { volumeId instanceId lostSince } }`;
      const { data, errors } = (await of.graphql(mutation)).body;
      return errors === undefined ? data.releaseVolume : errors[0];
    };
    expect(await release()).toMatchObject({
      message: `no instance holds volume ${id}`,
      extensions: { code: 'action_failed' },
    });
    const instance = await host.run(at(id));
    expect(await release()).toMatchObject({ message: `volume ${id} is in use by instance ${instance}; stop it first` });
    await act(instance, 'stop');
    expect(await release(await service.renter('1'))).toMatchObject({ extensions: { code: 'not_found' } });
    expect(await release()).toEqual({ volumeId: id, instanceId: instance, lostSince: expect.stringMatching(/^2026-/) });
    expect(await row(id)).toMatchObject({ lease: 1, holder: null, nonce: null });
    expect(await attachment(id, instance)).toMatchObject({ lost_since: expect.anything() });
    // The report comes too late.
    await host.stopped(instance, [observed(id, 1, { snapshot: await snapshot(id, 1, iso(1)) })]);
    expect(await attachment(id, instance)).toMatchObject({ lost_since: expect.anything() });
    expect((await act(instance, 'start')).status).toBe(200);
    expect(await attachment(id, instance)).toMatchObject({ lost_since: null });
  });

  it('keeps the lease after a preemption until the volume is saved', async () => {
    const host = await Host.join();
    const id = await volume();
    const { body } = await host.deploy([at(id)], renter, { type: 'interruptible' });
    await host.agent.desired();
    await host.access(body.id);
    await host.report(seen(body.id, 'RUNNING'));
    const stranger = await service.renter('100');
    expect((await host.deploy([], stranger)).status).toBe(201);
    const other = await Host.join();
    expect((await other.deploy([at(id)])).body.error.message).toContain('is still being saved');
    await host.stopped(body.id, [observed(id, 1, { snapshot: await snapshot(id, 1, iso(60)) })]);
    expect((await other.deploy([at(id)])).status).toBe(201);
  });

  it('loses the lease as soon as it stops if its machine has no agent', async () => {
    const machine = await service.machine();
    const id = await volume();
    const { body } = await renter.rest('POST', '/instances', { machine_id: machine, volumes: [at(id)] });
    expect(await row(id)).toMatchObject({ lease: 1, holder: body.id, host: null });
    const other = await service.machine();
    const again = () => renter.rest('POST', '/instances', { machine_id: other, volumes: [at(id)] });
    expect((await again()).body.error.message).toBe(`volume ${id} is in use by instance ${body.id}`);
    await act(body.id, 'stop');
    expect((await again()).status).toBe(201);
    expect(await row(id)).toMatchObject({ lease: 2 });
    expect(await attachment(id, body.id)).toMatchObject({ lost_since: null });
    expect((await act(body.id, 'start')).body.error).toMatchObject({ code: 'action_failed' });
  });
});

describe('a move', () => {
  const MOVE = `mutation($id: ID!, $max: Float, $key: String) {
    moveInstance(id: $id, maxPricePerHour: $max, idempotencyKey: $key) { id status gpu numGpus mode diskGb spendLimit machine { id } launch { name env }
      volumes { id path holdsLease saved } } }`;
  const SHOWN = `volumes { id path sizeGb holdsLease saved lastSnapshotAt lostSince message volume { id sizeGb } }`;
  const move = async (id: string, more: Record<string, unknown> = {}, of = renter) => {
    const { data, errors } = (await of.graphql(MOVE, { id, ...more })).body;
    return errors === undefined ? data.moveInstance : { ...errors[0], code: errors[0].extensions.code };
  };
  const shown = async (id: string) =>
    (await renter.graphql(`{ instance(id: "${id}") { ${SHOWN} } }`)).body.data.instance;

  /** Returns an instance that ran on the host and was then stopped. Its volume is saved unless `saves` is false. */
  async function stoppedOn(host: Host, id: string, more: object = {}, saves = true): Promise<string> {
    const { body } = await host.deploy([at(id)], renter, { name: 'work', env: { A: 'b' }, ...more });
    await host.agent.desired();
    await host.access(body.id);
    await host.report(seen(body.id, 'RUNNING'));
    await act(body.id, 'stop');
    if (saves) await host.stopped(body.id, [observed(id, 1, { snapshot: await snapshot(id, 1, iso(60)) })]);
    return body.id;
  }

  it('keeps the launch and volumes, happens once per key and requires saved volumes', async () => {
    const region = 'us-ca';
    const [host, other] = [await Host.join({ region }), await Host.join({ region })];
    const id = await volume();
    const old = await stoppedOn(host, id, { disk_gb: 70, spend_limit: 50, type: 'res' }, false);
    expect(await move(old)).toMatchObject({
      code: 'action_failed',
      message: `volume ${id} is still being saved by instance ${old} on ${host.id}; try again later, or release it`,
    });
    expect(await shown(old)).toEqual({
      volumes: [
        {
          id,
          path: '/data',
          sizeGb: 10,
          holdsLease: true,
          saved: false,
          lastSnapshotAt: null,
          lostSince: null,
          message: null,
          volume: { id, sizeGb: 10 },
        },
      ],
    });
    await host.stopped(old, [observed(id, 1, { snapshot: await snapshot(id, 1, iso(60)) })]);
    expect((await shown(old)).volumes[0]).toMatchObject({ holdsLease: false, saved: true });
    expect(await move(old, { max: 0.01 })).toMatchObject({ code: 'deploy_failed' });
    const key = randomBytes(8).toString('hex');
    const [first, second] = await Promise.all([move(old, { key }), move(old, { key })]);
    expect(first).toMatchObject({
      status: 'RUNNING',
      gpu: 'rtx-4090',
      numGpus: 1,
      mode: 'ON_DEMAND',
      diskGb: 70,
      spendLimit: 50,
      launch: { name: 'work', env: { A: 'b' } },
      volumes: [{ id, path: '/data', holdsLease: true, saved: false }],
    });
    expect(first.machine.id).not.toBe(host.id);
    expect(second.id).toBe(first.id);
    expect((await move(old, { key })).id).toBe(first.id);
    expect(await move(old, { key, max: 100 })).toMatchObject({ code: 'idempotency_mismatch' });
    expect(await move(old)).toMatchObject({ message: `volume ${id} is in use by instance ${first.id}` });
    const { body } = await renter.rest('GET', `/instances/${old}`);
    expect(body.status).toBe('stopped');
    expect(await row(id)).toMatchObject({ lease: 2, holder: first.id });
    expect(other.id).toBeTruthy();
  });

  it('can leave a host that has been silent for 20 minutes, which is no longer paid', async () => {
    const region = 'us-va';
    const [host, other] = [await Host.join({ region }), await Host.join({ region })];
    const id = await volume();
    const old = await host.run(at(id));
    await silence(1_190);
    expect(await move(old)).toMatchObject({
      code: 'action_failed',
      message: `instance ${old} is running; stop it first`,
    });
    await silence(11);
    await other.report();
    const poor = await service.renter('3');
    expect(await move(old, {}, poor)).toMatchObject({ code: 'not_found' });
    // The move is refused because of its price, without any change.
    expect(await move(old, { max: 0.01 })).toMatchObject({ code: 'deploy_failed' });
    expect((await renter.rest('GET', `/instances/${old}`)).body.status).toBe('running');
    expect(await row(id)).toMatchObject({ lease: 1, holder: old });
    const moved = await move(old);
    expect(moved).toMatchObject({ status: 'RUNNING', volumes: [{ holdsLease: true }] });
    expect((await renter.rest('GET', `/instances/${old}`)).body.status).toBe('stopped');
    expect((await shown(old)).volumes[0]).toMatchObject({
      holdsLease: false,
      saved: false,
      lostSince: expect.any(String),
    });
    // When the host returns, it must stop the instance, and its report on the volume is late.
    await host.report();
    const desired = (await host.agent.desired()).instances.find((each) => each.id === old)!;
    expect(desired).toMatchObject({ phase: 'stopped', volumes: [{ lease: null }] });
    await host.stopped(old, [observed(id, 1, { snapshot: await snapshot(id, 1, iso(60)) })]);
    expect(await row(id)).toMatchObject({ lease: 2, holder: moved.id });
  });

  it('is refused for a suspended account or a deleted volume', async () => {
    const [host] = [await Host.join(), await Host.join()];
    const id = await volume();
    const old = await stoppedOn(host, id);
    expect((await renter.graphql(`mutation { deleteVolume(id: "${id}") { id } }`)).body.errors).toBeUndefined();
    expect(await move(old)).toMatchObject({ code: 'action_failed', message: `no such volume: ${id}` });
    expect((await act(old, 'start')).body.error.message).toBe(`no such volume: ${id}`);
    const suspended = await service.renter('100');
    const foreign = await volume(10, suspended);
    await suspendAccount(service.deps, suspended.accountId);
    expect(await move(old, {}, suspended)).toMatchObject({ code: 'unauthorized' });
    expect((await host.deploy([at(foreign)], suspended)).body.error.code).toBe('unauthorized');
    expect(await row(foreign)).toMatchObject({ lease: 0 });
  });

  it('is refused without a volume, after a week or if no other host is available', async () => {
    const region = 'us-il';
    const host = await Host.join({ region });
    const bare = (await host.deploy(undefined)).body.id;
    expect(await move(bare)).toMatchObject({
      message: `instance ${bare} has no volumes, so it has no data to move`,
    });
    await renter.rest('DELETE', `/instances/${bare}`);
    await host.agent.desired();
    await host.report();
    const id = await volume();
    const old = await stoppedOn(host, id);
    await renter.rest('DELETE', `/instances/${old}`);
    expect(await move('i-00000000')).toMatchObject({ code: 'not_found' });
    await service.sql(`update machine set state = 'DRAINED' where id <> $1`, [host.id]);
    expect(await move(old)).toMatchObject({
      code: 'deploy_failed',
      message:
        'no other host that supports volumes has 1 x rtx-4090, 50 GB of disk and 10 GB of volumes free now, on_demand',
    });
    await service.sql(`update machine set state = 'LISTED'`);
    service.clock.advance(7 * 86_400 + 5);
    await Host.join({ region });
    expect(await move(old)).toMatchObject({ message: `instance ${old} was destroyed more than 7 days ago` });
  });
});
