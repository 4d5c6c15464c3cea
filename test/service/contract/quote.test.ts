import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseUsd, usdNumber } from '../../../src/domain/kernel/money.js';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

const QUOTE = `query($input: QuoteInput!) { quote(input: $input) {
  machineId machine { gpu numGpus } mode template diskGb freeDiskGb priceHr diskPriceHr totalPriceHr coverNeeded
  preempts minimumGpuSeconds minimumCost reserved { months until onDemandPriceHr discountHr }
  canDeploy refusal { code message } account { balance burnPerHour coverNeeded hoursLeft exhaustsAt } asOf
} }`;
const DEPLOY = `mutation($input: DeployInput!) { deploy(input: $input) {
  id priceHr diskPriceHr mode reservedUntil machine { id } balance { balance burnPerHour exhaustsAt asOf }
} }`;
const ACT = 'mutation($id: ID!, $action: InstanceActionKind!) { action(id: $id, action: $action) { id status } }';
const MODES = ['ON_DEMAND', 'INTERRUPTIBLE', 'RESERVED'];

let service: Service;
let renter: Renter;

beforeAll(async () => {
  service = await startService();
  renter = await service.renter('1000');
});
afterAll(() => service.close());

async function quote(input: object, caller: Renter = renter) {
  const { body } = await caller.graphql(QUOTE, { input });
  return body.errors === undefined ? body.data.quote : body.errors[0].extensions;
}

async function deploy(input: object, caller: Renter = renter) {
  const { body } = await caller.graphql(DEPLOY, { input });
  return body.errors === undefined
    ? body.data.deploy
    : { ...body.errors[0].extensions, message: body.errors[0].message };
}

const act = (id: string, action: string, caller: Renter = renter) => caller.graphql(ACT, { id, action });

