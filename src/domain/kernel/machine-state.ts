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
 * Returns the machine's state after the change. Running instances keep running. Throws action_failed if a retired
 * machine is changed in any other way, or if a machine with a live instance (`isInUse`) is to be retired.
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
