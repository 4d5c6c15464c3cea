import { describe, expect, it } from 'vitest';
import { usageAt } from '../../src/domain/instances/rules/usage.js';
import {
  type Account,
  checkAllowed,
  deploy,
  type InstanceActionKind,
  type InstanceStatus,
  noChanges,
  resume,
  stop,
  suspend,
} from '../../src/domain/kernel/lifecycle.js';

const NO_LIMIT = { monthlyLimit: null, limitReachedAt: null, limitAt: null };

function account(): Account {
  return {
    id: 'acc-1',
    creditUnits: 3_600n * 1_000_000n,
    spendUnits: 0n,
    monthStartSpendUnits: 0n,
    burnRate: 0n,
    settledAt: 0n,
    suspendedAt: null,
    liveInstances: 0,
    liveVolumes: 0,
    deployedInstances: 4,
    exhaustedAt: null,
    diskDeleteAt: null,
    dueAt: null,
    deadlineAt: null,
    ...NO_LIMIT,
    limitedKeys: 0,
  };
}

function rented(mode: 'ON_DEMAND' | 'RESERVED' = 'ON_DEMAND') {
  const step = { account: account(), at: 10n, end: 10n, changes: noChanges() };
  const machine = {
    id: 'm-1',
    hostId: 'm-1',
    firstGpu: 0,
    gpu: 'a',
    numGpus: 2,
    region: 'x',
    state: 'LISTED',
    diskGb: 1_000,
  };
  const rates = { gpuRate: 100n, diskRate: 7n, onDemandRate: 150n };
  const takeover = { soldUntil: null, preempts: false };
  const terms = {
    template: 'pytorch',
    diskGb: 50,
    mode,
    stopAt: null,
    destroyAt: null,
    spendLimit: null,
    stopWhenIdle: null,
    keyId: 'k-1',
    ...rates,
  };
  const instance = deploy(step, { id: 'i-00000001', machine, takeover, ...terms });
  return { step, instance };
}

describe('actions', () => {
  const allowed: Record<InstanceActionKind, InstanceStatus[]> = {
    START: ['STOPPED'],
    STOP: ['RUNNING'],
    DESTROY: ['RUNNING', 'STOPPED'],
  };

  it.each(['START', 'STOP', 'DESTROY'] as const)('include %s only in the states that allow it', (action) => {
    for (const status of ['RUNNING', 'STOPPED', 'DESTROYED'] as const) {
      const check = () => checkAllowed(action, status);
      if (allowed[action].includes(status)) expect(check).not.toThrow();
      else {
        expect(check).toThrow(`${action.toLowerCase()} is not allowed while the instance is ${status.toLowerCase()}`);
        expect(check).toThrow(expect.objectContaining({ code: 'action_failed' }));
      }
    }
  });
});

describe('a deploy', () => {
  it("creates a running instance with the account's next number and locked-in rates", () => {
    const { step, instance } = rented();
    expect(instance).toEqual({
      id: 'i-00000001',
      accountId: 'acc-1',
      sequence: 5,
      machineId: 'm-1',
      hostId: 'm-1',
      firstGpu: 0,
      status: 'RUNNING',
      gpu: 'a',
      numGpus: 2,
      region: 'x',
      template: 'pytorch',
      diskGb: 50,
      volumeGb: 0,
      mode: 'ON_DEMAND',
      gpuRate: 100n,
      diskRate: 7n,
      onDemandRate: 150n,
      createdAt: 10n,
      runningSince: 10n,
      stoppedAt: null,
      destroyedAt: null,
      stopAt: null,
      destroyAt: null,
      spendLimit: null,
      stopWhenIdle: null,
      labels: null,
      limitReachedAt: null,
      keyId: 'k-1',
      runKeyId: 'k-1',
      stopReason: null,
      gpuSeconds: 0n,
      gpuIntervals: 1,
      reservedUntil: null,
      earlyExitUnits: 0n,
      minimumUntil: null,
      minimumUnits: 0n,
    });
    expect(step.account).toMatchObject({ liveInstances: 1, deployedInstances: 5, burnRate: 107n });
    expect([...step.changes.created]).toEqual([instance]);
    expect([...step.changes.accounts]).toEqual([step.account]);
    expect(step.changes.opened.map(({ resource, startedAt, endedAt }) => [resource, startedAt, endedAt])).toEqual([
      ['DISK', 10n, null],
      ['GPU', 10n, null],
    ]);
  });

  it('in reserved mode begins a term', () => {
    // 1970-01-01T00:00:10Z + 3 months.
    expect(rented('RESERVED').instance.reservedUntil).toBe(10n + 90n * 86_400n);
  });
});

describe('suspending an account', () => {
  it('stops its running instances, which stay stopped when it resumes', () => {
    const { step, instance } = rented();
    const later = { ...step, at: 70n, end: 70n };
    suspend(later, [instance]);
    expect(later.account).toMatchObject({ suspendedAt: 70n, burnRate: 7n });
    expect(instance).toMatchObject({ status: 'STOPPED', stopReason: 'ACCOUNT_SUSPENDED', stoppedAt: 70n });
    suspend({ ...step, at: 80n, end: 80n }, [instance]);
    expect(later.account.suspendedAt).toBe(70n);
    resume({ ...step, at: 90n, end: 90n });
    expect(later.account.suspendedAt).toBeNull();
    expect(instance.status).toBe('STOPPED');
  });

  it('leaves already stopped instances unchanged', () => {
    const { step, instance } = rented();
    stop({ ...step, at: 20n, end: 20n }, instance, 'USER');
    suspend({ ...step, at: 70n, end: 70n }, [instance]);
    expect(instance).toMatchObject({ stoppedAt: 20n, stopReason: 'USER' });
  });

  it('is recorded among the changes even if nothing is running', () => {
    const step = { account: account(), at: 5n, end: 5n, changes: noChanges() };
    suspend(step, []);
    expect([...step.changes.accounts]).toEqual([step.account]);
  });
});

describe("an instance's usage", () => {
  it('adds up to the micro-USD and stops once the instance is destroyed', () => {
    const instance = { ...rented().instance, gpuRate: 3_599n, diskRate: 3_599n };
    const usage = usageAt(instance, 13n);
    expect(usage).toMatchObject({
      gpuSeconds: 3n,
      diskSeconds: 3n,
      gpuCost: 2n,
      diskCost: 3n,
      earlyExit: 0n,
      total: 5n,
    });
    expect(usageAt({ ...instance, destroyedAt: 13n, runningSince: null, gpuSeconds: 3n }, 99n)).toEqual(usage);
  });

  it('is never reported for a time before its last change, even if a clock steps back', () => {
    expect(usageAt(rented().instance, 0n)).toMatchObject({ gpuSeconds: 0n, diskSeconds: 0n, total: 0n });
    const { step, instance } = rented();
    stop({ ...step, at: 20n, end: 20n }, instance, 'USER');
    expect(usageAt(instance, 15n)).toMatchObject({ gpuSeconds: 10n, diskSeconds: 10n });
  });
});
