import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { MAX_TUNNELS_PER_INSTANCE, TUNNELS_PATH } from '../../../src/agent-protocol/tunnel-protocol.js';
import { suspendAccount } from '../../../src/domain/accounts/accounts.js';
import { enrol } from '../../../src/domain/fleet/enrolment.js';
import { exchangeWebLink } from '../../../src/domain/web-ports/web-links.js';
import { seen } from '../../support/agent.js';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';
import { WireAgent } from '../../support/wire-agent.js';

const PORT = 8080;

let service: Service;
let renter: Renter;
/** Two machines, each running one of the renter's instances, and a third running another renter's instance. */
let rented: { agent: WireAgent; id: string }[];
let stranger: Renter;

beforeAll(async () => {
  service = await startService();
  renter = await service.renter('1000');
  stranger = await service.renter('1000');
  rented = [];
  for (const owner of [renter, renter, stranger]) {
    const input = { machineId: null, gpu: null, region: 'us-tx', online: true, demo: false };
    const agent = await WireAgent.join(service.address, (await enrol(service.deps, input)).code);
    await agent.report();
    await service.deps.fleet.heartbeats.flush();
    await service.deps.db.notices.caughtUp();
    const { status, body } = await owner.rest('POST', '/instances', { machine_id: agent.machineId });
    expect(status).toBe(201);
    await agent.desired();
    await agent.report([seen(body.id, 'RUNNING')]);
    rented.push({ agent, id: body.id });
  }
});
afterAll(() => service?.close());

/** Dials as an agent. Returns the gateway's first message, or the status if it refuses. */
async function dial(id: string, headers: Record<string, string>): Promise<string> {
  const socket = new WebSocket(`${service.address.replace('http', 'ws')}${TUNNELS_PATH}${id}`, { headers });
  const response = await new Promise<string>((resolve) => {
    socket.once('message', (data) => resolve(String(data)));
    socket.on('error', (error) => resolve(String(error)));
  });
  socket.terminate();
  return response;
}

describe('a tunnel', () => {
  it("can be opened only by its own machine's agent", async () => {
    const [{ agent, id }, other] = rented as [(typeof rented)[0], (typeof rented)[0]];
    const logs = renter.graphql(`{ instanceLogs(id: "${id}") { text } }`);
    const { streams } = await agent.desired(5, true);
    const { id: stream } = streams![0]!;
    expect(await dial(stream, {})).toContain('401');
    expect(await dial(stream, other.agent.headers())).toContain('404');
    expect(await dial('0'.repeat(32), agent.headers())).toContain('404');
    expect(JSON.parse(await dial(stream, agent.headers()))).toMatchObject({ type: 'open', instance: id });
    // A tunnel can't be opened a second time.
    expect(await dial(stream, agent.headers())).toContain('404');
    expect((await logs).body.errors[0].extensions.code).toBe('unavailable');
  });
});

it('an instance can have at most 256 tunnels, including requested ones', async () => {
  const [{ id }] = rented as [(typeof rented)[0]];
  const opener = { accountId: renter.accountId, apiKeyId: null, sshKeyId: null };
  const ended = new AbortController();
  const open = () =>
    service.tunnels.open({ opener, instanceId: id, target: { kind: 'port', port: PORT } }, ended.signal);
  // No agent dials in.
  const requests = Array.from({ length: MAX_TUNNELS_PER_INSTANCE + 1 }, () => open().catch(({ reason }) => reason));
  expect(await Promise.race(requests)).toBe('busy');
  ended.abort();
  const outcomes = await Promise.all(requests);
  expect(outcomes.filter((outcome) => outcome !== 'cancelled')).toEqual(['busy']);
});

describe("a web port's cookie", () => {
  it("can't be crowded out by other cookies and expires when its link's key is revoked", async () => {
    const { deps, clock } = service;
    const instanceId = rented[0]!.id;
    const { body } = await renter.graphql('mutation { createApiKey { apiKey { id } secret } }');
    const { apiKey, secret } = body.data.createApiKey;
    const linkOf = async () => {
      const mutation = `mutation { webLink(id: "${instanceId}", port: ${PORT}) { url } }`;
      const answer = await service.withKey(secret).graphql(mutation);
      return new URL(answer.body.data.webLink.url).searchParams.get('pass')!;
    };
    const exchange = (link: string) => exchangeWebLink(deps, link, instanceId, PORT);
    const admit = (...passes: string[]) => deps.visits.admit({ instanceId, port: PORT }, passes, '127.0.0.1');
    const late = await linkOf();
    clock.advance(60);
    expect(await exchange(late)).toBeNull();
    const cookie = (await exchange(await linkOf()))!;
    const spare = await linkOf();
    const others = Array.from({ length: 399 }, () => randomBytes(32).toString('base64url'));
    for (let time = 0; time < 2; time += 1)
      expect(await admit(...others, cookie)).toMatchObject({ instanceId, keyId: apiKey.id });
    await renter.graphql(`mutation { revokeApiKey(id: "${apiKey.id}") { id } }`);
    expect([await admit(cookie), await exchange(spare)]).toEqual([null, null]);
  });

  it('is valid only for its own instance and port', async () => {
    const [own, another, foreign] = rented.map(({ id }) => id) as [string, string, string];
    const { body } = await renter.graphql(`mutation { webLink(id: "${own}", port: ${PORT}) { url } }`);
    const link = new URL(body.data.webLink.url).searchParams.get('pass')!;
    for (const [id, port] of [
      [another, PORT],
      [foreign, PORT],
      [own, PORT + 1],
    ] as const)
      expect(await exchangeWebLink(service.deps, link, id, port)).toBeNull();
    const cookie = (await exchangeWebLink(service.deps, link, own, PORT))!;
    const { body: made, status } = await renter.rest('POST', `/instances/${own}/web-token`, { port: PORT });
    expect([status, made]).toMatchObject([201, { object: 'web_token', header: 'X-Web-Token' }]);
    // A program's token can't be used as a link.
    expect(await exchangeWebLink(service.deps, made.token, own, PORT)).toBeNull();
    for (const pass of [cookie, made.token]) {
      const admit = (instanceId: string, port: number) => service.deps.visits.admit({ instanceId, port }, [pass], '');
      // This is done twice because the second response is cached.
      for (let time = 0; time < 2; time += 1) {
        expect(await admit(own, PORT)).toMatchObject({ instanceId: own, port: PORT, accountId: renter.accountId });
        expect(await admit(another, PORT)).toBeNull();
        expect(await admit(foreign, PORT)).toBeNull();
        expect(await admit(own, PORT + 1)).toBeNull();
      }
    }
    service.clock.advance(86_400);
    for (const pass of [cookie, made.token])
      expect(await service.deps.visits.admit({ instanceId: own, port: PORT }, [pass], '')).toBeNull();
  });

  it('is not accepted while its account is suspended', async () => {
    const { deps } = service;
    const instanceId = rented[2]!.id;
    const { body } = await stranger.graphql(`mutation { webLink(id: "${instanceId}", port: ${PORT}) { url } }`);
    const link = new URL(body.data.webLink.url).searchParams.get('pass')!;
    const cookie = (await exchangeWebLink(deps, link, instanceId, PORT))!;
    const admit = () => deps.visits.admit({ instanceId, port: PORT }, [cookie], '');
    expect(await admit()).toMatchObject({ instanceId, accountId: stranger.accountId });
    await suspendAccount(deps, stranger.accountId);
    await deps.db.notices.caughtUp();
    expect(await admit()).toBeNull();
  });
});
