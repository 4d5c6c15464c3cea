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

// biome-ignore lint/suspicious/noExplicitAny: answers are of every shape
type Any = any;

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  expect((await audit(service.deps)).findings).toEqual([]);
  await service.close();
});

async function ask(caller: Renter, query: string, variables: Record<string, unknown> = {}) {
  const { body } = await caller.graphql(query, variables);
  return body.errors === undefined ? Object.values<Any>(body.data)[0] : body.errors[0];
}

/** RTX 4090 at 0.44 USD an hour by the catalogue, a disk of 50 GB at 0.007: 0.447 USD an hour. */
const deploy = async (caller: Renter, more: object = {}) =>
  ask(caller, DEPLOY, { input: { machineId: await service.machine({ gpu: 'rtx-4090', numGpus: 1 }), ...more } });
const shown = (caller: Renter, id: string) => ask(caller, `{ instance(id: "${id}") { ${SHOWN} } }`);
const account = (caller: Renter) => ask(caller, '{ account { monthlyLimit monthSpend limitReachedAt } }');
const now = () => service.clock.now();
const at = (instant: bigint) => new Date(Number(instant) * 1000).toISOString().replace('.000', '');

async function withKeys() {
  const owner = await service.renter('1000');
  const made = await createApiKey(service.deps, owner.accountId, 'small');
  return { owner, small: service.withKey(made.secret), id: made.apiKey.id };
}

describe('a key that is made with a limit', () => {
  const CREATE = `mutation($monthlyLimit: Float, $idempotencyKey: String) {
    createApiKey(name: "ci", scopes: [READ, RENT], monthlyLimit: $monthlyLimit, idempotencyKey: $idempotencyKey) {
      secret apiKey { id scopes monthlyLimit monthSpend limitReachedAt } } }`;

  it('has it from its first second, once, and others of the account are as they were', async () => {
    const owner = await service.renter('100');
    const input = { monthlyLimit: 0.447, idempotencyKey: 'limited-key' };
    const { secret, apiKey } = await ask(owner, CREATE, input);
    expect(apiKey).toEqual({
      id: expect.stringMatching(/^key-/),
      scopes: ['READ', 'RENT'],
      monthlyLimit: 0.447,
      monthSpend: 0,
      limitReachedAt: null,
    });
    expect(await ask(owner, CREATE, input)).toMatchObject({
      secret: null,
      apiKey: { id: apiKey.id, monthlyLimit: 0.447 },
    });
    expect(await ask(owner, CREATE, { ...input, monthlyLimit: 1 })).toMatchObject({
      extensions: { code: 'idempotency_mismatch' },
    });
    const keys = await ask(owner, '{ apiKeys { id monthlyLimit } }');
    expect(keys.map(({ monthlyLimit }: Any) => monthlyLimit).sort()).toEqual([0.447, null]);
    const [own, limited] = [await deploy(owner), await deploy(service.withKey(secret))];
    const begun = now();
    service.clock.advance(7_200);
    expect(await shown(owner, limited.id)).toMatchObject({ stopReason: 'SPEND_LIMIT', stoppedAt: at(begun + 3_600n) });
    expect(await shown(owner, own.id)).toMatchObject({ status: 'RUNNING' });
    const noted = await ask(owner, '{ activity(first: 5) { edges { node { operation targets } } } }');
    expect(noted.edges).toContainEqual({ node: { operation: 'createApiKey', targets: [apiKey.id] } });
  });

  it('is not made at all where the account has no room, or the limit is none', async () => {
    const owner = await service.renter('100');
    const made = await Promise.all(Array.from({ length: 52 }, () => ask(owner, CREATE, { monthlyLimit: 1 })));
    expect(made.filter(({ secret }) => secret !== undefined)).toHaveLength(49);
    const codes = new Set(made.flatMap(({ extensions }) => (extensions === undefined ? [] : [extensions.code])));
    expect(codes).toEqual(new Set(['action_failed']));
    const limits = await service.sql('select count(*)::int as count from key_limit where account_id = $1', [
      owner.accountId,
    ]);
    expect(limits).toEqual([{ count: 49 }]);
    for (const monthlyLimit of [-1, 0.00000001, 1e9])
      expect(await ask(owner, CREATE, { monthlyLimit })).toMatchObject({
        extensions: { code: 'invalid_request', field: 'monthlyLimit' },
      });
  });
});

