import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

let service: Service;

beforeAll(async () => {
  service = await startService();
});
beforeEach(() => service.clock.set('2026-11-20T12:00:00Z'));
afterAll(() => service.close());

// One H100 at 2.19 USD per hour and 100 GB at 0.014 USD per hour.
async function rent(renter: Renter, type = 'od'): Promise<string> {
  const machine_id = await service.machine();
  const { status, body } = await renter.rest('POST', '/instances', { machine_id, disk_gb: 100, type });
  expect(status).toBe(201);
  return body.id;
}

async function act(renter: Renter, id: string, action: string): Promise<void> {
  expect((await renter.rest('POST', `/instances/${id}/actions`, { action })).status).toBe(200);
}

async function money(renter: Renter): Promise<[balance: number, monthSpend: number]> {
  const { body } = await renter.rest('GET', '/balance');
  return [body.balance, body.month_spend];
}

describe('billing', () => {
  it('is per second and settled on reads, rounding the balance up and the spend down', async () => {
    const renter = await service.renter();
    await rent(renter);
    expect(await money(renter)).toEqual([100, 0]);
    const expected: [seconds: number, spend: number][] = [
      [1, 0.000612],
      [2, 0.001224],
      [3, 0.001836],
      [4, 0.002448],
      [5, 0.003061],
      [3599, 2.203387],
      [3600, 2.204],
      [86_400, 52.896],
    ];
    let now = 0;
    for (const [seconds, spend] of expected) {
      service.clock.advance(seconds - now);
      now = seconds;
      expect(await money(renter)).toEqual([Number((100 - spend).toFixed(6)), spend]);
    }
  });

  it('gives the same result after any number of reads', async () => {
    const [often, once] = [await service.renter(), await service.renter()];
    const [first, second] = [await rent(often), await rent(once)];
    for (let second = 0; second < 37; second += 1) {
      service.clock.advance(1);
      await money(often);
      if (second % 9 === 0) await often.rest('GET', '/instances');
    }
    await act(often, first, 'destroy');
    await act(once, second, 'destroy');
    expect(await money(often)).toEqual([99.977348, 0.022652]);
    expect(await money(once)).toEqual(await money(often));
  });

  it('sums several instances before rounding', async () => {
    const renter = await service.renter();
    for (let count = 0; count < 3; count += 1) await rent(renter);
    service.clock.advance(1);
    expect(await money(renter)).toEqual([99.998164, 0.001836]);
    service.clock.advance(4);
    expect(await money(renter)).toEqual([99.990817, 0.009183]);
  });

  it('ends for GPUs in the second of the stop but continues for the disk', async () => {
    const renter = await service.renter();
    const id = await rent(renter);
    service.clock.advance(1800);
    await act(renter, id, 'stop');
    expect(await money(renter)).toEqual([98.898, 1.102]);
    service.clock.advance(36_000);
    expect(await money(renter)).toEqual([98.758, 1.242]);
    await act(renter, id, 'start');
    service.clock.advance(3600);
    expect(await money(renter)).toEqual([96.554, 3.446]);
    await act(renter, id, 'destroy');
    service.clock.advance(86_400);
    expect(await money(renter)).toEqual([96.554, 3.446]);
  });

  it('charges only the disk for an instance stopped in its first second', async () => {
    const renter = await service.renter();
    const id = await rent(renter);
    await act(renter, id, 'stop');
    expect(await money(renter)).toEqual([100, 0]);
    service.clock.advance(3600);
    expect(await money(renter)).toEqual([99.986, 0.014]);
  });

  it.each([
    ['od', 4.408],
    ['interruptible', 2.218],
    ['res', 2.875],
  ])('of type %s totals %d USD for two hours', async (type, spend) => {
    const renter = await service.renter();
    await rent(renter, type);
    service.clock.advance(7200);
    expect((await money(renter))[1]).toBe(spend);
  });

  it('counts each month from its first second in UTC', async () => {
    const renter = await service.renter('10000');
    await rent(renter);
    service.clock.set('2026-11-30T23:59:59Z');
    expect(await money(renter)).toEqual([9444.592613, 555.407387]);
    service.clock.set('2026-12-01T00:00:00Z');
    expect(await money(renter)).toEqual([9444.592, 0]);
    service.clock.set('2026-12-01T01:00:00Z');
    expect(await money(renter)).toEqual([9442.388, 2.204]);
    await rent(renter);
    service.clock.set('2026-12-01T02:00:00Z');
    expect(await money(renter)).toEqual([9437.98, 6.612]);
    service.clock.set('2027-01-01T00:30:00Z');
    expect((await money(renter))[1]).toBe(2.204);
  });

  it('never decreases when the clock goes backwards', async () => {
    const renter = await service.renter();
    const id = await rent(renter);
    service.clock.advance(100);
    await act(renter, id, 'stop');
    const before = await money(renter);
    service.clock.advance(-50);
    expect(await money(renter)).toEqual(before);
    await act(renter, id, 'start');
    await act(renter, id, 'destroy');
    expect(await money(renter)).toEqual(before);
  });
});

