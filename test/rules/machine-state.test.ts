import { describe, expect, it } from 'vitest';
import { DomainError } from '../../src/domain/kernel/errors.js';
import { type MachineChange, type MachineState, stateAfter } from '../../src/domain/kernel/machine-state.js';

const LEADS_TO: Record<MachineChange, MachineState> = {
  drain: 'DRAINED',
  offline: 'OFFLINE',
  online: 'LISTED',
  retire: 'RETIRED',
};
const CHANGES = Object.keys(LEADS_TO) as MachineChange[];
const ACTIVE: MachineState[] = ['LISTED', 'DRAINED', 'OFFLINE'];

describe('a machine', () => {
  it.each(CHANGES)('can be changed by %s from every state except retired', (change) => {
    for (const state of ACTIVE) {
      expect(stateAfter(change, { id: 'm-1', state, isInUse: false })).toBe(LEADS_TO[change]);
    }
  });

  it('in use can undergo any change except being retired', () => {
    for (const state of ACTIVE) {
      for (const change of CHANGES.filter((change) => change !== 'retire')) {
        expect(stateAfter(change, { id: 'm-1', state, isInUse: true })).toBe(LEADS_TO[change]);
      }
      expect(() => stateAfter('retire', { id: 'm-1', state, isInUse: true })).toThrow(
        new DomainError('action_failed', 'machine m-1 still has an active instance'),
      );
    }
  });

  it('that is retired stays retired', () => {
    expect(stateAfter('retire', { id: 'm-1', state: 'RETIRED', isInUse: false })).toBe('RETIRED');
    for (const change of CHANGES.filter((change) => change !== 'retire')) {
      const refused = () => stateAfter(change, { id: 'm-1', state: 'RETIRED', isInUse: false });
      expect(refused).toThrow('machine m-1 is retired');
      expect(refused).toThrow(expect.objectContaining({ code: 'action_failed' }));
    }
  });
});
