import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { settleDue } from '../../../src/domain/billing/settlement.js';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

const SHOWN = 'id status stopReason stopAt destroyAt stoppedAt';
const DEPLOY = `mutation($input: DeployInput!) { deploy(input: $input) { ${SHOWN} } }`;
const SET = `mutation($id: ID!, $stopAt: String, $destroyAt: String) {
  setDeadlines(id: $id, stopAt: $stopAt, destroyAt: $destroyAt) { ${SHOWN} } }`;

// biome-ignore lint/suspicious/noExplicitAny: responses have any shape
type Any = any;

let service: Service;
let renter: Renter;

beforeAll(async () => {
  service = await startService();
  renter = await service.renter('1000');
});
afterAll(() => service.close());

async function send(caller: Renter, query: string, variables: Record<string, unknown>) {
  const { body } = await caller.graphql(query, variables);
  return body.errors === undefined ? Object.values<Any>(body.data)[0] : body.errors[0];
}

async function deploy(more: object) {
  return send(renter, DEPLOY, { input: { machineId: await service.machine(), ...more } });
}

const shown = (id: string) => send(renter, `{ instance(id: "${id}") { ${SHOWN} } }`, {});
const inSeconds = (seconds: bigint) =>
  new Date(Number(service.clock.now() + seconds) * 1000).toISOString().replace('.000', '');

describe('deadlines', () => {
  it('can be set on deploy in both APIs, as a duration or an instant', async () => {
    const stopAt = inSeconds(28_800n);
    expect(await deploy({ stopAt: '8h', destroyAt: inSeconds(90_000n) })).toMatchObject({
      status: 'RUNNING',
      stopAt,
      destroyAt: inSeconds(90_000n),
    });
    const machine_id = await service.machine();
    const { status, body } = await renter.rest('POST', '/instances', { machine_id, stop_at: '8h', destroy_at: null });
    expect(status).toBe(201);
    // The contract's response does not change.
    expect(Object.keys(body)).not.toContain('stop_at');
    expect(await shown(body.id)).toMatchObject({ stopAt, destroyAt: null });
  });

  it('are compared exactly as written when an idempotency key is reused', async () => {
    const machine_id = await service.machine();
    const headers = { 'idempotency-key': 'deadline-1' };
    const first = await renter.rest('POST', '/instances', { machine_id, stop_at: '1h' }, headers);
    service.clock.advance(5);
    expect((await renter.rest('POST', '/instances', { machine_id, stop_at: '1h' }, headers)).body.id).toBe(
      first.body.id,
    );
    const other = await renter.rest('POST', '/instances', { machine_id, stop_at: '2h' }, headers);
    expect([other.status, other.body.error?.code ?? other.body.code]).toEqual([422, 'idempotency_mismatch']);
  });

  it('end the instance at exactly their second, even if nothing is read for days', async () => {
    const { id, stopAt } = await deploy({ stopAt: '90m' });
    service.clock.advance(3 * 86_400);
    expect(await shown(id)).toMatchObject({
      status: 'STOPPED',
      stopReason: 'DEADLINE',
      stoppedAt: stopAt,
      stopAt: null,
    });
  });

  it('are settled by the sweep', async () => {
    const { id, destroyAt } = await deploy({ destroyAt: '10s' });
    service.clock.advance(11);
    await settleDue(service.deps);
    const row = await service.deps.db.prisma.instance.findUniqueOrThrow({ where: { id } });
    expect(row).toMatchObject({ status: 'DESTROYED', stopReason: 'DEADLINE', destroyedAt: new Date(destroyAt) });
  });

  it('free the machine for the next renter', async () => {
    const machineId = await service.machine();
    const { id } = await send(renter, DEPLOY, { input: { machineId, stopAt: '1m' } });
    service.clock.advance(61);
    expect((await send(await service.renter('100'), DEPLOY, { input: { machineId } })).status).toBe('RUNNING');
    expect(await shown(id)).toMatchObject({ status: 'STOPPED', stopReason: 'DEADLINE' });
  });

  it('can be set, moved and removed later, and stay unchanged if omitted', async () => {
    const { id } = await deploy({});
    expect(await send(renter, SET, { id, stopAt: '1h', destroyAt: '2h' })).toMatchObject({
      stopAt: inSeconds(3_600n),
      destroyAt: inSeconds(7_200n),
    });
    expect(await send(renter, SET, { id, stopAt: null })).toMatchObject({ stopAt: null, destroyAt: inSeconds(7_200n) });
    expect(await send(renter, SET, { id, destroyAt: '30m' })).toMatchObject({ destroyAt: inSeconds(1_800n) });
    await send(renter, SET, { id, destroyAt: null });
    service.clock.advance(86_400);
    expect(await shown(id)).toMatchObject({ status: 'RUNNING', stopAt: null, destroyAt: null });
  });

  it("can't be set on other accounts' instances", async () => {
    const { id } = await deploy({});
    const stranger = await service.renter('1');
    for (const unknown of [id, 'i-00000000', 'x'])
      expect(await send(stranger, SET, { id: unknown, destroyAt: '1s' })).toMatchObject({
        message: 'no such instance',
        extensions: { code: 'not_found' },
      });
    expect((await shown(id)).destroyAt).toBeNull();
  });

  it('are rejected with their bounds before renting if they are invalid', async () => {
    const before = (await renter.rest('GET', '/instances')).body.data.length;
    for (const stopAt of ['soon', '0s', '2020-01-01T00:00:00Z', '367d', 'x'.repeat(100)]) {
      const refused = await deploy({ stopAt });
      expect(refused).toMatchObject({ extensions: { code: 'invalid_request', status: 422 } });
      expect(refused.message).toMatch(
        /^stopAt must be .*later than now, and? ?at most 366 days ahead|^stopAt must be a time/,
      );
    }
    expect(await deploy({ mode: 'RESERVED', destroyAt: '1h' })).toMatchObject({
      message: 'destroyAt must not be set for a reserved instance, because destroying it may cost its discount',
    });
    expect((await renter.rest('GET', '/instances')).body.data.length).toBe(before);
    const { id } = await deploy({});
    await renter.rest('DELETE', `/instances/${id}`);
    expect(await send(renter, SET, { id, stopAt: '1h' })).toMatchObject({ extensions: { code: 'action_failed' } });
  });
});
