import { expect, test } from 'vitest';
import { Limiter } from '../../../src/agent/limiter.js';
import type { DesiredInstance } from '../../../src/agent/protocol.js';
import type { HostVolume, RestoreWatch } from '../../../src/agent/volumes/host-volume.js';
import { InstanceVolumes, VolumesFailed, VolumesWait } from '../../../src/agent/volumes/instance-volumes.js';
import { VolumeFault } from '../../../src/agent/volumes/repository.js';

const DESIRED = {
  start: 1,
  volumes: [{ id: 'v-1', path: '/data', sizeGb: 1, lease: 1 }],
} as unknown as DesiredInstance;
const OPEN = { id: 'v-1', lease: 1, restore: { snapshot: 'a'.repeat(64), sizeBytes: null } };

/** Restores as `bring` does, once a minute, until the start has failed. */
async function failing(bring: (watch: RestoreWatch, signal: AbortSignal) => Promise<void>, isAccessGiven = true) {
  let now = 0;
  const clock = {
    now: () => now,
    sleep: async (ms: number) => {
      await new Promise((resolve) => setImmediate(resolve));
      now += ms;
    },
  };
  const volume = {
    isAtHand: async () => false,
    record: async () => null,
    provide: (_instance: string, _open: object, _sizeGb: number, watch: RestoreWatch, signal: AbortSignal) =>
      bring(watch, signal),
  };
  const volumes = new InstanceVolumes('i-1', {
    clock,
    volume: () => volume as unknown as HostVolume,
    whyNone: null,
    snapshots: new Limiter(1),
    restores: new Limiter(1),
    saves: new Limiter(1),
    access: async () => {
      if (!isAccessGiven) throw new Error('the gateway does not answer');
      return { volumes: [OPEN] } as never;
    },
    heldBy: async () => [],
    isRunning: async () => false,
    changed: () => {},
    trouble: () => {},
  });
  for (let tries = 1; tries < 100; tries += 1) {
    const error = await volumes
      .prepare(DESIRED, () => {}, new AbortController().signal)
      .then(
        () => null,
        (fault: Error) => fault,
      );
    if (error instanceof VolumesFailed)
      return { tries, seconds: now / 1_000, message: error.message, blame: error.blame };
    expect(error).toBeInstanceOf(VolumesWait);
    await clock.sleep(60_000);
  }
  throw new Error('it never fails');
}

test('a store that is away, or a lock that stays, fails the start after ten minutes', async () => {
  const locked = async () => {
    throw new VolumeFault('unreachable', 'the repository is already locked');
  };
  const { seconds, blame } = await failing(locked);
  expect([seconds >= 600 && seconds <= 660, blame]).toEqual([true, 'image']);
});

test('a gateway that gives no access fails the start after ten minutes', async () => {
  expect(await failing(async () => {}, false)).toMatchObject({ seconds: 600 });
});

test('a restic that gets nowhere is ended after ten minutes', async () => {
  const stuck = async (watch: RestoreWatch, signal: AbortSignal) => {
    watch.onProblem('retrying after 4 s');
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    throw new VolumeFault('failed', 'it was cancelled');
  };
  const { tries, seconds, message } = await failing(stuck);
  expect([tries, seconds, message]).toEqual([1, 600, expect.stringContaining('retrying after 4 s')]);
});

test('restores that break off again and again fail the start', async () => {
  const broken = async (watch: RestoreWatch) => {
    watch.onBytes(1_000);
    throw new VolumeFault('unreachable', 'connection reset');
  };
  expect(await failing(broken)).toMatchObject({ tries: 6, blame: 'image' });
});

test.each([
  [new VolumeFault('unreadable', 'wrong password or no key found'), 'image'],
  [new Error('ENOSPC'), 'host'],
] as const)('what no try mends fails the third: %s', async (error, blame) => {
  const never = async () => {
    throw error;
  };
  expect(await failing(never)).toMatchObject({ tries: 3, blame });
});
