import { afterAll, beforeAll, expect, test } from 'vitest';
import { client, startGateway } from '../../support/gateway.js';
import { csv, listings, type MarketSource, market, openMarketSource } from '../../support/market.js';

const PATIENT = { timeout: 60_000 };

let source: MarketSource;

beforeAll(async () => {
  source = await openMarketSource();
});
afterAll(() => source.close());

const STATE = '{ pricing { marketSnapshot recheck { schedule lastSucceededAt lastFailedAt nextAt } } }';

async function pricing(address: string) {
  return (await client(address).graphql(STATE)).body.data.pricing;
}

async function ready(address: string) {
  const response = await fetch(`${address}/readyz`);
  return { status: response.status, body: await response.json() };
}

test('a gateway re-checks prices on schedule, reports results and keeps locked rates', async () => {
  source.answers((_request, response) => response.writeHead(500).end());
  const marketSchedule = '* * * * * *';
  const gateway = await startGateway({ marketSource: source.url, marketSchedule });
  const ann = await gateway.renter();
  const { body: offers } = await ann.rest('GET', '/offers?gpu=rtx-4090&limit=1');
  const { body: instance } = await ann.rest('POST', '/instances', { machine_id: offers.data[0].machine_id });
  const failed = { lastSucceededAt: null, lastFailedAt: '2026-11-20T12:00:00Z', nextAt: '2026-11-20T12:01:00Z' };
  await expect
    .poll(() => pricing(gateway.address), PATIENT)
    .toEqual({ marketSnapshot: '2026-09-26', recheck: { schedule: marketSchedule, ...failed } });
  // A failed re-check leaves the gateway ready.
  const answer = { status: 'ready', database: 'ok' };
  expect(await ready(gateway.address)).toEqual({ status: 200, body: { ...answer, market: failed } });

  gateway.clock.advance(60);
  const again = { lastSucceededAt: null, lastFailedAt: '2026-11-20T12:01:00Z', nextAt: '2026-11-20T12:06:00Z' };
  await expect
    .poll(() => pricing(gateway.address), PATIENT)
    .toEqual({ marketSnapshot: '2026-09-26', recheck: { schedule: marketSchedule, ...again } });

  source.answers(csv(market(listings('rtx-4090', '0.80'))));
  gateway.clock.advance(300);
  // The re-check runs at most once per day, even though the schedule is due every second.
  const succeeded = { ...again, lastSucceededAt: '2026-11-20T12:06:00Z', nextAt: '2026-11-21T00:00:00Z' };
  await expect
    .poll(() => pricing(gateway.address), PATIENT)
    .toEqual({ marketSnapshot: '2026-11-20', recheck: { schedule: marketSchedule, ...succeeded } });
  expect(await ready(gateway.address)).toEqual({ status: 200, body: { ...answer, market: succeeded } });
  const { body: after } = await ann.rest('GET', '/offers?gpu=rtx-4090&limit=1');
  expect([offers, after].map(({ data }) => data[0].price_per_hour.on_demand)).toEqual([0.44, 0.56]);
  expect((await ann.rest('GET', `/instances/${instance.id}`)).body.price_hr).toBe(0.44);
  await gateway.close();
});

test('no price re-check is reported without MARKET_SOURCE', async () => {
  const gateway = await startGateway();
  expect((await pricing(gateway.address)).recheck).toBeNull();
  expect(await ready(gateway.address)).toEqual({ status: 200, body: { status: 'ready', database: 'ok' } });
  await gateway.close();
});
