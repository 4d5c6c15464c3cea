import { DomainError } from './errors.js';

export type MachineState = 'LISTED' | 'DRAINED' | 'OFFLINE' | 'RETIRED';

/** The state after each change made by the operator. A retired machine stays retired. */
const STATE_AFTER = {
  drain: 'DRAINED',
  offline: 'OFFLINE',
  online: 'LISTED',
  retire: 'RETIRED',
} as const satisfies Record<string, MachineState>;

export type MachineChange = keyof typeof STATE_AFTER;

/**
 * Returns the machine's state after the change. Running instances continue. `isInUse` is whether the machine has a live
 * instance. A machine in use can't be retired, but all other changes are allowed. Throws action_failed.
 */
export function stateAfter(
  change: MachineChange,
  { id, state, isInUse }: { id: string; state: MachineState; isInUse: boolean },
): MachineState {
  if (state === 'RETIRED' && change !== 'retire') throw new DomainError('action_failed', `machine ${id} is retired`);
  if (change === 'retire' && isInUse) {
    throw new DomainError('action_failed', `machine ${id} still has an active instance`);
  }
  return STATE_AFTER[change];
}