describe('a quote', () => {
  it('shows the prices that deploy locks in for every mode, even after a price change', async () => {
    for (const date of ['2027-01-01', '2027-01-02']) {
      await service.publish(date, { 'h100-sxm': date.endsWith('1') ? 3.21 : 2.99 });
      for (const mode of MODES) {
        const machineId = await service.machine({ numGpus: 3 });
        const input = { machineId, mode, diskGb: 77 };
        const [quoted, open] = [await quote(input), await quote(input, service.anyone)];
        expect(quoted).toMatchObject({
          machineId,
          mode,
          diskGb: 77,
          template: 'pytorch',
          canDeploy: true,
          refusal: null,
        });
        expect(quoted.machine).toEqual({ gpu: 'h100-sxm', numGpus: 3 });
        expect(open).toEqual({ ...quoted, account: null });
        const { id, ...locked } = await deploy(input);
        expect([quoted.priceHr, quoted.diskPriceHr]).toEqual([locked.priceHr, locked.diskPriceHr]);
        expect(quoted.totalPriceHr).toBe(
          usdNumber(parseUsd(`${locked.priceHr}`)! + parseUsd(`${locked.diskPriceHr}`)!),
        );
        expect(quoted.reserved?.until ?? null).toBe(locked.reservedUntil);
        expect(quoted.account).toMatchObject({
          burnPerHour: locked.balance.burnPerHour,
          exhaustsAt: locked.balance.exhaustsAt,
        });
        await act(id, 'DESTROY');
      }
    }
    const reserved = await quote({ machineId: await service.machine(), mode: 'RESERVED' });
    expect(reserved.reserved).toMatchObject({ months: 3, onDemandPriceHr: 2.99, discountHr: 1.0465 });
  });

  it("shows preemption and the minimum charge, even for the account's own instances", async () => {
    const machineId = await service.machine();
    const held = await deploy({ machineId, mode: 'INTERRUPTIBLE' });
    const taken = await quote({ machineId }, service.anyone);
    expect(taken).toMatchObject({ preempts: true, minimumGpuSeconds: 60, canDeploy: true });
    expect(taken.minimumCost).toBe(usdNumber((parseUsd(`${taken.priceHr}`)! + 59n) / 60n));
    expect(await quote({ machineId, mode: 'INTERRUPTIBLE' })).toMatchObject({
      preempts: false,
      minimumGpuSeconds: 0,
      minimumCost: 0,
      canDeploy: false,
      refusal: { code: 'deploy_failed', message: `machine ${machineId} is taken` },
    });
    const own = await quote({ machineId });
    const account = (await renter.graphql('{ balance { burnPerHour } }')).body.data.balance;
    // The preempted instance's rate is no longer paid, but its disk is.
    expect(own.account.burnPerHour).toBeCloseTo(account.burnPerHour + own.totalPriceHr - held.priceHr, 6);
    // The preempted instance's disk remains. Both disks have the default size.
    expect(own.freeDiskGb).toBe(1_000 - own.diskGb);
    await act(held.id, 'DESTROY');
  });

  it('is refused whenever deploy would be, with the same message', async () => {
    const machineId = await service.machine({ diskGb: 60 });
    const poor = await service.renter('0.01');
    for (const [input, caller] of [
      [{ machineId, diskGb: 61 }, renter],
      [{ machineId }, poor],
      [{ machineId, maxPricePerHour: 2.98 }, renter],
      [{ machineId: await service.machine({ state: 'OFFLINE' }) }, renter],
    ] as const) {
      const { refusal, canDeploy } = await quote(input, caller);
      const { code, message } = await deploy(input, caller);
      expect([canDeploy, refusal]).toEqual([false, { code, message }]);
      expect(code).toBe('deploy_failed');
    }
    const { code } = await quote({ machineId: 'm-none' });
    expect(code).toBe('deploy_failed');
    expect(await quote({ machineId, gpus: ['h100-sxm'] })).toMatchObject({
      code: 'invalid_request',
      field: 'machineId',
    });
    // The exact price is accepted.
    const { id } = await deploy({ machineId, maxPricePerHour: 2.99 });
    expect(id).toMatch(/^i-/);
    await act(id, 'DESTROY');
  });

  it('finds the same machine as deployBest, or is refused if none fits', async () => {
    const request = { regions: ['eu-fi-hel'], gpus: ['rtx-4090', 'l4'], diskGb: 20, mode: 'INTERRUPTIBLE' };
    const quoted = await quote(request, service.anyone);
    const { body } = await renter.graphql(
      'mutation($input: DeployBestInput!) { deployBest(input: $input) { id priceHr machine { id } } }',
      { input: request },
    );
    expect(body.data.deployBest).toMatchObject({ priceHr: quoted.priceHr, machine: { id: quoted.machineId } });
    await act(body.data.deployBest.id, 'DESTROY');
    expect(await quote({ filter: { ramGbMin: 1_000_000 } })).toMatchObject({ code: 'deploy_failed' });
  });

  it("settles the holder's account first, as deploy does", async () => {
    const machineId = await service.machine();
    const holder = await service.renter('3');
    await deploy({ machineId }, holder);
    expect(await quote({ machineId })).toMatchObject({ canDeploy: false });
    service.clock.advance(3 * 3_600);
    expect(await quote({ machineId })).toMatchObject({ canDeploy: true, preempts: false });
  });

  it('shows how long the balance lasts', async () => {
    const machineId = await service.machine();
    const caller = await service.renter('30');
    const { account, asOf } = await quote({ machineId }, caller);
    const { balance } = await deploy({ machineId }, caller);
    expect(balance).toMatchObject({ asOf, exhaustsAt: account.exhaustsAt });
    const seconds = (Date.parse(account.exhaustsAt) - Date.parse(asOf)) / 1_000;
    expect(Math.ceil(account.hoursLeft * 3_600)).toBe(seconds);
    expect(account.coverNeeded).toBe(account.burnPerHour);
  });
});

