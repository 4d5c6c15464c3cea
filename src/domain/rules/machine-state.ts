import { DomainError } from './errors.js';

export type MachineState = 'LISTED' | 'DRAINED' | 'OFFLINE' | 'RETIRED';

/** The state each change of the operator leads to. A retired machine stays retired. */
const STATE_AFTER = {
  drain: 'DRAINED',
  offline: 'OFFLINE',
  online: 'LISTED',
  retire: 'RETIRED',
} as const satisfies Record<string, MachineState>;

export type MachineChange = keyof typeof STATE_AFTER;

/**
 * The machine's state after the change. What runs on it goes on; `isInUse` is whether it holds an undestroyed instance,
 * which only forbids retiring it. Refuses with action_failed.
 */
export function stateAfter(
  change: MachineChange,
  { id, state, isInUse }: { id: string; state: MachineState; isInUse: boolean },
): MachineState {
  if (state === 'RETIRED' && change !== 'retire') throw new DomainError('action_failed', `machine ${id} is retired`);
  if (change === 'retire' && isInUse) {
    throw new DomainError('action_failed', `machine ${id} holds an undestroyed instance`);
  }
  return STATE_AFTER[change];
}
