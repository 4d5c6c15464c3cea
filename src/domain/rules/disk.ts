import { DomainError } from './errors.js';
import type { Instance } from './lifecycle.js';

type Disk = Pick<Instance, 'status' | 'diskGb' | 'volumeGb'>;

/** GB of a host's disk that its instances use: each keeps its disk, and what its volumes take there, until it is destroyed. */
export function usedDiskGb(instances: readonly Disk[]): number {
  return instances.reduce(
    (sum, { status, diskGb, volumeGb }) => (status === 'DESTROYED' ? sum : sum + diskGb + volumeGb),
    0,
  );
}

/** GB left of a host's disk; 0 when that became smaller than what is used of it. */
export function diskLeftGb(machineGb: number, usedGb: number): number {
  return Math.max(machineGb - usedGb, 0);
}

/** A machine's disk: its share of the host's. `liveInstances` are those on the host. */
export interface MachineDisk {
  id: string;
  diskGb: number;
  hostDiskGb: number;
  liveInstances: readonly Disk[];
}

/** GB for a new disk on a machine: its share of its host's disk, or what the host has left where that is less. */
export function freeDiskGb({ diskGb, hostDiskGb, liveInstances }: Omit<MachineDisk, 'id'>): number {
  return Math.min(diskGb, diskLeftGb(hostDiskGb, usedDiskGb(liveInstances)));
}

/** Refuses, with deploy_failed, a new disk that is, with the volumes, larger than what the machine has left. */
export function checkDisk(machine: MachineDisk, diskGb: number, volumeGb = 0) {
  const left = freeDiskGb(machine);
  if (diskGb + volumeGb <= left) return;
  const asked = volumeGb === 0 ? `${diskGb} asked for` : `${diskGb + volumeGb} of disk and volumes`;
  throw new DomainError('deploy_failed', `machine ${machine.id} has ${left} GB of disk left, less than the ${asked}`, {
    reason: 'disk',
  });
}

/** Refuses, with action_failed, a start whose volumes have grown beyond what the host has left. */
export function checkGrownVolumes(machine: MachineDisk, instance: Pick<Instance, 'volumeGb'>, volumeGb: number) {
  const left = diskLeftGb(machine.hostDiskGb, usedDiskGb(machine.liveInstances)) + instance.volumeGb;
  if (volumeGb <= instance.volumeGb || volumeGb <= left) return;
  throw new DomainError(
    'action_failed',
    `machine ${machine.id} has ${left} GB of disk left for volumes, less than the ${volumeGb} that they have now`,
    { reason: 'disk' },
  );
}
