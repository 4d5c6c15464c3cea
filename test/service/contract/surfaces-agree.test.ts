import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';
import {
  ACTION,
  ACTIONS,
  BALANCE,
  DEPLOY,
  DEPLOY_INPUT,
  DESTROYED,
  deployInput,
  graphqlRefusal,
  INSTANCE,
  OFFER,
  OFFER_ARGUMENTS,
  OFFERS,
  PRICE_SHEET,
  restRefusal,
  result,
  selection,
  toGraphqlSpelling,
} from '../../support/surfaces.js';

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

async function compareInstance(renter: Renter, id: string): Promise<void> {
  const rest = await renter.rest('GET', `/instances/${id}`);
  const query = `query ($id: ID!) { result: instance(id: $id) ${selection(INSTANCE)} }`;
  expect(toGraphqlSpelling(rest.body, INSTANCE)).toEqual(result(await renter.graphql(query, { id })));
}

describe('REST and GraphQL agree on', () => {
  it('the price sheet', async () => {
    const rest = await service.anyone.rest('GET', '/gpus/pricing');
    const graphql = await service.anyone.graphql(`{ result: pricing ${selection(PRICE_SHEET)} }`);
    expect(toGraphqlSpelling(rest.body, PRICE_SHEET)).toEqual(result(graphql));
  });

  it.each([
    {},
    { limit: 100 },
    { gpu: 'rtx-4090', limit: 3 },
    { region: 'us-tx', num_min: 4 },
    { num_min: 8, price_max: 20.5, limit: 50 },
    { price_max: 0.02, limit: 100 },
    { gpu: 'nothing' },
    { gpu: 'h100-sxm', region: 'us-va', num_min: 2, price_max: 17.52, limit: 10 },
  ] as Record<string, string | number>[])('offers %j', async (filter) => {
    const query = new URLSearchParams(Object.entries(filter).map(([name, value]) => [name, String(value)]));
    const rest = await service.anyone.rest('GET', `/offers?${query}`);
    const variables = Object.fromEntries(
      Object.entries(filter).map(([name, value]) => [OFFER_ARGUMENTS[name]!, value]),
    );
    const graphql = result(await service.anyone.graphql(OFFERS, variables)) as unknown[];
    expect(toGraphqlSpelling(rest.body.data, OFFER)).toEqual(graphql);
    expect(rest.body.count).toBe(graphql.length);
  });

  it("the balance and instances throughout an instance's life", async () => {
    const renter = await service.renter();
    const ids: string[] = [];
    for (const type of ['od', 'interruptible', 'res']) {
      const body = { machine_id: await service.machine({ numGpus: 2 }), type, disk_gb: 77, template: 'jupyter' };
      ids.push((await renter.rest('POST', '/instances', body)).body.id);
    }
    const compareAll = async () => {
      const balance = await renter.rest('GET', '/balance');
      const listed = await renter.rest('GET', '/instances');
      const both = `{ result: balance ${selection(BALANCE)} }`;
      expect(toGraphqlSpelling(balance.body, BALANCE)).toEqual(result(await renter.graphql(both)));
      const graphql = await renter.graphql(`{ result: instances ${selection(INSTANCE)} }`);
      expect(toGraphqlSpelling(listed.body.data, INSTANCE)).toEqual(result(graphql));
      for (const id of ids) await compareInstance(renter, id);
    };
    await compareAll();
    service.clock.advance(1237);
    await renter.rest('POST', `/instances/${ids[0]}/actions`, { action: 'stop' });
    await compareAll();
    service.clock.advance(3);
    await renter.graphql(ACTION, { id: ids[1], action: 'DESTROY' });
    await compareAll();
  });

  it.each([
    {},
    { template: 'ghcr.io/org/image:1', disk_gb: 120, type: 'od' },
    { type: 'interruptible', disk_gb: 1 },
    { type: 'res', template: null, disk_gb: null },
    { type: null },
  ] as Record<string, unknown>[])('deploy %j', async (extra) => {
    const [first, second] = [await service.renter(), await service.renter()];
    const twins = { gpu: 'l40s', numGpus: 4, region: 'eu-pl-waw' };
    const rest = await first.rest('POST', '/instances', { machine_id: await service.machine(twins), ...extra });
    const input = deployInput({ machine_id: await service.machine(twins), ...extra });
    const graphql = result(await second.graphql(DEPLOY, { input })) as { id: string };
    const { id, hostname, ...same } = toGraphqlSpelling(rest.body, INSTANCE) as Record<string, string>;
    expect(graphql).toEqual({ ...same, id: graphql.id, hostname: hostname!.replace(id!, graphql.id) });
    service.clock.advance(100);
    expect((await first.rest('GET', '/balance')).body).toEqual((await second.rest('GET', '/balance')).body);
  });

  it('actions on identical instances', async () => {
    const [first, second] = [await service.renter(), await service.renter()];
    const [mine, yours] = [await deployed(first), await deployed(second)];
    for (const action of ['stop', 'start', 'stop', 'destroy']) {
      service.clock.advance(60);
      const rest = await first.rest('POST', `/instances/${mine}/actions`, { action });
      const graphql = await second.graphql(ACTION, { id: yours, action: ACTIONS[action] });
      const fromRest = toGraphqlSpelling(rest.body, INSTANCE) as Record<string, unknown>;
      const same = result(graphql) as Record<string, unknown>;
      expect({ ...fromRest, id: yours, hostname: same.hostname }).toEqual(same);
      await compareInstance(first, mine);
      await compareInstance(second, yours);
    }
    expect((await first.rest('GET', '/balance')).body).toEqual((await second.rest('GET', '/balance')).body);
  });

  it('destroying by DELETE', async () => {
    const [first, second] = [await service.renter(), await service.renter()];
    const [mine, yours] = [await deployed(first), await deployed(second)];
    const rest = await first.rest('DELETE', `/instances/${mine}`);
    const query = `mutation ($id: ID!) { result: action(id: $id, action: DESTROY) ${selection(DESTROYED)} }`;
    const graphql = result(await second.graphql(query, { id: yours }));
    expect({ ...(toGraphqlSpelling(rest.body, DESTROYED) as object), id: yours }).toEqual(graphql);
  });
});

