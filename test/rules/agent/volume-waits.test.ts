import { expect, test } from 'vitest';
import { Limiter } from '../../../src/agent/limiter.js';
import type { HostVolume, RestoreWatch } from '../../../src/agent/volumes/host-volume.js';
import { InstanceVolumes, VolumesFailed, VolumesWait } from '../../../src/agent/volumes/instance-volumes.js';
import { VolumeFault } from '../../../src/agent/volumes/repository.js';
import type { DesiredInstance } from '../../../src/agent-protocol/protocol.js';

const DESIRED = {
  start: 1,
  volumes: [{ id: 'v-1', path: '/data', sizeGb: 1, lease: 1 }],
} as unknown as DesiredInstance;
const OPEN = { id: 'v-1', lease: 1, restore: { snapshot: 'a'.repeat(64), sizeBytes: null } };

/** Attempts to restore with `bring` once per minute until the start has failed. */
async function failureOf(bring: (watch: RestoreWatch, signal: AbortSignal) => Promise<void>, isAccessGiven = true) {
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
      if (!isAccessGiven) throw new Error('the gateway is not responding');
      return { volumes: [OPEN] } as never;
    },
    heldBy: async () => [],
    isRunning: async () => false,
    changed: () => {},
    trouble: () => {},
  });
  for (let attempts = 1; attempts < 100; attempts += 1) {
    const error = await volumes
      .prepare(DESIRED, () => {}, new AbortController().signal)
      .then(
        () => null,
        (fault: Error) => fault,
      );
    if (error instanceof VolumesFailed)
      return { attempts, seconds: now / 1_000, message: error.message, blame: error.blame };
    expect(error).toBeInstanceOf(VolumesWait);
    await clock.sleep(60_000);
  }
  throw new Error('it never fails');
}

test('a start fails after ten minutes if the store is unreachable or stays locked', async () => {
  const locked = async () => {
    throw new VolumeFault('unreachable', 'the repository is already locked');
  };
  const { seconds, blame } = await failureOf(locked);
  expect([seconds >= 600 && seconds <= 660, blame]).toEqual([true, 'image']);
});

test('a start fails after ten minutes if the gateway grants no access', async () => {
  expect(await failureOf(async () => {}, false)).toMatchObject({ seconds: 600 });
});

test('restic is terminated after ten minutes without progress', async () => {
  const stalled = async (watch: RestoreWatch, signal: AbortSignal) => {
    watch.onProblem('retrying after 4 s');
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    throw new VolumeFault('failed', 'it was cancelled');
  };
  const { attempts, seconds, message } = await failureOf(stalled);
  expect([attempts, seconds, message]).toEqual([1, 600, expect.stringContaining('retrying after 4 s')]);
});

test('a start fails if restores are aborted repeatedly', async () => {
  const broken = async (watch: RestoreWatch) => {
    watch.onBytes(1_000);
    throw new VolumeFault('unreachable', 'connection reset');
  };
  expect(await failureOf(broken)).toMatchObject({ attempts: 6, blame: 'image' });
});

test.each([
  [new VolumeFault('unreadable', 'wrong password or no key found'), 'image'],
  [new Error('ENOSPC'), 'host'],
] as const)('a permanent fault makes the start fail on the third attempt: %s', async (error, blame) => {
  const never = async () => {
    throw error;
  };
  expect(await failureOf(never)).toMatchObject({ attempts: 3, blame });
});
