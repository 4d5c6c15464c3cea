import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKey } from '../../../src/domain/accounts/api-keys.js';
import { audit } from '../../../src/domain/billing/audit.js';
import { settleDue } from '../../../src/domain/billing/settlement.js';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

const SHOWN = 'id status stopReason spendLimit limitReachedAt stoppedAt usage { total }';
const DEPLOY = `mutation($input: DeployInput!) { deploy(input: $input) { ${SHOWN} } }`;
const SET = `mutation($id: ID!, $spendLimit: Float) { setSpendLimit(id: $id, spendLimit: $spendLimit) { ${SHOWN} } }`;
const SET_KEY = `mutation($id: ID!, $monthlyLimit: Float) {
  setApiKeyLimit(id: $id, monthlyLimit: $monthlyLimit) { id monthlyLimit monthSpend limitReachedAt } }`;
const SET_ACCOUNT = `mutation($monthlyLimit: Float) {
  setMonthlyLimit(monthlyLimit: $monthlyLimit) { monthlyLimit monthSpend limitReachedAt } }`;
const ACT = `mutation($id: ID!, $action: InstanceActionKind!) { action(id: $id, action: $action) { ${SHOWN} } }`;

// biome-ignore lint/suspicious/noExplicitAny: responses have any shape
type Any = any;

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  expect((await audit(service.deps)).findings).toEqual([]);
  await service.close();
});

async function send(caller: Renter, query: string, variables: Record<string, unknown> = {}) {
  const { body } = await caller.graphql(query, variables);
  return body.errors === undefined ? Object.values<Any>(body.data)[0] : body.errors[0];
}

/** Deploys an RTX 4090 at 0.44 USD per hour with a 50 GB disk at 0.007, which totals 0.447 USD per hour. */
const deploy = async (caller: Renter, more: object = {}) =>
  send(caller, DEPLOY, { input: { machineId: await service.machine({ gpu: 'rtx-4090', numGpus: 1 }), ...more } });
const shown = (caller: Renter, id: string) => send(caller, `{ instance(id: "${id}") { ${SHOWN} } }`);
const account = (caller: Renter) => send(caller, '{ account { monthlyLimit monthSpend limitReachedAt } }');
const now = () => service.clock.now();
const at = (instant: bigint) => new Date(Number(instant) * 1000).toISOString().replace('.000', '');

async function withKeys() {
  const owner = await service.renter('1000');
  const created = await createApiKey(service.deps, owner.accountId, 'small');
  return { owner, small: service.withKey(created.secret), id: created.apiKey.id };
}

describe('a new API key with a limit', () => {
  const CREATE = `mutation($monthlyLimit: Float, $idempotencyKey: String) {
    createApiKey(name: "ci", scopes: [READ, RENT], monthlyLimit: $monthlyLimit, idempotencyKey: $idempotencyKey) {
      secret apiKey { id scopes monthlyLimit monthSpend limitReachedAt } } }`;

  it("is limited from its first second without affecting the account's other keys", async () => {
    const owner = await service.renter('100');
    const input = { monthlyLimit: 0.447, idempotencyKey: 'limited-key' };
    const { secret, apiKey } = await send(owner, CREATE, input);
    expect(apiKey).toEqual({
      id: expect.stringMatching(/^key-/),
      scopes: ['READ', 'RENT'],
      monthlyLimit: 0.447,
      monthSpend: 0,
      limitReachedAt: null,
    });
    expect(await send(owner, CREATE, input)).toMatchObject({
      secret: null,
      apiKey: { id: apiKey.id, monthlyLimit: 0.447 },
    });
    expect(await send(owner, CREATE, { ...input, monthlyLimit: 1 })).toMatchObject({
      extensions: { code: 'idempotency_mismatch' },
    });
    const keys = await send(owner, '{ apiKeys { id monthlyLimit } }');
    expect(keys.map(({ monthlyLimit }: Any) => monthlyLimit).sort()).toEqual([0.447, null]);
    const [own, limited] = [await deploy(owner), await deploy(service.withKey(secret))];
    const begun = now();
    service.clock.advance(7_200);
    expect(await shown(owner, limited.id)).toMatchObject({ stopReason: 'SPEND_LIMIT', stoppedAt: at(begun + 3_600n) });
    expect(await shown(owner, own.id)).toMatchObject({ status: 'RUNNING' });
    const recorded = await send(owner, '{ activity(first: 5) { edges { node { operation targets } } } }');
    expect(recorded.edges).toContainEqual({ node: { operation: 'createApiKey', targets: [apiKey.id] } });
  });

  it('is refused if the account has too many keys or the limit is invalid', async () => {
    const owner = await service.renter('100');
    const create = (count: number) =>
      Promise.all(Array.from({ length: count }, () => send(owner, CREATE, { monthlyLimit: 1 })));
    // A request waits its turn for at most 5 s, so a slow machine can't process all of them at once.
    for (let group = 0; group < 4; group++) await create(11);
    const created = await create(8);
    expect(created.filter(({ secret }) => secret !== undefined)).toHaveLength(5);
    const codes = new Set(created.flatMap(({ extensions }) => (extensions === undefined ? [] : [extensions.code])));
    expect(codes).toEqual(new Set(['action_failed']));
    const limits = await service.sql('select count(*)::int as count from key_limit where account_id = $1', [
      owner.accountId,
    ]);
    expect(limits).toEqual([{ count: 49 }]);
    for (const monthlyLimit of [-1, 0.00000001, 1e9])
      expect(await send(owner, CREATE, { monthlyLimit })).toMatchObject({
        extensions: { code: 'invalid_request', field: 'monthlyLimit' },
      });
  });
});

