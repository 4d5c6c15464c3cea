import { DomainError } from './errors.js';
import type { Instance } from './lifecycle.js';

type Disk = Pick<Instance, 'status' | 'diskGb'>;

/** GB of a machine's disk that its instances use: each keeps its disk until it is destroyed. */
export function usedDiskGb(instances: readonly Disk[]): number {
  return instances.reduce((sum, { status, diskGb }) => (status === 'DESTROYED' ? sum : sum + diskGb), 0);
}

/** GB left for a new disk; 0 when a machine's disk became smaller than what is used of it. */
export function diskLeftGb(machineGb: number, usedGb: number): number {
  return Math.max(machineGb - usedGb, 0);
}

/** Refuses, with deploy_failed, a new disk that is larger than what the machine has left. */
export function checkDisk(machine: { id: string; diskGb: number; liveInstances: readonly Disk[] }, diskGb: number) {
  const left = diskLeftGb(machine.diskGb, usedDiskGb(machine.liveInstances));
  if (diskGb <= left) return;
  throw new DomainError(
    'deploy_failed',
    `machine ${machine.id} has ${left} GB of disk left, less than the ${diskGb} asked for`,
    { reason: 'disk' },
  );
}
