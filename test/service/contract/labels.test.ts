import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutTimers } from '../../support/background.js';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

const SET = `mutation ($id: ID!, $labels: Labels, $remove: [String!]) {
  setLabels(id: $id, labels: $labels, remove: $remove) { id labels } }`;
const LISTS = `query ($labels: String) {
  plain: instances(labels: $labels) { id }
  joined: instances(labels: $labels) { id machine { id } }
  instanceHistory(first: 10, filter: { labels: $labels }) { edges { node { id labels } } } }`;

withoutTimers();
let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

async function rented(renter: Renter, labels: object): Promise<string> {
  const { body } = await renter.rest('POST', '/instances', { machine_id: await service.machine(), labels });
  return body.id;
}

/** Returns the ids found by a selector in every list. */
async function found(renter: Renter, labels: string): Promise<string[]> {
  const { body } = await renter.graphql(LISTS, { labels });
  expect(body.errors).toBeUndefined();
  const ids = (list: { id: string }[]) => list.map(({ id }) => id);
  const { plain, joined, instanceHistory } = body.data;
  const rest = await renter.rest('GET', `/instances?labels=${encodeURIComponent(labels)}`);
  const lists = [plain, joined, rest.body.data, instanceHistory.edges.map(({ node }: { node: object }) => node)];
  expect(new Set(lists.map((list) => ids(list).join(' ')))).toHaveLength(1);
  return ids(plain);
}

describe("an instance's labels", () => {
  it('are given at deploy and filter every list', async () => {
    const renter = await service.renter('100');
    const first = await rented(renter, { team: 'vision', 'run/id': 'a=b' });
    const second = await rented(renter, { team: 'audio' });
    await rented(renter, {});
    expect(await found(renter, 'team=vision')).toEqual([first]);
    expect(await found(renter, 'team')).toEqual([second, first]);
    expect(await found(renter, 'run/id=a=b,team=vision')).toEqual([first]);
    expect(await found(renter, 'team=vision,other')).toEqual([]);
    const launch = await renter.rest('GET', `/instances/${first}/launch`);
    expect(launch.body.labels).toEqual({ team: 'vision', 'run/id': 'a=b' });
    expect((await (await service.renter('1')).rest('GET', '/instances?labels=team')).body.data).toEqual([]);
  });

  it('are added, changed and removed, even after the instance is destroyed', async () => {
    const renter = await service.renter('100');
    const id = await rented(renter, { team: 'vision', run: '7' });
    const change = async (labels?: object, remove?: string[]) => {
      const { body } = await renter.graphql(SET, { id, labels, remove });
      return body.data.setLabels?.labels ?? body.errors[0].message;
    };
    expect(await change({ team: 'audio' }, ['run', 'unknown'])).toEqual({ team: 'audio' });
    // Neither of two concurrent changes is lost.
    await Promise.all([change({ a: '1' }), change({ b: '2' })]);
    expect(await change()).toEqual({ team: 'audio', a: '1', b: '2' });
    const many = Object.fromEntries(Array.from({ length: 14 }, (_, index) => [`k${index}`, '']));
    expect(await change(many)).toContain('labels must have at most 16');
    await renter.rest('DELETE', `/instances/${id}`);
    expect(await change({}, ['team', 'a', 'b'])).toEqual({});
    const other = await service.renter('1');
    expect((await other.graphql(SET, { id, labels: {} })).body.errors[0].extensions.code).toBe('not_found');
  });

  it.each([
    [{ '': 'x' }, 'labels'],
    [{ 'a b': 'x' }, 'labels'],
    [{ a: 'x,y' }, 'labels'],
    [JSON.parse('{"__proto__":"x"}'), 'labels.__proto__'],
    [{ a: 1 }, 'labels'],
    [['a'], 'labels'],
    [Object.fromEntries(Array.from({ length: 6 }, (_, index) => [`k${index}`, '\u{1f600}'.repeat(100)])), '2000 bytes'],
    [Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, ''])), 'at most 16'],
  ])('are rejected if they are %j', async (labels, named) => {
    const renter = await service.renter('100');
    const { status, body } = await renter.rest('POST', '/instances', { machine_id: 'm', labels });
    expect([status, body.error.code]).toEqual([422, 'invalid_request']);
    expect(body.error.message).toContain(named);
    expect((await renter.rest('GET', '/instances?labels=a,')).status).toBe(422);
  });

  it('are part of what an idempotency key stands for', async () => {
    const renter = await service.renter('100');
    const headers = { 'idempotency-key': 'labels' };
    const body = { machine_id: await service.machine(), labels: { team: 'vision' } };
    const first = await renter.rest('POST', '/instances', body, headers);
    expect((await renter.rest('POST', '/instances', body, headers)).body.id).toBe(first.body.id);
    const other = await renter.rest('POST', '/instances', { ...body, labels: { team: 'audio' } }, headers);
    expect([other.status, other.body.error.code]).toEqual([422, 'idempotency_mismatch']);
  });
});
