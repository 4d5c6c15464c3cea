import { DomainError } from './errors.js';
import {
  changeBurn,
  endOf,
  type NewVolume,
  type Step,
  type StopReason,
  type Volume,
  type VolumeInterval,
} from './lifecycle.js';
import { type Rate, unitsOfUsage } from './money.js';
import type { Instant } from './time.js';

/**
 * The life of a volume, by steps as those of lifecycle.ts. Each of its sizes is an interval; a growth ends one and begins
 * the next at the same instant, so that each second from creation to deletion is charged once.
 */

/** Eight hexadecimal digits. */
export const VOLUME_ID = /^v-[0-9a-f]{8}$/;
/** Volumes that an account may hold. */
export const MAX_VOLUMES = 100;
export const MAX_VOLUME_GB = 10_000;
export const MAX_VOLUME_NAME = 60;

/** What a volume of the size is charged, in micro-USD per hour. */
export function volumeRate({ gbRate, sizeGb }: Pick<Volume, 'gbRate' | 'sizeGb'>): Rate {
  return gbRate * BigInt(sizeGb);
}

/** Refuses one more with action_failed. */
export function checkVolumeLimit({ liveVolumes }: { liveVolumes: number }): void {
  if (liveVolumes < MAX_VOLUMES) return;
  throw new DomainError('action_failed', `an account holds at most ${MAX_VOLUMES} volumes`);
}

/** Refuses with action_failed to shrink it, and anything of one that is deleted. */
export function checkGrowth(
  { id, sizeGb, deletedAt }: Pick<Volume, 'id' | 'sizeGb' | 'deletedAt'>,
  toGb: number,
): void {
  checkNotDeleted({ id, deletedAt });
  if (toGb >= sizeGb) return;
  throw new DomainError('action_failed', `volume ${id} has ${sizeGb} GB: a volume grows, it never shrinks`);
}

export function checkNotDeleted({ id, deletedAt }: Pick<Volume, 'id' | 'deletedAt'>): void {
  if (deletedAt !== null) throw new DomainError('action_failed', `volume ${id} is deleted`);
}

/** A new volume begins, with the second of the step. */
export function createVolume(
  step: Step,
  terms: Pick<
    NewVolume,
    'id' | 'name' | 'sizeGb' | 'gbRate' | 'keyId' | 'sealedPassword' | 'sealingKeyId' | 'copyOf' | 'headSnapshotId'
  >,
): Volume {
  const { account, at, changes } = step;
  const begun = { sizes: 1, sizedAt: at, sizeKeyId: terms.keyId };
  const volume = { ...terms, ...begun, accountId: account.id, createdAt: at, deletedAt: null, deleteReason: null };
  account.liveVolumes += 1;
  changes.createdVolumes.add(volume);
  openSize(step, volume);
  return volume;
}

/** From the end of this second on it has the size, which counts under the limit of the API key that asks. */
export function growVolume(step: Step, volume: Volume, sizeGb: number, keyId: string | null): void {
  volume.sizedAt = closeSize(step, volume);
  volume.sizes += 1;
  volume.sizeGb = sizeGb;
  volume.sizeKeyId = keyId;
  step.changes.updatedVolumes.add(volume);
  openSize(step, volume);
}

export function deleteVolume(step: Step, volume: Volume, reason: StopReason): void {
  const { account, changes } = step;
  account.liveVolumes -= 1;
  volume.deletedAt = closeSize(step, volume);
  volume.deleteReason = reason;
  changes.updatedVolumes.add(volume);
}

function openSize(step: Step, volume: Volume): void {
  step.changes.openedSizes.push(sizeInterval(volume, null));
  changeBurn(step, volumeRate(volume), volume.sizedAt, volume.sizeKeyId);
}

/** Returns the instant at which the interval ends. */
function closeSize(step: Step, volume: Volume): Instant {
  const { account, changes } = step;
  const end = endOf(step, volume.sizedAt, [volume.sizeKeyId], null);
  const interval = sizeInterval(volume, end);
  changes.closedSizes.push(interval);
  changes.entries.push({
    id: `${volume.id}/volume/${interval.ordinal}`,
    accountId: account.id,
    kind: 'VOLUME_USAGE',
    units: -unitsOfUsage(interval.rate, end - interval.startedAt),
    at: end,
    instanceId: null,
    reference: null,
    note: null,
  });
  changeBurn(step, -interval.rate, end, volume.sizeKeyId);
  return end;
}

function sizeInterval(volume: Volume, endedAt: Instant | null): VolumeInterval {
  const { id: volumeId, sizes: ordinal, sizeGb, sizedAt: startedAt, sizeKeyId: keyId } = volume;
  return { volumeId, ordinal, sizeGb, rate: volumeRate(volume), startedAt, endedAt, keyId };
}
