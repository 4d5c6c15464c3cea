import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { LABELS } from '../../../src/agent/engine/engine.js';
import { whileBusy } from '../../support/busy.js';
import { needsEngine } from '../../support/hosts/engines.js';
import { mountsBelow } from '../../support/hosts/leftovers.js';
import { RealFleet, type RealHost, type RealRenter } from '../../support/hosts/real-fleet.js';
import { isLong } from '../../support/long.js';
import { admin, adminJson } from '../../support/operator.js';
import { query } from '../../support/process.js';
import { POLL_EVERY_MS, until } from '../../support/until.js';

const LAYER_BYTES = 12_000_000;
/** Number of GPUs in the host shared by several renters. */
const GPUS = isLong ? 8 : 4;
/** Disk size, small enough for several disks to fit on the test machine. */
const DISK = { disk_gb: 1 };

/** The gateway, agent and Podman run as in production: as separate processes that communicate only over HTTP. */
describe('a gateway with a real host', () => {
  const wanted = needsEngine('podman');
  if (wanted.skip) {
    it('is skipped', wanted, () => {});
    return;
  }
  let fleet: RealFleet;
  let renter: RealRenter;
  let host: RealHost;

  beforeAll(async () => {
    fleet = await RealFleet.open();
    renter = await fleet.renter();
    host = await fleet.host();
  });
  afterAll(() => fleet?.close());
  // A failed test must not leave the machine rented.
  afterEach(() => renter.destroyAll());

  /** Returns everything on the host that remains of instances. */
  const left = async () => [
    ...(await fleet.engine.containers()).keys(),
    ...((await fleet.engine.docker.listVolumes()).Volumes ?? []).map(({ Name }) => Name),
    ...mountsBelow(host.dataDir),
    ...diskFiles(host),
  ];

  it('runs a container within 5 s on a newly listed machine and erases it on destroy', async () => {
    const machine = await fleet.enrolled();
    machine.start();
    const show = () => adminJson(['machine', 'show', machine.machineId], fleet.env);
    await until('it is reachable', async () => (await show())[0].reachable === true, 20_000, POLL_EVERY_MS);
    expect(await fleet.isOffered(machine.machineId)).toBe(false);
    await adminJson(['machine', 'online', machine.machineId], fleet.env);
    await until('offered', () => fleet.isOffered(machine.machineId), 20_000);

    const asked = performance.now();
    const { id } = await renter.deploy(machine.machineId);
    const seen = await renter.phase(id, 'RUNNING');
    const tookMs = Math.round(performance.now() - asked);
    console.info(`deploy to RUNNING: ${tookMs} ms`);
    expect(tookMs).toBeLessThan(whileBusy(5_000));
    expect(seen).toMatchObject({ status: 'RUNNING', runtime: { reachable: true, message: null, restarts: 0 } });
    expect(await fleet.isOffered(machine.machineId)).toBe(false);
    const { Config, HostConfig } = await fleet.engine.docker.getContainer(`gpu-${id}`).inspect();
    expect(Config.Labels).toMatchObject({ [LABELS.machine]: machine.machineId, [LABELS.start]: '1' });
    expect(Config.Env).toEqual(expect.arrayContaining([`GPU_INSTANCE_ID=${id}`, 'GPU_COUNT=1']));
    expect(HostConfig.Privileged).toBe(false);
    const devices = await fleet.engine.exec(id, 'ls', '/dev');
    expect(devices.text.split('\n').filter((name) => name.startsWith('gpu-pretended'))).toHaveLength(1);

    await renter.destroy(id);
    expect((await renter.phase(id, 'ERASED')).status).toBe('DESTROYED');
    expect((await fleet.engine.containers()).size).toBe(0);
    expect((await fleet.engine.docker.listVolumes()).Volumes ?? []).toEqual([]);
    expect([...mountsBelow(machine.dataDir), ...diskFiles(machine)]).toEqual([]);
    await until('offered again', () => fleet.isOffered(machine.machineId), 20_000);
    await machine.end();
  });

  it('rents out each GPU singly, then half of them as one block, then all of them', async () => {
    const big = await fleet.host({}, GPUS);
    const id = big.machineId;
    const half = `.g0-${GPUS / 2 - 1}`;
    const devicesOf = async (instance: string) =>
      (await fleet.engine.exec(instance, 'ls', '/dev')).text
        .split('\n')
        .filter((name) => name.startsWith('gpu-pretended'));
    const renters = await Promise.all(Array.from({ length: GPUS }, () => fleet.renter()));
    const rented = await Promise.all(renters.map((each, place) => each.deploy(`${id}.g${place}`, DISK)));
    for (const [place, instance] of rented.entries()) await renters[place]!.phase(instance.id, 'RUNNING', 60_000);
    const devices = await Promise.all(rented.map((instance) => devicesOf(instance.id)));
    expect(devices.flat()).toHaveLength(GPUS);
    expect(new Set(devices.flat()).size).toBe(GPUS);
    expect(await fleet.isOffered(id)).toBe(false);
    for (const taken of ['', half, '.g0', `.g${GPUS - 1}`])
      await expect(renter.deploy(`${id}${taken}`, DISK)).rejects.toThrow(/is taken/);
    await Promise.all(renters.slice(0, GPUS / 2).map((each) => each.destroyAll()));
    const large = await renter.deploy(id + half, DISK);
    await renter.phase(large.id, 'RUNNING');
    expect(await devicesOf(large.id)).toEqual(
      devices
        .slice(0, GPUS / 2)
        .flat()
        .sort(),
    );
    await expect(renter.deploy(id, DISK)).rejects.toThrow(/is taken/);
    await Promise.all([renter, ...renters.slice(GPUS / 2)].map((each) => each.destroyAll()));
    const whole = await renter.deploy(id, DISK);
    await renter.phase(whole.id, 'RUNNING');
    expect(await devicesOf(whole.id)).toEqual(devices.flat().sort());
    await renter.destroyAll();
    expect(await fleet.audit()).toBe('');
    await big.end();
  });

  it('keeps a file when the instance stops and starts again', async () => {
    const { id } = await renter.deploy(host.machineId);
    await renter.phase(id, 'RUNNING');
    await fleet.engine.exec(id, 'sh', '-c', 'echo kept > /workspace/file; echo also > /etc/file; sync');
    await renter.act(id, 'stop');
    // The container ran too briefly to earn a grace period, so it is killed.
    expect((await renter.phase(id, 'STOPPED')).runtime).toMatchObject({ exitCode: 137, message: null });
    expect((await fleet.engine.containers()).get(id)?.running).toBe(false);
    await renter.act(id, 'start');
    await renter.phase(id, 'RUNNING');
    expect((await fleet.engine.exec(id, 'cat', '/workspace/file', '/etc/file')).text).toBe('kept\nalso\n');
    await renter.destroy(id);
    await renter.phase(id, 'ERASED');
    expect(await left()).toEqual([]);
  });

  it("shows a large layer's progress over a slow connection", async () => {
    fleet.registry.bytesPerSecond = 1_500_000;
    await fleet.registry.push('large', { extraBytes: LAYER_BYTES });
    await fleet.template('large', `${fleet.registry.slowAt}/large`);
    const { id } = await renter.deploy(host.machineId, { template: 'large' });
    const steps = new Set<number>();
    let total = 0;
    await until(
      'running',
      async () => {
        const { runtime } = await renter.seen(id);
        if (runtime.phase === 'PULLING' && runtime.pulledBytes !== null) {
          steps.add(Number(runtime.pulledBytes));
          total = Math.max(total, Number(runtime.totalBytes));
        }
        return runtime.phase === 'RUNNING';
      },
      60_000,
      POLL_EVERY_MS,
    );
    const grown = [...steps].filter((bytes) => bytes > 0);
    expect(grown.length).toBeGreaterThanOrEqual(3);
    expect(grown).toEqual([...grown].sort((a, b) => a - b));
    expect(total).toBeGreaterThanOrEqual(LAYER_BYTES);
    await renter.destroy(id);
    await renter.phase(id, 'ERASED');
  });

  it('leaves no trace of an instance destroyed during the pull', async () => {
    fleet.registry.bytesPerSecond = 500_000;
    await fleet.registry.push('abandoned', { extraBytes: LAYER_BYTES });
    await fleet.template('abandoned', `${fleet.registry.slowAt}/abandoned`);
    const { id } = await renter.deploy(host.machineId, { template: 'abandoned' });
    await until('pulling', async () => Number((await renter.seen(id)).runtime.pulledBytes) > 0, 30_000, POLL_EVERY_MS);
    await renter.destroy(id);
    await renter.phase(id, 'ERASED', whileBusy(5_000));
    // This is longer than the rest of the pull would have taken.
    fleet.registry.bytesPerSecond = 100_000_000;
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(await left()).toEqual([]);
    const images = (await fleet.engine.docker.listImages()).flatMap(({ RepoTags }) => RepoTags ?? []);
    expect(images.filter((name) => name.includes('abandoned'))).toEqual([]);
  });

  it.each([
    ['an image that does not exist', 'nowhere', /^the registry has no such image$/],
    ['an image without a command', 'commandless', /command|entrypoint/i],
  ])('shows why a template’s start failed permanently and credits its seconds: %s', async (_, name, words) => {
    if (name === 'commandless') await fleet.registry.push(name, { command: [] });
    await fleet.template(name, `${fleet.registry.at}/${name}`);
    const { id } = await renter.deploy(host.machineId, { template: name });
    const failed = await until(
      'failed',
      async () => {
        const seen = await renter.seen(id);
        return seen.stopReason === 'START_FAILED' ? seen : null;
      },
      60_000,
      POLL_EVERY_MS,
    );
    expect(failed).toMatchObject({ status: 'STOPPED', runtime: { phase: 'FAILED' } });
    expect(failed.runtime.message).toMatch(words);
    // The agent reports its state after it receives the stop, and so does a restarted agent.
    await until(
      'the document',
      async () => (await heardOf(fleet, host)).includes(`${id} stopped`),
      10_000,
      POLL_EVERY_MS,
    );
    const later = await renter.seen(id);
    expect(later.runtime).toMatchObject({ phase: 'FAILED', message: failed.runtime.message });
    await host.end('SIGKILL');
    const before = await sessionOf(fleet, host);
    host.start();
    await until('a new report', async () => (await sessionOf(fleet, host)) !== before, 15_000, POLL_EVERY_MS);
    expect((await renter.seen(id)).runtime).toMatchObject({ phase: 'FAILED', message: failed.runtime.message });

    const charged = await query(
      fleet.env.DATABASE_URL!,
      `select coalesce(sum(extract(epoch from ended_at - started_at)), -1)::int as seconds from usage_interval where instance_id = $1 and resource = 'GPU'`,
      [id],
    );
    const given = () =>
      query(
        fleet.env.DATABASE_URL!,
        `select coalesce(sum(extract(epoch from ended_at - started_at)), 0)::int as seconds from service_gap where instance_id = $1 and resource = 'GPU'`,
        [id],
      );
    await expect.poll(given, { timeout: 20_000, interval: 200 }).toEqual(charged);
    await renter.destroy(id);
    await renter.phase(id, 'ERASED');
    expect(await left()).toEqual([]);
    expect(await fleet.audit()).toBe('');
  });

  it('stops an interruptible container before its replacement starts', async () => {
    const since = Math.floor(Date.now() / 1_000) - 1;
    const { id: old } = await renter.deploy(host.machineId, { type: 'interruptible' });
    await renter.phase(old, 'RUNNING');
    const other = await fleet.renter();
    const { id: newer } = await other.deploy(host.machineId);
    await other.phase(newer, 'RUNNING');
    expect(await renter.seen(old)).toMatchObject({ status: 'STOPPED', stopReason: 'PREEMPTED' });
    const told = (await fleet.engine.events(since)).filter((event) => /^(start|die) /.test(event));
    expect(told.filter((event) => event.endsWith(old) || event.endsWith(newer))).toEqual([
      `start ${old}`,
      `die ${old}`,
      `start ${newer}`,
    ]);
    await other.destroy(newer);
    await renter.destroy(old);
    await other.phase(newer, 'ERASED');
    await renter.phase(old, 'ERASED');
    expect(await left()).toEqual([]);
  });

  it('gives a preempted container the grace period earned by its paid time', async () => {
    const command = ['/bin/sh', '-c', 'trap "sleep 1; exit 42" TERM; sleep 1000000 & wait'];
    const { id: old } = await renter.deploy(host.machineId, { type: 'interruptible', command });
    await renter.phase(old, 'RUNNING');
    // Five paid minutes earn a grace period of five seconds.
    const earlier = (sign: '-' | '+') =>
      query(
        fleet.env.DATABASE_URL!,
        `with begun as (update container_start set running_at = running_at ${sign} interval '5 minutes' where instance_id = $1)
         update usage_interval set started_at = started_at ${sign} interval '5 minutes' where instance_id = $1 and resource = 'GPU'`,
        [old],
      );
    await earlier('-');
    const other = await fleet.renter();
    const { id: newer } = await other.deploy(host.machineId);
    await other.phase(newer, 'RUNNING');
    await earlier('+');
    expect(await renter.seen(old)).toMatchObject({
      stopReason: 'PREEMPTED',
      runtime: { phase: 'STOPPED', exitCode: 42 },
    });
    await other.destroy(newer);
    await renter.destroy(old);
    await other.phase(newer, 'ERASED');
    await renter.phase(old, 'ERASED');
  });

  it('stops and reports an unknown container, but doesn’t erase it', async () => {
    const id = 'i-0badcafe';
    const foreign = await fleet.engine.docker.createContainer({
      name: `gpu-${id}`,
      Image: `${fleet.registry.at}/busybox:1`,
      Labels: { [LABELS.instance]: id, [LABELS.machine]: host.machineId, [LABELS.start]: '1' },
      HostConfig: {
        Ulimits: [
          { Name: 'nofile', Soft: 1_024, Hard: 1_024 },
          { Name: 'nproc', Soft: 1_024, Hard: 1_024 },
        ],
      },
    });
    await foreign.start();
    await until('stopped', async () => !(await foreign.inspect()).State.Running, 15_000, POLL_EVERY_MS);
    const show = () => adminJson(['machine', 'show', host.machineId], fleet.env);
    await until('reported', async () => (await show())[0].unknown.includes(id), 15_000, POLL_EVERY_MS);
    const [listed] = (await adminJson(['machine', 'list'], fleet.env)).filter(
      (machine: { id: string }) => machine.id === host.machineId,
    );
    expect(listed.unknown).toEqual([id]);
    expect((await foreign.inspect()).Id).toBe(foreign.id);
    await foreign.remove({ force: true });
  });

  it('refuses a revoked token within a second', async () => {
    const machine = await fleet.host();
    const desired = () =>
      fetch(`${fleet.address}/agent/v1/desired?after=99`, { headers: { authorization: `Bearer ${machine.token}` } });
    expect((await desired()).status).toBe(200);
    expect((await admin(['machine', 'revoke', machine.machineId], fleet.env)).code).toBe(0);
    const revoked = performance.now();
    await until('refused', async () => (await desired()).status === 401, 20_000);
    expect(performance.now() - revoked).toBeLessThan(whileBusy(1_000));
    await until('the agent reports it', () => machine.log.includes('join again'), 30_000);
    await machine.end();
  });
});

function diskFiles({ dataDir }: RealHost): string[] {
  const dir = join(dataDir, 'disks');
  return existsSync(dir) ? readdirSync(dir) : [];
}

/** Returns the agent's last acknowledged document as "instance phase". It is empty until the first acknowledgement. */
async function heardOf(fleet: RealFleet, { machineId }: RealHost): Promise<string[]> {
  const rows = await query(fleet.env.DATABASE_URL!, 'select document from machine_host where machine_id = $1', [
    machineId,
  ]);
  const document = rows[0]!.document as { id: string; phase: string }[];
  return document.map(({ id, phase }) => `${id} ${phase}`);
}

async function sessionOf(fleet: RealFleet, { machineId }: RealHost): Promise<unknown> {
  const [row] = await query(fleet.env.DATABASE_URL!, 'select session from machine_host where machine_id = $1', [
    machineId,
  ]);
  return row!.session;
}
