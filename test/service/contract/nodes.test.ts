import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

const NODE = `query($id: ID!) { node(id: $id) { __typename id
  ... on Instance { status machine { id } } ... on Account { balance } ... on ApiKey { name isCurrent }
  ... on GpuModel { slug } ... on Region { code } ... on Template { slug } } }`;

let service: Service;
let renter: Renter;
let other: Renter;
beforeAll(async () => {
  service = await startService();
  [renter, other] = [await service.renter(), await service.renter()];
});
afterAll(() => service.close());

const node = async (id: string, caller: Renter = renter) => (await caller.graphql(NODE, { id })).body;

describe('the node query', () => {
  it('reads any object by its id', async () => {
    const machineId = await service.machine();
    const { id } = (await renter.rest('POST', '/instances', { machine_id: machineId })).body;
    const { body } = await renter.graphql(
      '{ account { id } apiKeys { id } instances { id } gpuModels { id slug } regions { id code } templates { id slug } }',
    );
    const { account, apiKeys, instances, gpuModels, regions, templates } = body.data;
    expect(instances).toEqual([{ id }]);
    expect((await node(id)).data.node).toEqual({
      __typename: 'Instance',
      id,
      status: 'RUNNING',
      machine: { id: machineId },
    });
    expect((await node(account.id)).data.node).toMatchObject({ __typename: 'Account', id: account.id, balance: 100 });
    expect((await node(apiKeys[0].id)).data.node).toMatchObject({
      __typename: 'ApiKey',
      ...apiKeys[0],
      isCurrent: true,
    });
    for (const [type, list] of [
      ['GpuModel', gpuModels],
      ['Region', regions],
      ['Template', templates],
    ] as const) {
      expect((await node(list[1].id, service.anyone)).data.node).toEqual({ __typename: type, ...list[1] });
    }
    // The request is repeated until it runs compiled.
    for (let count = 0; count < 4; count += 1) expect((await node(id)).data.node.id).toBe(id);
    const every = [account, ...apiKeys, ...instances, ...gpuModels, ...regions, ...templates].map((each) => each.id);
    expect(new Set(every).size).toBe(every.length);
  });

  it("hides other accounts' objects and requires a key for any account's objects", async () => {
    const machineId = await service.machine();
    const { id } = (await other.rest('POST', '/instances', { machine_id: machineId })).body;
    const { account, apiKeys } = (await other.graphql('{ account { id } apiKeys { id } }')).body.data;
    for (const foreign of [id, account.id, apiKeys[0].id]) {
      const unknown = foreign.replace(/[0-9a-f]{6}$/, '000000');
      expect(await node(foreign)).toEqual({ data: { node: null } });
      expect(await node(unknown)).toEqual({ data: { node: null } });
      const open = await service.anyone.graphql(NODE, { id: foreign });
      expect([open.status, open.body.errors[0].extensions.code]).toEqual([401, 'unauthorized']);
    }
    for (const nothing of ['', 'i-', 't-0', 'gpu:none', machineId, '__proto__']) {
      expect(await node(nothing)).toEqual({ data: { node: null } });
    }
  });
});

describe('API keys', () => {
  const CREATE = `mutation($name: String, $key: String) {
    createApiKey(name: $name, idempotencyKey: $key) { apiKey { id name isCurrent } secret } }`;
  const KEYS = '{ apiKeys { id name isCurrent } }';

  it('have names and are marked as current if used for the request', async () => {
    const caller = await service.renter();
    const { apiKey, secret } = (await caller.graphql(CREATE, { name: 'laptop' })).body.data.createApiKey;
    expect(apiKey).toMatchObject({ name: 'laptop', isCurrent: false });
    const listed = (await service.withKey(secret).graphql(KEYS)).body.data.apiKeys;
    expect(listed).toHaveLength(2);
    expect(listed.find(({ isCurrent }: { isCurrent: boolean }) => isCurrent)).toEqual({ ...apiKey, isCurrent: true });
    for (const name of ['', 'x'.repeat(61), 'a\nb']) {
      const { body } = await caller.graphql(CREATE, { name });
      expect([name, body.errors[0].extensions.code, body.errors[0].extensions.field]).toEqual([
        name,
        'invalid_request',
        'name',
      ]);
    }
  });

  it('are created once per idempotency key and show their secret only once', async () => {
    const caller = await service.renter();
    const same = { name: 'ci', key: 'once' };
    const answers = await Promise.all(Array.from({ length: 5 }, () => caller.graphql(CREATE, same)));
    const created = answers.map(({ body }) => body.data.createApiKey);
    expect(new Set(created.map(({ apiKey }) => apiKey.id)).size).toBe(1);
    const secrets = created.map(({ secret }) => secret).filter((secret) => secret !== null);
    expect(secrets).toHaveLength(1);
    const replayed = answers.map(({ headers }) => headers.get('idempotent-replayed') === 'true');
    expect(replayed).toEqual(created.map(({ secret }) => secret === null));
    expect((await service.withKey(secrets[0]).graphql(KEYS)).body.data.apiKeys).toHaveLength(2);
    const { body } = await caller.graphql(CREATE, { ...same, name: 'cd' });
    expect(body.errors[0].extensions.code).toBe('idempotency_mismatch');
  });
});

describe('the price sheet', () => {
  it('shows the disk price that a deploy locks in', async () => {
    const { body } = await service.anyone.graphql('{ pricing { diskPricePerGbHour } }');
    const machineId = await service.machine();
    const deployed = await renter.graphql(
      `mutation { deploy(input: { machineId: "${machineId}", diskGb: 100 }) { diskPriceHr } }`,
    );
    expect(deployed.body.data.deploy.diskPriceHr).toBeCloseTo(body.data.pricing.diskPricePerGbHour * 100, 6);
  });
});
