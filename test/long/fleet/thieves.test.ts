import { existsSync, readdirSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { whileBusy } from '../../support/busy.js';
import { needsEngine } from '../../support/hosts/engines.js';
import { RealFleet, type RealHost, type RealRenter } from '../../support/hosts/real-fleet.js';
import { query } from '../../support/process.js';
import { POLL_EVERY_MS, until } from '../../support/until.js';

const SLOW_BYTES_PER_SECOND = 20_000;
/** A program that opens the GPU, hides from readers of /proc/PID/root and later shows them an empty /dev. */
const HIDES = [
  '/bin/sh',
  '-c',
  'mkdir -p /fake/bin && cp /bin/busybox /fake/bin/ && exec 3</dev/gpu-pretended0 && ' +
    `exec /bin/busybox chroot /fake /bin/busybox sh -c '/bin/busybox sleep 5; /bin/busybox mkdir /dev; exec /bin/busybox sleep 1000'`,
];
const IGNORES_TERM = ['/bin/sh', '-c', 'trap "" TERM; exec sleep 1000000'];

/** Checks, to the unit, what renters pay if they control images and registries. */
describe.each(['podman', 'docker'] as const)('a renter trying to avoid charges on %s', (name) => {
  const wanted = needsEngine(name);
  if (wanted.skip) {
    it('is skipped', wanted, () => {});
    return;
  }
  let fleet: RealFleet;
  let renter: RealRenter;
  let host: RealHost;

  beforeAll(async () => {
    fleet = await RealFleet.open({}, { engineName: name, hasProcess: false });
    renter = await fleet.renter();
    host = await fleet.host({ GPU_AGENT_STOP_SECONDS: '10', GPU_AGENT_PULL_SECONDS: '6' });
  });
  afterAll(() => fleet?.close());
  afterEach(() => renter.destroyAll());

  /** Returns the charged and credited GPU seconds of the instance's last start, once all is booked. */
  async function paid(id: string) {
    const sql = `
      select s.settled, (extract(epoch from s.running_at - used.started_at))::int as lag,
        extract(epoch from used.ended_at - used.started_at)::int as charged,
        extract(epoch from used.ended_at - s.running_at)::int as ran, used.rate::text,
        (select -units from ledger_entry where id = used.instance_id || '/gpu/' || used.ordinal)::text as units,
        (select coalesce(sum(units), 0) from ledger_entry where instance_id = used.instance_id and kind = 'SERVICE_CREDIT')::text as given
      from usage_interval used join container_start s on s.instance_id = used.instance_id and s.ordinal = used.ordinal
      where used.instance_id = $1 and resource = 'GPU' order by used.ordinal desc limit 1`;
    const row = await until(
      'booked',
      async () => (await query(fleet.env.DATABASE_URL!, sql, [id])).find(({ settled }) => settled === true),
      20_000,
      POLL_EVERY_MS,
    );
    return row as { lag: number | null; charged: number; ran: number; rate: string; units: string; given: string };
  }

  const failed = (id: string) =>
    until(
      `${id} failed`,
      async () => {
        const seen = await renter.seen(id);
        return seen.stopReason === 'START_FAILED' ? seen : null;
      },
      60_000,
      POLL_EVERY_MS,
    );

  it('pays for every second of a process that hides from the agent', async () => {
    await fleet.registry.push('hides', { command: HIDES });
    const { id } = await renter.deploy(host.machineId, { template: `${fleet.registry.at}/hides` });
    await renter.phase(id, 'RUNNING');
    // By then, /dev is empty and a count there would find no GPU.
    const pid = (await fleet.engine.docker.getContainer(`gpu-${id}`).inspect()).State.Pid;
    await until('an empty /dev', () => existsSync(`/proc/${pid}/root/dev`), 20_000);
    expect(readdirSync(`/proc/${pid}/root/dev`)).toEqual([]);
    await host.end('SIGKILL');
    host.start({ GPU_AGENT_STOP_SECONDS: '10', GPU_AGENT_PULL_SECONDS: '6' });
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(await renter.seen(id)).toMatchObject({ status: 'RUNNING', runtime: { phase: 'RUNNING' } });
    await renter.act(id, 'stop');
    const { lag, charged, ran, rate, units, given } = await paid(id);
    expect(ran).toBeGreaterThanOrEqual(8);
    expect([BigInt(units), BigInt(given)]).toEqual([
      BigInt(rate) * BigInt(charged),
      BigInt(rate) * BigInt(Math.min(lag!, ran)),
    ]);
    expect(await fleet.audit()).toBe('');
  });

  it.each([
    ['sends slowly', async () => (fleet.registry.bytesPerSecond = SLOW_BYTES_PER_SECOND), {}],
    ['aborts', async () => (fleet.registry.damage = 'reset'), {}],
    ['sends other bytes', async () => (fleet.registry.damage = 'altered'), {}],
    ['has an image with an unknown user', async () => {}, { user: 'nobody-there' }],
    ['has an image without its program', async () => {}, { command: ['/no/such'] }],
  ])('pays while the machine waits for a registry that %s', async (what, hurt, options) => {
    const image = `hostile-${what.replaceAll(' ', '-')}`;
    await fleet.registry.push(image, { extraBytes: 1_000_000, ...options });
    await hurt();
    try {
      const { id } = await renter.deploy(host.machineId, { template: `${fleet.registry.slowAt}/${image}` });
      await failed(id);
      const { charged, rate, units, given } = await paid(id);
      expect(charged).toBeGreaterThan(0);
      expect(charged).toBeLessThan(60);
      expect([BigInt(units), given]).toEqual([BigInt(rate) * BigInt(charged), '0']);
    } finally {
      fleet.registry.bytesPerSecond = 100_000_000;
      fleet.registry.damage = 'none';
    }
  });

  it('pays for the delay caused by a container that ignores SIGTERM until it is killed', async () => {
    await fleet.registry.push('stays', { command: IGNORES_TERM });
    const { id } = await renter.deploy(host.machineId, { template: `${fleet.registry.at}/stays` });
    await renter.phase(id, 'RUNNING');
    const asked = performance.now();
    await renter.act(id, 'stop');
    await renter.phase(id, 'STOPPED', whileBusy(8_000));
    const tookMs = performance.now() - asked;
    console.info(`stop of a container that ignores SIGTERM: ${Math.round(tookMs)} ms`);
    expect(tookMs).toBeLessThan(whileBusy(8_000));
    const { lag, charged, ran, rate, units, given } = await paid(id);
    expect([BigInt(units), BigInt(given)]).toEqual([
      BigInt(rate) * BigInt(charged),
      BigInt(rate) * BigInt(Math.min(lag!, ran)),
    ]);
  });
});
