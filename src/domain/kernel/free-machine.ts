import { DomainError, type ErrorCode } from './errors.js';
import type { Instance } from './lifecycle.js';
import type { MachineState } from './machine-state.js';
import { canPreempt, isPreemptible } from './preemption.js';
import type { PricingMode } from './price-rule.js';
import { type Block, overlaps } from './slices.js';

/** The state set by the operator, or UNREACHABLE if the machine's host agent isn't sending heartbeats. */
export type MachineCondition = MachineState | 'UNREACHABLE';

/** Whether a machine can be rented immediately, by preempting an interruptible instance, or not at all. */
export type Availability = 'FREE' | 'PREEMPTIBLE' | 'TAKEN' | 'NOT_LISTED';

/**
 * Returns a machine's availability. `runningMode` is the mode of the instances running on its GPUs, or null if none are
 * running. Stopped instances occupy only disk.
 */
export function availabilityOf(state: MachineCondition, runningMode: PricingMode | null): Availability {
  if (state !== 'LISTED') return 'NOT_LISTED';
  if (runningMode === null) return 'FREE';
  return isPreemptible(runningMode) ? 'PREEMPTIBLE' : 'TAKEN';
}

/** Whether a rental in the given mode may take the machine. */
export function isFreeFor(mode: PricingMode, availability: Availability): boolean {
  return availability === 'FREE' || (availability === 'PREEMPTIBLE' && canPreempt(mode));
}

/** The block of a host's GPUs used by a machine or an instance. */
type OnGpus = Pick<Instance, 'firstGpu' | 'numGpus'>;

/** Returns how many of a whole host's GPUs have no running instance. */
export function freeGpusOf({
  numGpus,
  liveInstances,
}: {
  numGpus: number;
  liveInstances: readonly Pick<Instance, 'status' | 'numGpus'>[];
}): number {
  return liveInstances.reduce((free, each) => (each.status === 'RUNNING' ? free - each.numGpus : free), numGpus);
}

/**
 * Returns the host's instances that are running on the machine's GPUs. There can be several if the machine overlaps
 * smaller machines.
 */
export function runningOn<T extends OnGpus & Pick<Instance, 'status'>>(machine: OnGpus, instances: readonly T[]): T[] {
  return instances.filter((instance) => instance.status === 'RUNNING' && overlaps(blockOf(machine), blockOf(instance)));
}

function blockOf({ firstGpu, numGpus }: OnGpus): Block {
  return { first: firstGpu, count: numGpus };
}

/**
 * Decides whether a rental in the given mode may take the machine, and returns the instances that must stop first.
 * Throws an error with `code` if the machine is taken or not listed.
 */
export function claim<T extends OnGpus & Pick<Instance, 'status' | 'mode'>>(
  machine: OnGpus & { id: string; state: MachineCondition; liveInstances: readonly T[] },
  mode: PricingMode,
  code: ErrorCode,
): T[] {
  const running = runningOn(machine, machine.liveInstances);
  const availability = availabilityOf(machine.state, modeInTheWay(running));
  if (isFreeFor(mode, availability)) return running;
  throw new DomainError(code, `machine ${machine.id} is ${unavailableBecause(machine.state, availability)}`, {
    reason: availability === 'NOT_LISTED' ? 'not_listed' : 'taken',
  });
}

/**
 * Returns the mode that determines whether the machine is free, or null if no instance is running. A single instance
 * that doesn't yield is enough to decide this.
 */
function modeInTheWay(running: readonly Pick<Instance, 'mode'>[]): PricingMode | null {
  return (running.find(({ mode }) => !isPreemptible(mode)) ?? running[0])?.mode ?? null;
}

function unavailableBecause(state: MachineCondition, availability: Availability): string {
  if (availability !== 'NOT_LISTED') return 'taken';
  if (state === 'UNREACHABLE') return 'unreachable';
  return state === 'OFFLINE' ? 'offline' : 'no longer listed';
}