describe('the hourly rate', () => {
  it("is locked for the instance's lifetime, despite new prices, stops and starts", async () => {
    const renter = await service.renter();
    const machine_id = await service.machine();
    const { body } = await renter.rest('POST', '/instances', { machine_id, disk_gb: 100 });
    service.clock.advance(3600);
    await service.publish('2026-11-22', { 'h100-sxm': 4 });
    service.clock.advance(3600);
    const price = async (id: string) => (await renter.rest('GET', `/instances/${id}`)).body.price_hr;
    expect(await price(body.id)).toBe(2.19);
    expect(await money(renter)).toEqual([95.592, 4.408]);
    await act(renter, body.id, 'stop');
    await act(renter, body.id, 'start');
    service.clock.advance(3600);
    expect(await price(body.id)).toBe(2.19);
    expect(await money(renter)).toEqual([93.388, 6.612]);
    const later = await renter.rest('POST', '/instances', { machine_id: await service.machine(), disk_gb: 100 });
    expect(later.body.price_hr).toBe(4);
    service.clock.advance(3600);
    expect(await money(renter)).toEqual([87.17, 12.83]);
    await service.sql(`delete from gpu_price where snapshot_date = '2026-11-22'`);
    await service.sql(`delete from market_snapshot where date = '2026-11-22'`);
  });

  it("is the offer's rate for the whole machine in the chosen mode", async () => {
    const renter = await service.renter();
    for (const [type, price_hr] of [
      ['od', 17.52],
      ['interruptible', 8.76],
      ['res', 11.388],
    ] as const) {
      const machine_id = await service.machine({ numGpus: 8 });
      const { body } = await renter.rest('POST', '/instances', { machine_id, type });
      expect(body).toMatchObject({ num_gpus: 8, price_hr });
      await renter.rest('DELETE', `/instances/${body.id}`);
    }
  });
});

describe('the end of credit', () => {
  it('stops all running instances in the same second, while disks accrue debt', async () => {
    const renter = await service.renter('4.408');
    const id = await rent(renter);
    service.clock.advance(7199);
    expect((await renter.rest('GET', `/instances/${id}`)).body.status).toBe('running');
    service.clock.advance(3600 * 10 + 1);
    const { body } = await renter.rest('GET', `/instances/${id}`);
    expect(body).toMatchObject({ status: 'stopped', stopped_at: '2026-11-20T14:00:00Z' });
    expect(await money(renter)).toEqual([-0.14, 4.548]);
    const { body: account } = await renter.graphql('{ account { exhaustsAt diskDeleteAt burnPerHour } }');
    expect(account.data.account).toEqual({
      exhaustsAt: '2026-11-20T14:00:00Z',
      diskDeleteAt: '2026-11-27T14:00:00Z',
      burnPerHour: 0.014,
    });
    const refused = await renter.rest('POST', `/instances/${id}/actions`, { action: 'start' });
    expect(refused.body.error).toMatchObject({
      code: 'action_failed',
      message: expect.stringMatching(/^balance too low/),
    });
  });

  it('affects no other account, and destroys instances after seven days of debt', async () => {
    const [poor, rich] = [await service.renter('2.204'), await service.renter('1000')];
    const [id, other] = [await rent(poor), await rent(rich)];
    service.clock.set('2026-11-27T12:59:59Z');
    expect((await poor.rest('GET', '/instances')).body.data).toHaveLength(1);
    service.clock.set('2026-11-27T13:00:01Z');
    expect((await poor.rest('GET', '/instances')).body.data).toEqual([]);
    const { body } = await poor.rest('GET', `/instances/${id}`);
    expect(body).toMatchObject({ status: 'destroyed', stopped_at: '2026-11-20T13:00:00Z' });
    service.clock.set('2026-11-28T13:00:00Z');
    expect(await money(poor)).toEqual([-2.352, 4.556]);
    expect((await rich.rest('GET', `/instances/${other}`)).body.status).toBe('running');
  });
});