describe('REST and GraphQL both refuse', () => {
  it.each([
    { num_min: 0 },
    { num_min: 9 },
    { limit: 101 },
    { price_max: -1 },
    { price_max: 1_000_001 },
    { gpu: '' },
    { region: 'x'.repeat(65) },
  ] as Record<string, string | number>[])('offers %j', async (filter) => {
    const [[name, value]] = Object.entries(filter) as [[string, string | number]];
    const rest = await service.anyone.rest('GET', `/offers?${name}=${value}`);
    const graphql = await service.anyone.graphql(OFFERS, { [OFFER_ARGUMENTS[name]!]: value });
    expect(restRefusal(rest, OFFER_ARGUMENTS)).toEqual(graphqlRefusal(graphql));
  });

  it.each([
    { machine_id: '' },
    { machine_id: 'm-unknown' },
    { machine_id: 'x'.repeat(65) },
    { disk_gb: 0 },
    { disk_gb: 1_000_001 },
    { disk_gb: 1001 },
    { template: '' },
    { template: 'Not A Slug' },
  ] as Record<string, unknown>[])('deploy %j', async (extra) => {
    const renter = await service.renter();
    const body = { machine_id: await service.machine(), ...extra };
    const rest = await renter.rest('POST', '/instances', body);
    const graphql = await renter.graphql(DEPLOY, { input: deployInput(body) });
    expect(restRefusal(rest, DEPLOY_INPUT)).toEqual(graphqlRefusal(graphql));
  });

  it('a taken machine and a low balance', async () => {
    const [holder, poor] = [await service.renter(), await service.renter('1')];
    const machine = await service.machine();
    const free = await service.machine();
    await holder.rest('POST', '/instances', { machine_id: machine });
    for (const [renter, machine_id] of [
      [holder, machine],
      [poor, free],
    ] as const) {
      const rest = await renter.rest('POST', '/instances', { machine_id });
      expect(rest.status).toBe(409);
      const graphql = await renter.graphql(DEPLOY, { input: { machineId: machine_id } });
      expect(restRefusal(rest)).toEqual(graphqlRefusal(graphql));
    }
  });

  it.each([
    ['running', 'start'],
    ['stopped', 'stop'],
    ['destroyed', 'start'],
    ['destroyed', 'stop'],
    ['destroyed', 'destroy'],
    ['missing', 'stop'],
    ['missing', 'destroy'],
  ])("a %s instance's %s action", async (state, action) => {
    const renter = await service.renter();
    const id = state === 'missing' ? 'i-00000000' : await deployed(renter);
    if (state === 'stopped') await renter.rest('POST', `/instances/${id}/actions`, { action: 'stop' });
    if (state === 'destroyed') await renter.rest('DELETE', `/instances/${id}`);
    const rest = await renter.rest('POST', `/instances/${id}/actions`, { action });
    const graphql = graphqlRefusal(await renter.graphql(ACTION, { id, action: ACTIONS[action] }));
    expect(restRefusal(rest)).toEqual(graphql);
    if (action === 'destroy') expect(restRefusal(await renter.rest('DELETE', `/instances/${id}`))).toEqual(graphql);
  });

  it('requests without a required key', async () => {
    const rest = await service.anyone.rest('GET', '/balance');
    const graphql = await service.anyone.graphql('{ result: balance { balance } }');
    expect(restRefusal(rest)).toEqual(graphqlRefusal(graphql));
    expect(rest.status).toBe(graphql.status);
  });
});

async function deployed(renter: Renter): Promise<string> {
  const { body } = await renter.rest('POST', '/instances', { machine_id: await service.machine() });
  return body.id;
}
