import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Renter, startGateway, type TestGateway } from '../../support/gateway.js';

const INVALID_INSTANTS = ['2027-02-31T00:00:00Z', '2026-11-23T24:00:00Z'];

let gateway: TestGateway;
let renter: Renter;
beforeAll(async () => {
  gateway = await startGateway();
  renter = await gateway.renter();
});
afterAll(() => gateway.close());

test.each(['0000-01-01', '1969-12-31', '2027-02-30', '2027-13-01', '10000-01-01', '2027-1-1', ''])(
  'the day %j is rejected both as a date and within an instant',
  async (day) => {
    const history = await renter.graphql(
      'query($day: Date) { gpuModel(slug: "p4") { priceHistory(from: $day) { snapshot } } }',
      { day },
    );
    const statement = await renter.graphql('query($at: DateTime!) { statement(from: $at) { from } }', {
      at: `${day}T00:00:00Z`,
    });
    for (const { status, body } of [history, statement]) {
      expect(status).toBe(400);
      expect(body.errors[0].message).toMatch(/1970-01-01 or later|from 1970 on/);
    }
  },
);

test('the first and the last supported day are accepted', async () => {
  const { body } = await renter.graphql(
    '{ gpuModel(slug: "p4") { priceHistory(from: "1970-01-01", to: "9999-12-31") { snapshot } } statement(from: "1970-01-01T00:00:00Z", to: "9999-12-31T23:59:59Z") { closingBalance } }',
  );
  expect(body.errors).toBeUndefined();
  expect(body.data.statement.closingBalance).toBe(100);
});

test.each(INVALID_INSTANTS)('%s is rejected wherever an instant is read', async (at) => {
  const machine_id = 'm-none';
  const rest = [
    await renter.rest('POST', '/instances', { machine_id, stop_at: at }),
    await renter.rest('POST', '/instances', { machine_id, destroy_at: at }),
    await renter.rest('GET', `/instances/i-00000000/metrics/history?from=${at}`),
  ];
  expect(rest.map(({ status, body }) => [status, body.error.code])).toEqual(rest.map(() => [422, 'invalid_request']));
  const { body } = await renter.graphql(`mutation { createApiKey(name: "a", expiresAt: "${at}") { secret } }`);
  expect(body.errors[0]).toMatchObject({ message: expect.stringMatching(/^expiresAt must be/) });
});
