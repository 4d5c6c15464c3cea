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
 * The life cycle of a volume, in steps like those in lifecycle.ts. A volume has an interval for each of its sizes.
 * Growing it ends one interval and begins the next at the same instant, so that each second from creation to deletion
 * is charged exactly once.
 */

/** Matches a volume id, which ends in eight hexadecimal digits. */
export const VOLUME_ID = /^v-[0-9a-f]{8}$/;
/** Maximum number of volumes per account. */
export const MAX_VOLUMES = 100;
export const MAX_VOLUME_GB = 10_000;
export const MAX_VOLUME_NAME = 60;

/** Returns a volume's rate at its current size, in micro-USD per hour. */
export function volumeRate({ gbRate, sizeGb }: Pick<Volume, 'gbRate' | 'sizeGb'>): Rate {
  return gbRate * BigInt(sizeGb);
}

/** Throws action_failed if the account already has the maximum number of volumes. */
export function checkVolumeLimit({ liveVolumes }: { liveVolumes: number }): void {
  if (liveVolumes < MAX_VOLUMES) return;
  throw new DomainError('action_failed', `the account has ${MAX_VOLUMES} volumes, the maximum; delete one first`);
}

/** Throws action_failed if the change would shrink the volume or if the volume is deleted. */
export function checkGrowth(
  { id, sizeGb, deletedAt }: Pick<Volume, 'id' | 'sizeGb' | 'deletedAt'>,
  toGb: number,
): void {
  checkNotDeleted({ id, deletedAt });
  if (toGb >= sizeGb) return;
  throw new DomainError('action_failed', `sizeGb must be at least ${sizeGb}: volume ${id} can't shrink`);
}

export function checkNotDeleted({ id, deletedAt }: Pick<Volume, 'id' | 'deletedAt'>): void {
  if (deletedAt !== null) throw new DomainError('action_failed', `volume ${id} has been deleted`);
}

/** Creates a volume whose first interval begins with the step's second. */
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

/** Grows a volume at the end of this second. The new size counts towards the limit on the request's API key. */
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

/** Closes the interval for the current size. Returns the instant at which the interval ends. */
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
