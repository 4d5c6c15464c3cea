import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { VolumeAccess } from '../../../src/agent-protocol/protocol.js';
import { describeTree, makeTree } from '../../support/file-tree.js';
import { needsEngine } from '../../support/hosts/engines.js';
import { mountsBelow } from '../../support/hosts/leftovers.js';
import { RealFleet, type RealHost, type RealRenter } from '../../support/hosts/real-fleet.js';
import { isLong, randomFrom, seedOf } from '../../support/long.js';
import { folder, query } from '../../support/process.js';
import { find } from '../../support/tools.js';
import { POLL_EVERY_MS, until } from '../../support/until.js';

const SNAPSHOT_SECONDS = 10;
const WITHIN_MS = isLong ? 600_000 : 120_000;
/** Larger than one of restic's packs of 16 MB. */
const TREE = isLong ? { largeBytes: 2_000_000_000, small: 50_000 } : { largeBytes: 20_000_000, small: 1_000 };
const GB = isLong ? 5 : 1;
/** Number of rounds. Each one kills twice, in the middle of a snapshot and in the middle of a restore. */
const KILLS = isLong ? 15 : 2;
const run = promisify(execFile);

/** The gateway, two agents, Podman and restic run as operators and renters run them, as separate processes. */
describe('a volume on two real hosts', () => {
  const wanted = needsEngine('podman', 'restic', 'setpriv', 'python3');
  if (wanted.skip) {
    it('is skipped', wanted, () => {});
    return;
  }
  let fleet: RealFleet;
  let renter: RealRenter;
  let [one, other] = [] as unknown as [RealHost, RealHost];

  beforeAll(async () => {
    fleet = await RealFleet.open({
      VOLUME_SNAPSHOT_SECONDS: String(SNAPSHOT_SECONDS),
      DATA_DIR: folder(),
      SECRETS_KEY: 'ab'.repeat(32),
    });
    renter = await fleet.renter();
    [one, other] = [await fleet.host(), await fleet.host()];
  });
  afterAll(() => fleet?.close());
  afterEach(async () => {
    await renter.destroyAll(WITHIN_MS);
    for (const host of [one, other]) expect(mountsBelow(host.dataDir)).toEqual([]);
  });

  const graphql = async (query: string) => {
    const { body } = await renter.api.graphql(query);
    if (body.errors) throw new Error(JSON.stringify(body.errors));
    return body.data;
  };
  const create = async (): Promise<string> =>
    (await graphql(`mutation { createVolume(input: { name: "work", sizeGb: ${GB} }) { id } }`)).createVolume.id;
  const on = (volume: string, path = '/data') => ({ disk_gb: 1, volumes: [{ id: volume, path }] });
  const folderOf = (host: RealHost, volume: string) => join(host.dataDir, 'volumes', volume);
  const snapshotsOf = async (volume: string): Promise<string[]> => {
    const { volume: found } = await graphql(`{ volume(id: "${volume}") { snapshots { id } } }`);
    return found.snapshots.map(({ id }: { id: string }) => id);
  };
  const started = async (host: RealHost, volume: string, rest: object = {}) => {
    const { id } = await renter.deploy(host.machineId, { ...on(volume), ...rest });
    await renter.phase(id, 'RUNNING', WITHIN_MS);
    return id;
  };
  const stopped = async (id: string) => {
    await renter.act(id, 'stop');
    await renter.phase(id, 'STOPPED', WITHIN_MS);
  };
  const free = (volume: string) =>
    until(
      `${volume} is free`,
      async () =>
        (
          await query(fleet.env.DATABASE_URL!, 'select lease_instance_id as holder from volume where id = $1', [volume])
        )[0]!.holder === null,
      WITHIN_MS,
      POLL_EVERY_MS,
    );

  it(
    'has the same bytes, owners, modes, links, attributes and times after a move',
    async () => {
      const volume = await create();
      const id = await started(one, volume);
      makeTree(folderOf(one, volume), TREE);
      const before = await describeTree(folderOf(one, volume));
      expect((await fleet.engine.exec(id, 'sh', '-c', 'ls /data/many | wc -l')).text.trim()).toBe(
        String(TREE.small / 500 + 2),
      );
      let began = performance.now();
      await stopped(id);
      await free(volume);
      const savedMs = performance.now() - began;
      began = performance.now();
      await started(other, volume);
      console.info(
        `${TREE.largeBytes} bytes and ${TREE.small} files: saved ${savedMs | 0} ms, restored ${(performance.now() - began) | 0} ms`,
      );
      expect(await describeTree(folderOf(other, volume))).toEqual(before);
    },
    WITHIN_MS * 3,
  );

  it.runIf(isLong)(
    'is unchanged on another host after a preemption',
    async () => {
      const volume = await create();
      const id = await started(one, volume, { type: 'interruptible' });
      await fleet.engine.exec(id, 'sh', '-c', 'echo last words > /data/file; sync');
      const rival = await fleet.renter();
      const { id: taking } = await rival.deploy(one.machineId, { disk_gb: 1 });
      await rival.phase(taking, 'RUNNING', WITHIN_MS);
      await renter.phase(id, 'STOPPED', WITHIN_MS);
      await free(volume);
      const next = await started(other, volume);
      expect((await fleet.engine.exec(next, 'cat', '/data/file')).text).toBe('last words\n');
      await rival.destroyAll();
    },
    WITHIN_MS * 3,
  );

  it.runIf(isLong)(
    'loses only changes after the last snapshot if a host and its containers crash',
    async () => {
      const volume = await create();
      const writing = 'while :; do date +%s > /data/now.new; mv /data/now.new /data/now; sleep 1; done';
      const id = await started(one, volume, { entrypoint: ['/bin/sh', '-c', writing] });
      await until('a second snapshot', async () => (await snapshotsOf(volume)).length >= 2, WITHIN_MS, POLL_EVERY_MS);
      // The crash happens midway between two snapshots.
      await pause((SNAPSHOT_SECONDS * 1_000) / 2);
      await one.end('SIGKILL');
      await fleet.engine.docker.getContainer(`gpu-${id}`).kill();
      const diedAt = Math.floor(Date.now() / 1_000);
      await renter.act(id, 'stop');
      await expect(renter.deploy(other.machineId, on(volume))).rejects.toThrow(/still being saved/);
      // The host is silent for longer than it may hold a lease. A gateway trusts that after listening for a minute.
      const silence = "update machine_heartbeat set seen_at = now() - interval '1 hour' where machine_id = $1";
      await query(fleet.env.DATABASE_URL!, silence, [one.machineId]);
      const next = await until('its lease is over', () => started(other, volume).catch(() => null), WITHIN_MS, 1_000);
      const lost = diedAt - Number((await fleet.engine.exec(next, 'cat', '/data/now')).text);
      console.info(`lost with the host: ${lost} s, at ${SNAPSHOT_SECONDS} s between snapshots`);
      // The interval runs from the end of one snapshot to the end of the next.
      expect(lost).toBeLessThan(SNAPSHOT_SECONDS * 3);
      one.start();
      await renter.destroy(id);
      await renter.phase(id, 'ERASED', WITHIN_MS);
    },
    WITHIN_MS * 3,
  );

  it(
    'is neither fetched again by the same host nor writable with an older lease',
    async () => {
      const volume = await create();
      const id = await started(one, volume);
      await fleet.engine.exec(id, 'sh', '-c', 'head -c 3000000 /dev/urandom > /data/file; sync');
      const late = await accessOf(one, id, 1);
      await stopped(id);
      await free(volume);
      const file = () => statSync(`${folderOf(one, volume)}.ext4`).ino;
      const before = file();
      const count = (await snapshotsOf(volume)).length;
      await renter.act(id, 'start');
      await renter.phase(id, 'RUNNING', WITHIN_MS);
      expect(file()).toBe(before);
      expect((await fleet.engine.exec(id, 'sh', '-c', 'wc -c < /data/file')).text).toBe('3000000\n');
      const { token, password, path } = late.volumes[0]!;
      const env = {
        ...process.env,
        RESTIC_REPOSITORY: `rest:${fleet.address.replace('://', `://1:${token}@`)}${path}`,
        RESTIC_PASSWORD: password,
      };
      const writer = run(find('restic')!, ['--no-cache', 'backup', '/etc/hostname'], { env, timeout: 20_000 });
      await expect(writer).rejects.toThrow(/403|Command failed/);
      expect((await snapshotsOf(volume)).length).toBe(count);
    },
    WITHIN_MS * 3,
  );

  it.runIf(isLong)(
    'keeps every acknowledged snapshot if the agent, gateway or store is killed',
    async () => {
      const volume = await create();
      const random = randomFrom(seedOf(27));
      let id = await started(one, volume);
      let host = one;
      let acknowledged = 0;
      for (let kill = 0; kill < KILLS; kill += 1) {
        const number = kill + 1;
        const script = `head -c 8000000 /dev/urandom > /data/file-${number}; echo ${number} > /data/number; sync`;
        await fleet.engine.exec(id, 'sh', '-c', script);
        const isStop = kill % 2 === 0;
        if (isStop) await renter.act(id, 'stop');
        // Kills during a stop or a snapshot. The store is a folder, so the gateway is its only process.
        await pause(isStop ? random(3_000) : random(SNAPSHOT_SECONDS * 1_000));
        if (kill % 3 === 0) {
          await fleet.killGateway();
          await fleet.startGateway();
        } else {
          await host.end('SIGKILL');
          host.start();
        }
        if (!isStop) {
          await renter.phase(id, 'RUNNING', WITHIN_MS);
          await stopped(id);
        }
        await renter.phase(id, 'STOPPED', WITHIN_MS);
        await free(volume);
        acknowledged = number;
        await renter.destroy(id);
        host = host === one ? other : one;
        const next = await renter.deploy(host.machineId, on(volume));
        id = next.id;
        // Kills the agent during the restore as well.
        await pause(random(2_000));
        await host.end('SIGKILL');
        host.start();
        await renter.phase(id, 'RUNNING', WITHIN_MS);
        expect((await fleet.engine.exec(id, 'cat', '/data/number')).text).toBe(`${acknowledged}\n`);
        await check(host, id, volume);
      }
      expect(await fleet.audit()).toBe('');
    },
    WITHIN_MS * KILLS * 2,
  );
});

async function accessOf(host: RealHost, id: string, start: number): Promise<VolumeAccess> {
  const answer = await fetch(`${host.gateway}/agent/v1/volumes?instance=${id}&start=${start}`, {
    headers: { authorization: `Bearer ${host.token}` },
  });
  expect(answer.status).toBe(200);
  return (await answer.json()) as VolumeAccess;
}

/** Checks, as its owner could, that nothing in the repository is damaged or missing. */
async function check(host: RealHost, id: string, volume: string): Promise<void> {
  const found = (await accessOf(host, id, 1)).volumes.find((each) => each.id === volume)!;
  const env = {
    ...process.env,
    RESTIC_REPOSITORY: `rest:${host.gateway.replace('://', `://1:${found.token}@`)}${found.path}`,
    RESTIC_PASSWORD: found.password,
  };
  const { stdout } = await run(find('restic')!, ['--no-cache', '--no-lock', 'check', '--read-data'], { env });
  expect(stdout).toContain('no errors were found');
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
