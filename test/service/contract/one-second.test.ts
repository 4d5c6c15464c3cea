import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

const FIGURES = '{ balance { asOf monthSpend } instances { id status asOf usage { asOf total } } }';
const DEPLOY = 'mutation($id: ID!) { deploy(input: { machineId: $id }) { id asOf balance { asOf } usage { asOf } } }';
const STOP = 'mutation($id: ID!) { action(id: $id, action: STOP) { id } }';

let service: Service;
let renter: Renter;

beforeAll(async () => {
  service = await startService();
  renter = await service.renter('1000');
});
afterAll(() => service.close());

it('all figures in a response refer to one second, even in the second of a stop', async () => {
  const deploy = async () => (await renter.graphql(DEPLOY, { id: await service.machine() })).body.data.deploy;
  const [stopped] = [await deploy(), await deploy()];
  service.clock.advance(100.4);
  await renter.graphql(STOP, { id: stopped.id });

  const { balance, instances } = (await renter.graphql(FIGURES)).body.data;
  const seconds = instances.flatMap(({ asOf, usage }: { asOf: string; usage: { asOf: string } }) => [asOf, usage.asOf]);
  expect(seconds).toEqual(Array.from({ length: 4 }, () => balance.asOf));
  const total = instances.reduce((sum: number, { usage }: { usage: { total: number } }) => sum + usage.total, 0);
  // Each figure is rounded down individually.
  expect(balance.monthSpend - total).toBeGreaterThanOrEqual(0);
  expect(balance.monthSpend - total).toBeLessThan(0.000_003);

  for (const query of [
    `{ instance(id: "${instances[0].id}") { asOf balance { asOf } } }`,
    '{ instanceHistory(first: 1) { edges { node { asOf balance { asOf } } } } }',
  ]) {
    const { body } = await renter.graphql(query);
    const { asOf, balance: of } = body.data.instance ?? body.data.instanceHistory.edges[0].node;
    expect(asOf).toBe(of.asOf);
  }
  const rented = await deploy();
  expect([rented.asOf, rented.usage.asOf]).toEqual([rented.balance.asOf, rented.balance.asOf]);
});

it('the fields in one query agree even while the clock advances', async () => {
  await renter.graphql(DEPLOY, { id: await service.machine() });
  const day = new Date(Number(service.clock.now()) * 1_000).toISOString().slice(0, 10);
  // A second passes each time the clock is read.
  const readings = vi.spyOn(service.clock, 'now').mockImplementation(() => {
    service.clock.advance(1);
    return BigInt(Math.floor(service.clock.nowMs() / 1_000));
  });
  const { body } = await renter.graphql(
    `{ account { asOf balance monthSpend } spendByDay(from: "${day}") { asOf total }
       statement(from: "${day}T00:00:00Z") { to closingBalance } instances { asOf } }`,
  );
  readings.mockRestore();
  const { account, spendByDay, statement, instances } = body.data;
  expect([spendByDay.asOf, statement.to, instances[0].asOf]).toEqual([account.asOf, account.asOf, account.asOf]);
  expect([spendByDay.total, statement.closingBalance]).toEqual([account.monthSpend, account.balance]);
});