describe("an instance's spend limit", () => {
  it('is reached after the last affordable second, which is known from the start', async () => {
    const renter = await service.renter('100');
    const begun = now();
    const created = await deploy(renter, { spendLimit: 1 });
    // 1 USD at 0.447 per hour lasts for 8,053 whole seconds.
    expect(created).toMatchObject({ status: 'RUNNING', spendLimit: 1, limitReachedAt: at(begun + 8_053n) });
    service.clock.advance(3 * 86_400);
    expect(await shown(renter, created.id)).toMatchObject({
      status: 'STOPPED',
      stopReason: 'SPEND_LIMIT',
      stoppedAt: at(begun + 8_053n),
      limitReachedAt: at(begun + 8_053n),
    });
    const [{ units }] = (await service.sql(
      `select -sum(units) as units from ledger_entry where instance_id = $1 and kind = 'GPU_USAGE'`,
      [created.id],
    )) as [{ units: bigint }];
    expect(BigInt(units) + 7_000n * 8_053n <= 3_600n * 1_000_000n).toBe(true);
  });

  it("is compared when an idempotency key is reused in REST, but isn't returned", async () => {
    const renter = await service.renter('100');
    const machine_id = await service.machine();
    const headers = { 'idempotency-key': 'limit-1' };
    const first = await renter.rest('POST', '/instances', { machine_id, spend_limit: 2.5 }, headers);
    expect(first.status).toBe(201);
    expect(Object.keys(first.body)).not.toContain('spend_limit');
    expect(await shown(renter, first.body.id)).toMatchObject({ spendLimit: 2.5 });
    expect((await renter.rest('POST', '/instances', { machine_id, spend_limit: 2.5 }, headers)).body.id).toBe(
      first.body.id,
    );
    expect((await renter.rest('POST', '/instances', { machine_id, spend_limit: 3 }, headers)).status).toBe(422);
  });

  it('restarts no instance when raised and stops none once removed', async () => {
    const renter = await service.renter('100');
    const { id } = await deploy(renter, { spendLimit: 0.1 });
    service.clock.advance(3_600);
    expect(await send(renter, ACT, { id, action: 'START' })).toMatchObject({
      message: expect.stringMatching(/^the instance's spend limit of 0\.10 USD was reached at 20/),
      extensions: { code: 'action_failed', status: 409 },
    });
    expect(await send(renter, SET, { id, spendLimit: 0.5 })).toMatchObject({
      status: 'STOPPED',
      limitReachedAt: expect.any(String),
    });
    service.clock.advance(60);
    const again = await send(renter, ACT, { id, action: 'START' });
    expect(again).toMatchObject({ status: 'RUNNING', spendLimit: 0.5 });
    expect(await send(renter, SET, { id, spendLimit: null })).toMatchObject({ spendLimit: null, limitReachedAt: null });
    service.clock.advance(86_400);
    expect(await shown(renter, id)).toMatchObject({ status: 'RUNNING' });
  });

  it('stops the instance in the current second if it is already exceeded when set', async () => {
    const renter = await service.renter('100');
    const { id } = await deploy(renter);
    service.clock.advance(3_600.4);
    expect(await send(renter, SET, { id, spendLimit: 0.2 })).toMatchObject({
      status: 'STOPPED',
      stopReason: 'SPEND_LIMIT',
      stoppedAt: at(now() + 1n),
      limitReachedAt: at(now()),
    });
  });

  it('must cover at least a minute, and is rejected with its bounds if invalid', async () => {
    const renter = await service.renter('100');
    expect(await deploy(renter, { spendLimit: 0.007 })).toMatchObject({
      message: "the instance's spend limit of 0.007 USD would be reached within 60 s; 0.00 USD are already spent",
      extensions: { code: 'deploy_failed', status: 409 },
    });
    for (const spendLimit of [-1, 1e9, 0.0000001])
      expect((await deploy(renter, { spendLimit })).message).toMatch(
        /^spendLimit must be a number from 0 to 1000000 with at most 6 decimals/,
      );
    const stranger = await service.renter('1');
    const { id } = await deploy(renter);
    expect(await send(stranger, SET, { id, spendLimit: 0 })).toMatchObject({ extensions: { code: 'not_found' } });
    await renter.rest('DELETE', `/instances/${id}`);
    expect(await send(renter, SET, { id, spendLimit: 1 })).toMatchObject({ extensions: { code: 'action_failed' } });
  });
});

describe("an account's monthly limit", () => {
  it('stops all instances in one second, refuses new ones, and resets every month', async () => {
    const renter = await service.renter('1000');
    const ids = [(await deploy(renter)).id, (await deploy(renter)).id];
    const begun = now();
    const limited = await send(renter, SET_ACCOUNT, { monthlyLimit: 1 });
    // Two instances cost 0.447 per hour each.
    expect(limited).toEqual({ monthlyLimit: 1, monthSpend: 0, limitReachedAt: at(begun + 4_026n) });
    service.clock.advance(86_400);
    await settleDue(service.deps);
    for (const id of ids)
      expect(await shown(renter, id)).toMatchObject({ stopReason: 'SPEND_LIMIT', stoppedAt: at(begun + 4_026n) });
    expect(await account(renter)).toMatchObject({ monthlyLimit: 1, limitReachedAt: at(begun + 4_026n) });
    expect((await deploy(renter)).message).toMatch(/^the account's monthly limit of 1\.00 USD was reached at /);
    const canStart = await send(renter, `{ instance(id: "${ids[0]}") { canStart { allowed refusal { message } } } }`);
    expect(canStart.canStart ?? canStart).toMatchObject({
      allowed: false,
      refusal: { message: expect.stringMatching(/^the account's/) },
    });
    service.clock.set(BigInt(Date.UTC(2026, 11, 1, 0, 0, 5) / 1000));
    expect((await send(renter, ACT, { id: ids[0], action: 'START' })).status).toBe('RUNNING');
    expect((await account(renter)).limitReachedAt > at(now())).toBe(true);
    // The other instance's disk in this month counts.
    expect(await send(renter, SET_ACCOUNT, {})).toMatchObject({ monthlyLimit: null, limitReachedAt: null });
  });
});

describe("an API key's monthly limit", () => {
  it('stops only instances started by the key, in the second it is reached', async () => {
    const { owner, small, id } = await withKeys();
    const [mine, ofKey] = [(await deploy(owner)).id, (await deploy(small)).id];
    const begun = now();
    expect(await send(owner, SET_KEY, { id, monthlyLimit: 0.5 })).toEqual({
      id,
      monthlyLimit: 0.5,
      monthSpend: 0,
      limitReachedAt: at(begun + 4_026n),
    });
    service.clock.advance(2 * 86_400);
    expect(await shown(owner, ofKey)).toMatchObject({ stopReason: 'SPEND_LIMIT', stoppedAt: at(begun + 4_026n) });
    expect((await shown(owner, mine)).status).toBe('RUNNING');
    const keys = await send(owner, '{ apiKeys { id monthlyLimit monthSpend limitReachedAt } }');
    // The spend is GPU and disk up to the limit, and only the disk afterwards.
    expect(keys.find((key: Any) => key.id === id)).toMatchObject({
      monthlyLimit: 0.5,
      limitReachedAt: at(begun + 4_026n),
      monthSpend: expect.closeTo(0.4999 + (0.007 * (2 * 86_400 - 4_026)) / 3_600, 3),
    });
    expect((await deploy(small)).message).toMatch(/^the API key's monthly limit of 0\.50 USD was reached at /);
    // The owner's key may start it. Its GPU then counts toward that key.
    expect((await send(owner, ACT, { id: ofKey, action: 'START' })).status).toBe('RUNNING');
    service.clock.advance(3_600);
    expect((await shown(owner, ofKey)).status).toBe('RUNNING');
  });

  it("includes other keys' instances started by the key, and spend before it was set", async () => {
    const { owner, small, id } = await withKeys();
    const { id: instance } = await deploy(owner);
    await send(owner, ACT, { id: instance, action: 'STOP' });
    service.clock.advance(2);
    await send(small, ACT, { id: instance, action: 'START' });
    const begun = now();
    service.clock.advance(3_600);
    const limited = await send(owner, SET_KEY, { id, monthlyLimit: 0.5 });
    // 0.44 per hour, since the disk counts toward the owner's key.
    expect(limited).toMatchObject({ monthSpend: 0.44, limitReachedAt: at(begun + 4_090n) });
    service.clock.advance(3_600);
    expect(await shown(owner, instance)).toMatchObject({ stopReason: 'SPEND_LIMIT', stoppedAt: at(begun + 4_090n) });
  });

  it("can't be set by a limited key or for another account's key", async () => {
    const { owner, small, id } = await withKeys();
    await send(owner, SET_KEY, { id, monthlyLimit: 5 });
    for (const [query, more] of [
      [SET_KEY, { id }],
      [SET_ACCOUNT, {}],
    ] as const)
      expect(await send(small, query, { ...more, monthlyLimit: 500 })).toMatchObject({
        extensions: { code: 'forbidden' },
      });
    expect(await send(small, 'mutation { createApiKey { secret } }')).toMatchObject({
      message: "an API key with a monthly limit can't create keys",
    });
    const stranger = await service.renter('1');
    expect(await send(stranger, SET_KEY, { id, monthlyLimit: 1 })).toMatchObject({ extensions: { code: 'not_found' } });
    expect(await send(owner, SET_KEY, { id, monthlyLimit: null })).toMatchObject({
      monthlyLimit: null,
      monthSpend: null,
    });
  });
});
