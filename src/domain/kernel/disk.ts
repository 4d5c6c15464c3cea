import { DomainError } from './errors.js';
import type { Instance } from './lifecycle.js';

type Disk = Pick<Instance, 'status' | 'diskGb' | 'volumeGb'>;

/**
 * Returns how much of a host's disk is in use, in GB. An instance keeps its disk, and the space for its volumes, until
 * it is destroyed.
 */
export function usedDiskGb(instances: readonly Disk[]): number {
  return instances.reduce(
    (sum, { status, diskGb, volumeGb }) => (status === 'DESTROYED' ? sum : sum + diskGb + volumeGb),
    0,
  );
}

/** Returns the space left on a host's disk, in GB. This is 0 if the disk is now smaller than the space in use. */
export function diskLeftGb(machineGb: number, usedGb: number): number {
  return Math.max(machineGb - usedGb, 0);
}

/** A machine's disk, which is a share of its host's disk. `liveInstances` are all live instances on the host. */
export interface MachineDisk {
  id: string;
  diskGb: number;
  hostDiskGb: number;
  liveInstances: readonly Disk[];
}

/**
 * Returns the space available for a new disk on a machine, in GB. This is the machine's share of the host's disk, or
 * the space left on the host if that is less.
 */
export function freeDiskGb({ diskGb, hostDiskGb, liveInstances }: Omit<MachineDisk, 'id'>): number {
  return Math.min(diskGb, diskLeftGb(hostDiskGb, usedDiskGb(liveInstances)));
}

/** Throws deploy_failed if a new disk and its instance's volumes together exceed the machine's free disk space. */
export function checkDisk(machine: MachineDisk, diskGb: number, volumeGb = 0) {
  const left = freeDiskGb(machine);
  if (diskGb + volumeGb <= left) return;
  const needed = volumeGb === 0 ? `${diskGb} requested` : `${diskGb + volumeGb} of disk and volumes`;
  throw new DomainError('deploy_failed', `machine ${machine.id} has ${left} GB of free disk, less than the ${needed}`, {
    reason: 'disk',
  });
}

/** Throws action_failed if an instance can't start because its volumes have outgrown the host's free disk space. */
export function checkGrownVolumes(machine: MachineDisk, instance: Pick<Instance, 'volumeGb'>, volumeGb: number) {
  const left = diskLeftGb(machine.hostDiskGb, usedDiskGb(machine.liveInstances)) + instance.volumeGb;
  if (volumeGb <= instance.volumeGb || volumeGb <= left) return;
  throw new DomainError(
    'action_failed',
    `machine ${machine.id} has ${left} GB of free disk for volumes, less than the ${volumeGb} GB they now need`,
    { reason: 'disk' },
  );
}
