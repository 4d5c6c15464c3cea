import { describe, expect, it } from 'vitest';
import { isOffered } from '../../src/domain/inventory/rules/offer.js';
import { DomainError } from '../../src/domain/kernel/errors.js';
import { availabilityOf, claim, isFreeFor, runningOn } from '../../src/domain/kernel/free-machine.js';
import type { InstanceStatus } from '../../src/domain/kernel/lifecycle.js';
import type { MachineState } from '../../src/domain/kernel/machine-state.js';
import type { PricingMode } from '../../src/domain/kernel/price-rule.js';

const MODES: PricingMode[] = ['ON_DEMAND', 'RESERVED', 'INTERRUPTIBLE'];
const STATES: MachineState[] = ['LISTED', 'DRAINED', 'OFFLINE', 'RETIRED'];

function on(status: InstanceStatus, mode: PricingMode = 'ON_DEMAND', firstGpu = 0, numGpus = 1) {
  return { status, mode, firstGpu, numGpus };
}

/** The first two GPUs of a host. */
function machine(...liveInstances: ReturnType<typeof on>[]) {
  return { id: 'm-1', state: 'LISTED' as MachineState, firstGpu: 0, numGpus: 2, liveInstances };
}

describe('a listed machine', () => {
  it('is free for every mode if no instance is running', () => {
    expect(availabilityOf('LISTED', null)).toBe('FREE');
    for (const mode of MODES) expect(isFreeFor(mode, 'FREE')).toBe(true);
  });

  it.each([
    ['ON_DEMAND', true],
    ['RESERVED', true],
    ['INTERRUPTIBLE', false],
  ] as const)('with a running interruptible instance is free for %s: %s', (mode, isFree) => {
    expect(availabilityOf('LISTED', 'INTERRUPTIBLE')).toBe('PREEMPTIBLE');
    expect(isFreeFor(mode, 'PREEMPTIBLE')).toBe(isFree);
  });

  it.each(['ON_DEMAND', 'RESERVED'] as const)('with a running %s instance is free for no mode', (running) => {
    expect(availabilityOf('LISTED', running)).toBe('TAKEN');
    for (const mode of MODES) expect(isFreeFor(mode, 'TAKEN')).toBe(false);
  });
});

it('an unlisted machine is free for no mode, with or without instances', () => {
  for (const state of STATES.filter((state) => state !== 'LISTED')) {
    for (const running of [null, ...MODES]) expect(availabilityOf(state, running)).toBe('NOT_LISTED');
  }
  for (const mode of MODES) expect(isFreeFor(mode, 'NOT_LISTED')).toBe(false);
});

describe('claiming a machine', () => {
  it('preempts nothing if all instances are stopped or destroyed', () => {
    for (const mode of MODES) expect(claim(machine(on('STOPPED'), on('DESTROYED')), mode, 'deploy_failed')).toEqual([]);
  });

  it('returns the interruptible instances that must stop first', () => {
    const running = on('RUNNING', 'INTERRUPTIBLE');
    expect(claim(machine(on('STOPPED', 'INTERRUPTIBLE'), running), 'ON_DEMAND', 'deploy_failed')).toEqual([running]);
    expect(claim(machine(running), 'RESERVED', 'deploy_failed')).toEqual([running]);
    const disjoint = on('RUNNING', 'INTERRUPTIBLE', 1, 1);
    expect(claim(machine(running, disjoint), 'RESERVED', 'deploy_failed')).toEqual([running, disjoint]);
  });

  it('considers only instances that share a GPU with it', () => {
    const elsewhere = on('RUNNING', 'ON_DEMAND', 2, 2);
    expect(claim(machine(elsewhere), 'INTERRUPTIBLE', 'deploy_failed')).toEqual([]);
    const around = on('RUNNING', 'INTERRUPTIBLE', 0, 8);
    expect(claim(machine(elsewhere, around), 'ON_DEMAND', 'deploy_failed')).toEqual([around]);
    const [yielding, kept] = [on('RUNNING', 'INTERRUPTIBLE'), on('RUNNING', 'ON_DEMAND', 1, 1)];
    for (const all of [
      [yielding, kept],
      [kept, yielding],
    ])
      expect(() => claim(machine(...all), 'ON_DEMAND', 'deploy_failed')).toThrow('machine m-1 is taken');
  });

  it.each([
    ['INTERRUPTIBLE', 'INTERRUPTIBLE'],
    ['ON_DEMAND', 'INTERRUPTIBLE'],
    ['ON_DEMAND', 'ON_DEMAND'],
    ['RESERVED', 'RESERVED'],
  ] as const)('is refused if a %s instance is running and mode %s is requested', (running, mode) => {
    expect(() => claim(machine(on('RUNNING', running)), mode, 'action_failed')).toThrow(
      new DomainError('action_failed', 'machine m-1 is taken', { reason: 'taken' }),
    );
  });

  it.each([
    ['DRAINED', 'no longer listed'],
    ['OFFLINE', 'offline'],
    ['RETIRED', 'no longer listed'],
    ['UNREACHABLE', 'unreachable'],
  ] as const)("is refused with the caller's error code if the machine is %s", (state, why) => {
    for (const code of ['deploy_failed', 'action_failed'] as const) {
      const refused = () => claim({ ...machine(), state }, 'ON_DEMAND', code);
      expect(refused).toThrow(`machine m-1 is ${why}`);
      expect(refused).toThrow(expect.objectContaining({ code }));
    }
  });

  it('agrees with the offers for every state, mode and running instance', () => {
    for (const state of STATES) {
      for (const running of [null, ...MODES]) {
        const liveInstances = running === null ? [] : [on('RUNNING', running)];
        const isClaimed = (mode: PricingMode) => {
          try {
            claim({ ...machine(...liveInstances), state }, mode, 'deploy_failed');
            return true;
          } catch {
            return false;
          }
        };
        const availability = availabilityOf(state, runningOn(machine(), liveInstances)[0]?.mode ?? null);
        expect(isOffered(availability, 1_000)).toBe(isClaimed('ON_DEMAND'));
        expect(isOffered(availability, 1_000)).toBe(isClaimed('RESERVED'));
        expect(isOffered(availability, 1_000) && availability !== 'PREEMPTIBLE').toBe(isClaimed('INTERRUPTIBLE'));
      }
    }
  });
});

it('a machine is offered only if it has at least 50 GB of free disk', () => {
  expect(isOffered('FREE', 50)).toBe(true);
  expect(isOffered('PREEMPTIBLE', 50)).toBe(true);
  expect(isOffered('FREE', 49)).toBe(false);
  expect(isOffered('PREEMPTIBLE', 49)).toBe(false);
});