describe('the spend limit of an instance', () => {
  it('is reached at the last second that fits, which is told from the beginning, whoever looks when', async () => {
    const renter = await service.renter('100');
    const begun = now();
    const made = await deploy(renter, { spendLimit: 1 });
    // 1 USD at 0.447 an hour: 8,053 whole seconds.
    expect(made).toMatchObject({ status: 'RUNNING', spendLimit: 1, limitReachedAt: at(begun + 8_053n) });
    service.clock.advance(3 * 86_400);
    expect(await shown(renter, made.id)).toMatchObject({
      status: 'STOPPED',
      stopReason: 'SPEND_LIMIT',
      stoppedAt: at(begun + 8_053n),
      limitReachedAt: at(begun + 8_053n),
    });
    const [{ units }] = (await service.sql(
      `select -sum(units) as units from ledger_entry where instance_id = $1 and kind = 'GPU_USAGE'`,
      [made.id],
    )) as [{ units: bigint }];
    expect(BigInt(units) + 7_000n * 8_053n <= 3_600n * 1_000_000n).toBe(true);
  });

  it('on REST, part of the input of an idempotency key; the answer of the contract stays as it is', async () => {
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

  it('raised, it starts nothing; started again it runs to the new one; taken away it runs on', async () => {
    const renter = await service.renter('100');
    const { id } = await deploy(renter, { spendLimit: 0.1 });
    service.clock.advance(3_600);
    expect(await ask(renter, ACT, { id, action: 'START' })).toMatchObject({
      message: expect.stringMatching(/^the instance's spend limit of 0\.10 USD was reached at 20/),
      extensions: { code: 'action_failed', status: 409 },
    });
    expect(await ask(renter, SET, { id, spendLimit: 0.5 })).toMatchObject({
      status: 'STOPPED',
      limitReachedAt: expect.any(String),
    });
    service.clock.advance(60);
    const again = await ask(renter, ACT, { id, action: 'START' });
    expect(again).toMatchObject({ status: 'RUNNING', spendLimit: 0.5 });
    expect(await ask(renter, SET, { id, spendLimit: null })).toMatchObject({ spendLimit: null, limitReachedAt: null });
    service.clock.advance(86_400);
    expect(await shown(renter, id)).toMatchObject({ status: 'RUNNING' });
  });

  it('that is passed when it is set stops it with that second', async () => {
    const renter = await service.renter('100');
    const { id } = await deploy(renter);
    service.clock.advance(3_600.4);
    expect(await ask(renter, SET, { id, spendLimit: 0.2 })).toMatchObject({
      status: 'STOPPED',
      stopReason: 'SPEND_LIMIT',
      stoppedAt: at(now() + 1n),
      limitReachedAt: at(now()),
    });
  });

  it('leaves room for a minute, or nothing is rented; bad ones are refused with their bounds', async () => {
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
    expect(await ask(stranger, SET, { id, spendLimit: 0 })).toMatchObject({ extensions: { code: 'not_found' } });
    await renter.rest('DELETE', `/instances/${id}`);
    expect(await ask(renter, SET, { id, spendLimit: 1 })).toMatchObject({ extensions: { code: 'action_failed' } });
  });
});

describe('the monthly limit of an account', () => {
  it('stops all that runs at one second, refuses more until the month is over, and begins anew with the next', async () => {
    const renter = await service.renter('1000');
    const ids = [(await deploy(renter)).id, (await deploy(renter)).id];
    const begun = now();
    const limited = await ask(renter, SET_ACCOUNT, { monthlyLimit: 1 });
    // Two at 0.447 an hour.
    expect(limited).toEqual({ monthlyLimit: 1, monthSpend: 0, limitReachedAt: at(begun + 4_026n) });
    service.clock.advance(86_400);
    await settleDue(service.deps);
    for (const id of ids)
      expect(await shown(renter, id)).toMatchObject({ stopReason: 'SPEND_LIMIT', stoppedAt: at(begun + 4_026n) });
    expect(await account(renter)).toMatchObject({ monthlyLimit: 1, limitReachedAt: at(begun + 4_026n) });
    expect((await deploy(renter)).message).toMatch(/^the account's monthly limit of 1\.00 USD was reached at /);
    const canStart = await ask(renter, `{ instance(id: "${ids[0]}") { canStart { allowed refusal { message } } } }`);
    expect(canStart.canStart ?? canStart).toMatchObject({
      allowed: false,
      refusal: { message: expect.stringMatching(/^the account's/) },
    });
    service.clock.set(BigInt(Date.UTC(2026, 11, 1, 0, 0, 5) / 1000));
    expect((await ask(renter, ACT, { id: ids[0], action: 'START' })).status).toBe('RUNNING');
    expect((await account(renter)).limitReachedAt > at(now())).toBe(true);
    // What the other's disk took of the month counts.
    expect(await ask(renter, SET_ACCOUNT, {})).toMatchObject({ monthlyLimit: null, limitReachedAt: null });
  });
});

describe('the monthly limit of an API key', () => {
  it('stops what the key began, at its second, and nothing else', async () => {
    const { owner, small, id } = await withKeys();
    const [mine, its] = [(await deploy(owner)).id, (await deploy(small)).id];
    const begun = now();
    expect(await ask(owner, SET_KEY, { id, monthlyLimit: 0.5 })).toEqual({
      id,
      monthlyLimit: 0.5,
      monthSpend: 0,
      limitReachedAt: at(begun + 4_026n),
    });
    service.clock.advance(2 * 86_400);
    expect(await shown(owner, its)).toMatchObject({ stopReason: 'SPEND_LIMIT', stoppedAt: at(begun + 4_026n) });
    expect((await shown(owner, mine)).status).toBe('RUNNING');
    const keys = await ask(owner, '{ apiKeys { id monthlyLimit monthSpend limitReachedAt } }');
    // GPU and disk up to the limit, and the disk since.
    expect(keys.find((key: Any) => key.id === id)).toMatchObject({
      monthlyLimit: 0.5,
      limitReachedAt: at(begun + 4_026n),
      monthSpend: expect.closeTo(0.4999 + (0.007 * (2 * 86_400 - 4_026)) / 3_600, 3),
    });
    expect((await deploy(small)).message).toMatch(/^the API key's monthly limit of 0\.50 USD was reached at /);
    // The owner's key may start it: its GPU then counts for that key.
    expect((await ask(owner, ACT, { id: its, action: 'START' })).status).toBe('RUNNING');
    service.clock.advance(3_600);
    expect((await shown(owner, its)).status).toBe('RUNNING');
  });

  it('counts what it started of others, and what it spent of this month before it had a limit', async () => {
    const { owner, small, id } = await withKeys();
    const { id: instance } = await deploy(owner);
    await ask(owner, ACT, { id: instance, action: 'STOP' });
    service.clock.advance(2);
    await ask(small, ACT, { id: instance, action: 'START' });
    const begun = now();
    service.clock.advance(3_600);
    const limited = await ask(owner, SET_KEY, { id, monthlyLimit: 0.5 });
    // 0.44 an hour: the disk is the owner's.
    expect(limited).toMatchObject({ monthSpend: 0.44, limitReachedAt: at(begun + 4_090n) });
    service.clock.advance(3_600);
    expect(await shown(owner, instance)).toMatchObject({ stopReason: 'SPEND_LIMIT', stoppedAt: at(begun + 4_090n) });
  });

  it('can be set neither by such a key nor for one of another account', async () => {
    const { owner, small, id } = await withKeys();
    await ask(owner, SET_KEY, { id, monthlyLimit: 5 });
    for (const [query, more] of [
      [SET_KEY, { id }],
      [SET_ACCOUNT, {}],
    ] as const)
      expect(await ask(small, query, { ...more, monthlyLimit: 500 })).toMatchObject({
        extensions: { code: 'forbidden' },
      });
    expect(await ask(small, 'mutation { createApiKey { secret } }')).toMatchObject({
      message: "an API key with a monthly limit can't create keys",
    });
    const stranger = await service.renter('1');
    expect(await ask(stranger, SET_KEY, { id, monthlyLimit: 1 })).toMatchObject({ extensions: { code: 'not_found' } });
    expect(await ask(owner, SET_KEY, { id, monthlyLimit: null })).toMatchObject({
      monthlyLimit: null,
      monthSpend: null,
    });
  });
});
