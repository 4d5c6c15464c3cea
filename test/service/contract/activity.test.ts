import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportAccount } from '../../../src/domain/accounts/export-account.js';
import { dropOldActivity } from '../../../src/domain/activity/activity.js';
import { client, type Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

const ACTIVITY = `query ($filter: ActivityFilterInput, $first: Int, $after: String) {
  activity(filter: $filter, first: $first, after: $after) { pageInfo { hasNextPage endCursor }
    edges { node { at operation targets keyId byConsole address code times } } } }`;

interface Entry {
  operation: string;
  targets: string[];
  keyId: string;
  code: string | null;
  times: number;
}

let service: Service;
beforeAll(async () => {
  service = await startService({ secretsKeys: ['ab'.repeat(32)] });
});
afterAll(() => service.close());

async function activity(renter: Renter, variables: object = {}): Promise<Entry[]> {
  await service.deps.activityLog.flush();
  const { body } = await renter.graphql(ACTIVITY, { first: 100, ...variables });
  return body.data.activity.edges.map(({ node }: { node: Entry }) => node);
}

/** Returns the rows in the database, without those still in memory. */
async function committed(accountId: string): Promise<string[]> {
  const { rows } = await service.deps.db.pool.query<{ operation: string }>(
    'select operation from activity where account_id = $1 order by id',
    [accountId],
  );
  return rows.map(({ operation }) => operation);
}

describe('the activity log', () => {
  it('records each request with its key and address, but never a secret value', async () => {
    const renter = await service.renter('50');
    const machineId = await service.machine();
    const { id } = (await renter.rest('POST', '/instances', { machine_id: machineId })).body;
    await renter.rest('POST', `/instances/${id}/actions`, { action: 'stop' });
    await renter.graphql('mutation { createSecret(input: { name: "hf", value: "hush-hush-value" }) { name } }');
    const made = (await renter.graphql('mutation { createApiKey(name: "private name") { apiKey { id } } }')).body.data;
    await renter.graphql(`mutation { revokeApiKey(id: "${made.createApiKey.apiKey.id}") { id } }`);
    await renter.graphql('mutation { deleteSecret(name: "hf") { name } }');
    // All entries exist without a flush, since each is written together with its effect.
    expect(await committed(renter.accountId)).toEqual([
      'deploy',
      'stop',
      'createSecret',
      'createApiKey',
      'revokeApiKey',
      'deleteSecret',
    ]);
    const [current] = (await renter.graphql('{ apiKeys { id isCurrent } }')).body.data.apiKeys.filter(
      (key: { isCurrent: boolean }) => key.isCurrent,
    );
    const entries = await activity(renter);
    expect(entries.map(({ operation, targets }) => [operation, ...targets])).toEqual([
      ['deleteSecret', 'hf'],
      ['revokeApiKey', made.createApiKey.apiKey.id],
      ['createApiKey', made.createApiKey.apiKey.id],
      ['createSecret', 'hf'],
      ['stop', id],
      ['deploy', machineId, id],
    ]);
    for (const entry of entries)
      expect(entry).toMatchObject({
        keyId: current.id,
        byConsole: false,
        code: null,
        times: 1,
        address: expect.stringMatching(/127\.0\.0\.1$/),
      });
    let exported = '';
    await exportAccount(service.deps, renter.accountId, async (text) => {
      exported += text;
    });
    expect(JSON.parse(exported).activity).toHaveLength(6);
    expect(exported).not.toContain('hush-hush-value');
    expect((await (await service.renter('1')).graphql(ACTIVITY)).body.data.activity.edges).toEqual([]);
  });

  it('records each change made by a request, even if the request runs compiled', async () => {
    const renter = await service.renter('50');
    const query = `mutation { a: action(id: "i-00000001", action: STOP) { id } b: createApiKey { secret } c: action(id: "i-00000002", action: START) { id } }`;
    for (let time = 0; time < 4; time += 1) await renter.graphql(query);
    const entries = await activity(renter);
    const refused = entries.filter(({ code }) => code !== null);
    expect(refused.map(({ operation, targets, code, times }) => [operation, targets[0], code, times]).sort()).toEqual([
      ['start', 'i-00000002', 'not_found', 4],
      ['stop', 'i-00000001', 'not_found', 4],
    ]);
    expect(entries.filter(({ operation }) => operation === 'createApiKey')).toHaveLength(4);
  });

  it("counts an hour's refusals in one row, including those for a missing scope", async () => {
    const renter = await service.renter('50');
    const { secret } = (await renter.graphql('mutation { createApiKey(scopes: [READ]) { secret } }')).body.data
      .createApiKey;
    const small = client(service.address, secret, renter.accountId);
    for (let time = 0; time < 30; time += 1) await small.rest('DELETE', `/instances/i-0000000${time % 10}`);
    for (let time = 0; time < 30; time += 1)
      await small.graphql(`mutation { action(id: "i-1111111${time % 10}", action: DESTROY) { id } }`);
    const refused = await activity(renter, { filter: { refused: true } });
    expect(refused.map(({ operation, code, times }) => [operation, code, times])).toEqual([
      ['destroy', 'forbidden', 30],
      ['action', 'forbidden', 30],
    ]);
    service.clock.advance(3_600);
    await small.graphql('mutation { action(id: "i-11111111", action: DESTROY) { id } }');
    expect(await activity(renter, { filter: { refused: true } })).toHaveLength(3);
    expect(await activity(renter, { filter: { refused: false } })).toHaveLength(1);
  });

  it('is paged and retains entries for 90 days', async () => {
    const renter = await service.renter('50');
    for (let time = 0; time < 5; time += 1) await renter.graphql('mutation { createApiKey { secret } }');
    const first = (await renter.graphql(ACTIVITY, { first: 3 })).body.data.activity;
    const rest = (await renter.graphql(ACTIVITY, { first: 3, after: first.pageInfo.endCursor })).body.data.activity;
    expect([first.edges.length, first.pageInfo.hasNextPage, rest.edges.length, rest.pageInfo.hasNextPage]).toEqual([
      3,
      true,
      2,
      false,
    ]);
    const bad = await renter.graphql(ACTIVITY, { after: 'bm90aGluZw==' });
    expect(bad.body.errors[0].extensions).toMatchObject({ code: 'invalid_request', field: 'after' });
    service.clock.advance(90 * 86_400);
    await renter.graphql('mutation { createApiKey { secret } }');
    await dropOldActivity(service.deps);
    expect(await committed(renter.accountId)).toHaveLength(6);
    service.clock.advance(1);
    await dropOldActivity(service.deps);
    expect(await committed(renter.accountId)).toHaveLength(1);
  });
});