describe('a deploy with a maximum price', () => {
  it('can be repeated with the same key only for the same price', async () => {
    const machineId = await service.machine();
    const input = { machineId, maxPricePerHour: 5, idempotencyKey: 'most-5' };
    const { id } = await deploy(input);
    expect((await deploy(input)).id).toBe(id);
    expect((await deploy({ ...input, maxPricePerHour: 6 })).code).toBe('idempotency_mismatch');
    expect((await deploy({ machineId, maxPricePerHour: -1 })).code).toBe('invalid_request');
    await act(id, 'DESTROY');
  });
});

describe('the offer query', () => {
  it('returns a machine’s offer even if preemptible, or null if it is not offered', async () => {
    const offerOf = async (machineId: string) =>
      (
        await service.anyone.graphql(
          'query($id: ID!) { offer(machineId: $id) { machineId preemptible pricePerHour { onDemand } } }',
          { id: machineId },
        )
      ).body.data.offer;
    const machineId = await service.machine();
    expect(await offerOf(machineId)).toEqual({ machineId, preemptible: false, pricePerHour: { onDemand: 2.99 } });
    const { id } = await deploy({ machineId, mode: 'INTERRUPTIBLE' });
    expect(await offerOf(machineId)).toMatchObject({ preemptible: true });
    await act(id, 'STOP');
    await deploy({ machineId });
    expect(await offerOf(machineId)).toBeNull();
    expect(await offerOf('none')).toBeNull();
  });
});

describe('canStart', () => {
  const CAN = `query($id: ID!) { instance(id: $id) {
    canStart { allowed refusal { code message } preempts minimumGpuSeconds coverNeeded asOf }
  } }`;
  const canStart = async (id: string, caller: Renter = renter) =>
    (await caller.graphql(CAN, { id })).body.data.instance.canStart;

  it('predicts starts on free, taken or preemptible machines and with a low balance', async () => {
    const machineId = await service.machine();
    const caller = await service.renter('20');
    const { id, priceHr, diskPriceHr } = await deploy({ machineId }, caller);
    expect(await canStart(id, caller)).toBeNull();
    await act(id, 'STOP', caller);
    expect(await canStart(id, caller)).toMatchObject({
      allowed: true,
      refusal: null,
      preempts: false,
      minimumGpuSeconds: 0,
    });
    expect((await canStart(id, caller)).coverNeeded).toBeCloseTo(priceHr + diskPriceHr, 6);
    const other = await deploy({ machineId, mode: 'INTERRUPTIBLE' });
    expect(await canStart(id, caller)).toMatchObject({ allowed: true, preempts: true, minimumGpuSeconds: 60 });
    await act(other.id, 'DESTROY');
    const holder = await deploy({ machineId });
    const { refusal } = await canStart(id, caller);
    const { body } = await act(id, 'START', caller);
    expect(refusal).toEqual({ code: 'action_failed', message: body.errors[0].message });
    await act(holder.id, 'DESTROY');
    const machine = await service.machine();
    await deploy({ machineId: machine }, caller);
    service.clock.advance(5 * 3_600);
    const short = await canStart(id, caller);
    expect(short.refusal.message).toContain('balance too low');
    expect((await act(id, 'START', caller)).body.errors[0].message).toBe(short.refusal.message);
  });
});

describe('the rate limit', () => {
  it('counts quote and node only for clients with a key', async () => {
    const limited = await startService({ rateLimitPerMinute: 10 });
    try {
      const caller = await limited.renter();
      const machineId = await limited.machine();
      const twoFields = `{ quote(input: {machineId: "${machineId}"}) { priceHr } node(id: "region:us-tx") { id } pricing { count } }`;
      expect((await caller.graphql(twoFields)).headers.get('ratelimit-remaining')).toBe('8');
      for (let count = 0; count < 12; count += 1)
        expect((await limited.anyone.graphql(twoFields)).body.errors).toBeUndefined();
    } finally {
      await limited.close();
    }
  });
});
