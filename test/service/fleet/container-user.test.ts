import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { enrol } from '../../../src/domain/fleet/enrolment.js';
import { seen } from '../../support/agent.js';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';
import { WireAgent } from '../../support/wire-agent.js';

const DEPLOY = 'mutation($input: DeployInput!) { deploy(input: $input) { id launch { user } } }';
const DEPLOY_BEST = 'mutation($input: DeployBestInput!) { deployBest(input: $input) { id machine { id } } }';
const QUOTE = 'query($input: QuoteInput!) { quote(input: $input) { canDeploy refusal { code message } } }';
const BEST = 'query($input: QuoteInput!) { quote(input: $input) { machineId } }';
const OFFERS = `query($filter: OfferFilterInput) {
  offerSearch(filter: $filter, first: 100) { edges { node { machineId fuse } } } }`;

// biome-ignore lint/suspicious/noExplicitAny: answers have any shape
type Any = any;

let service: Service;
let renter: Renter;

beforeAll(async () => {
  service = await startService();
  renter = await service.renter('1000');
});
afterAll(() => service.close());

async function send(query: string, variables: Record<string, unknown> = {}): Promise<Any> {
  const { body } = await renter.graphql(query, variables);
  return body.errors === undefined ? Object.values<Any>(body.data)[0] : body.errors[0];
}

async function join(region: string, features: { users?: boolean; fuse?: boolean } = {}): Promise<WireAgent> {
  // The number of joins per network and minute is limited.
  service.clock.advance(61);
  const input = { machineId: null, gpu: null, region, online: true, demo: false };
  const agent = Object.assign(await WireAgent.join(service.address, (await enrol(service.deps, input)).code), features);
  await reported(agent);
  return agent;
}

async function reported(agent: WireAgent, ...instances: Parameters<WireAgent['report']>): Promise<void> {
  await agent.report(...instances);
  await service.deps.fleet.heartbeats.flush();
  await service.deps.db.notices.caughtUp();
}

describe("a launch's user", () => {
  it('is sent to the host unchanged and shown to the renter', async () => {
    const agent = await join('us-tx');
    const input = { machineId: agent.machineId, launch: { user: 'root' } };
    expect(await send(QUOTE, { input })).toEqual({ canDeploy: true, refusal: null });
    const { id, launch } = await send(DEPLOY, { input });
    expect(launch).toEqual({ user: 'root' });
    expect((await agent.desired()).instances).toMatchObject([{ id, phase: 'running', user: 'root' }]);
    const { body } = await renter.rest('GET', `/instances/${id}/launch`);
    expect(body.launch.user).toBe('root');
  });

  it('is refused on hosts whose agent would ignore it, which deployBest skips', async () => {
    // No other test has a host in this region.
    const region = 'us-ca';
    const joined = [await join(region), await join(region)];
    // If offers are equal, the one with the lower id comes first.
    const [old, other] = joined.sort((one, another) => (one.machineId < another.machineId ? -1 : 1)) as [
      WireAgent,
      WireAgent,
    ];
    old.users = false;
    await reported(old);
    await reported(other);
    const launch = { user: '1000' };
    const message = `the host agent of machine ${old.machineId} is too old for a user`;
    const input = { machineId: old.machineId, launch };
    expect(await send(QUOTE, { input })).toEqual({ canDeploy: false, refusal: { code: 'deploy_failed', message } });
    expect(await send(DEPLOY, { input })).toMatchObject({ message, extensions: { code: 'deploy_failed' } });
    const any = { regions: [region], filter: { hasAgent: true } };
    expect(await send(BEST, { input: any })).toEqual({ machineId: old.machineId });
    expect(await send(BEST, { input: { ...any, launch } })).toEqual({ machineId: other.machineId });
    expect((await send(DEPLOY_BEST, { input: { ...any, launch } })).machine.id).toBe(other.machineId);
  });

  it('keeps an instance stopped while an older agent would run it as another user', async () => {
    const agent = await join('us-tx');
    const { id } = await send(DEPLOY, { input: { machineId: agent.machineId, launch: { user: 'coder' } } });
    expect((await agent.desired()).instances).toMatchObject([{ id, phase: 'running' }]);
    agent.users = false;
    await reported(agent, [seen(id, 'STARTING')]);
    expect((await agent.desired()).instances).toMatchObject([{ id, phase: 'stopped' }]);
    agent.users = true;
    await reported(agent, [seen(id, 'STOPPED')]);
    expect((await agent.desired()).instances).toMatchObject([{ id, phase: 'running', user: 'coder' }]);
    agent.users = false;
    await reported(agent, [seen(id, 'RUNNING')]);
    await renter.rest('POST', `/instances/${id}/actions`, { action: 'stop' });
    await agent.desired();
    await reported(agent, [seen(id, 'STOPPED')]);
    const { status, body } = await renter.rest('POST', `/instances/${id}/actions`, { action: 'start' });
    expect([status, body.error.code]).toEqual([409, 'action_failed']);
    expect(body.error.message).toContain('too old for a user');
  });

  it("makes a failed start the renter's responsibility, so it isn't credited", async () => {
    const agents = [await join('us-tx'), await join('us-tx')];
    // The second join advanced the clock, so the first host would soon count as unreachable.
    for (const agent of agents) await reported(agent);
    const isTemplates: unknown[] = [];
    for (const [index, launch] of [{}, { user: 'no-such-user' }].entries()) {
      const { id } = await send(DEPLOY, { input: { machineId: agents[index]!.machineId, template: 'ubuntu', launch } });
      const [start] = await service.sql('select operator_image from container_start where instance_id = $1', [id]);
      isTemplates.push(start!.operator_image);
    }
    expect(isTemplates).toEqual([true, false]);
  });
});

describe('FUSE', () => {
  const offers = async (filter: object) =>
    (await send(OFFERS, { filter: { regions: ['us-il'], hasAgent: true, ...filter } })).edges.map(
      ({ node }: Any) => node,
    );

  it('is shown and can be searched for as soon as the host reports it', async () => {
    const [without, having] = [await join('us-il'), await join('us-il', { fuse: true })];
    await reported(without);
    const [no, yes] = [
      { machineId: without.machineId, fuse: false },
      { machineId: having.machineId, fuse: true },
    ];
    expect(await offers({})).toHaveLength(2);
    expect([await offers({ fuse: true }), await offers({ fuse: false })]).toEqual([[yes], [no]]);
    const input = { regions: ['us-il'], filter: { fuse: true } };
    expect(await send(BEST, { input })).toEqual({ machineId: having.machineId });
    expect((await send(DEPLOY_BEST, { input })).machine.id).toBe(having.machineId);
    expect(await send(DEPLOY_BEST, { input })).toMatchObject({ extensions: { code: 'deploy_failed' } });
    without.fuse = true;
    await reported(without);
    expect(await offers({ fuse: true })).toEqual([{ ...no, fuse: true }]);
  });
});
