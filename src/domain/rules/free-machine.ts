import { DomainError, type ErrorCode } from './errors.js';
import type { Instance } from './lifecycle.js';
import type { MachineState } from './machine-state.js';
import type { PricingMode } from './price-rule.js';

/** The operator's state of a machine, or UNREACHABLE when its host agent sends no heartbeats. */
export type MachineCondition = MachineState | 'UNREACHABLE';

/** Whether a machine can be rented: at once, after an interruptible instance has yielded, or not at all. */
export type Availability = 'FREE' | 'PREEMPTIBLE' | 'TAKEN' | 'NOT_LISTED';

/** `runningMode` is the mode of the instance that runs on the machine; null: none runs. Stopped ones hold only disk. */
export function availabilityOf(state: MachineCondition, runningMode: PricingMode | null): Availability {
  if (state !== 'LISTED') return 'NOT_LISTED';
  if (runningMode === null) return 'FREE';
  return runningMode === 'INTERRUPTIBLE' ? 'PREEMPTIBLE' : 'TAKEN';
}

/** Interruptible instances yield to the other modes, not to each other. */
export function isFreeFor(mode: PricingMode, availability: Availability): boolean {
  return availability === 'FREE' || (availability === 'PREEMPTIBLE' && mode !== 'INTERRUPTIBLE');
}

/** Of a machine's instances the one that runs: at most one does. */
export function runningOf<T extends Pick<Instance, 'status'>>(instances: readonly T[]): T | null {
  return instances.find(({ status }) => status === 'RUNNING') ?? null;
}

/**
 * Decides whether a rental in the mode may take the machine. Returns the instance that must stop first, or null.
 * Refuses with `code` when the machine is not listed or taken.
 */
export function claim<T extends Pick<Instance, 'status' | 'mode'>>(
  machine: { id: string; state: MachineCondition; liveInstances: readonly T[] },
  mode: PricingMode,
  code: ErrorCode,
): T | null {
  const running = runningOf(machine.liveInstances);
  const availability = availabilityOf(machine.state, running?.mode ?? null);
  if (isFreeFor(mode, availability)) return running;
  throw new DomainError(code, `machine ${machine.id} is ${unavailableBecause(machine.state, availability)}`, {
    reason: availability === 'NOT_LISTED' ? 'not_listed' : 'taken',
  });
}

function unavailableBecause(state: MachineCondition, availability: Availability): string {
  if (availability !== 'NOT_LISTED') return 'taken';
  if (state === 'UNREACHABLE') return 'not heard from';
  return state === 'OFFLINE' ? 'offline' : 'no longer listed';
}
