import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { enrol } from '../../../src/domain/fleet/enrolment.js';
import { stopIdle } from '../../../src/domain/fleet/idle.js';
import { seen } from '../../support/agent.js';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';
import { WireAgent } from '../../support/wire-agent.js';

const SHOWN = 'id status stopReason stopWhenIdle stoppedAt usage { gpuSeconds total }';
const DEPLOY = `mutation($input: DeployInput!) { deploy(input: $input) { ${SHOWN} } }`;
const DEPLOY_BEST = `mutation($input: DeployBestInput!) { deployBest(input: $input) { ${SHOWN} machine { id } } }`;
const QUOTE = 'query($input: QuoteInput!) { quote(input: $input) { canDeploy refusal { code message } } }';
const SET = `mutation($id: ID!, $minutes: Int) { setStopWhenIdle(id: $id, stopWhenIdle: $minutes) { ${SHOWN} } }`;
const WEBHOOK =
  'mutation { createWebhook(url: "http://127.0.0.1:9/", events: ["instance.idle_soon"]) { webhook { id } } }';

// biome-ignore lint/suspicious/noExplicitAny: responses have any shape
type Any = any;
type Busy = boolean | undefined;

let service: Service;
/** Another gateway on the same database. */
let other: Service;
let renter: Renter;

beforeAll(async () => {
  const settings = { webhookNetworks: ['127.0.0.0/8'], secretsKeys: ['ab'.repeat(32)] };
  service = await startService(settings);
  other = await startService({ ...settings, databaseUrl: service.databaseUrl });
  renter = await service.renter('1000');
  await renter.graphql(WEBHOOK);
});
afterAll(() => Promise.all([service.close(), other.close()]));

async function send(query: string, variables: Record<string, unknown> = {}): Promise<Any> {
  const { body } = await renter.graphql(query, variables);
  return body.errors === undefined ? Object.values<Any>(body.data)[0] : body.errors[0];
}

/** A machine whose agent reports what the test chooses. */
class Host {
  readonly #agent: WireAgent;
  id = '';
  start = 1;

  private constructor(agent: WireAgent) {
    this.#agent = agent;
  }

  static async join({ launches = true, region = 'us-tx' } = {}): Promise<Host> {
    const input = { machineId: null, gpu: null, region, online: true, demo: false };
    // Only a few hosts per minute may join from one network.
    for (const { clock } of [service, other]) clock.advance(61);
    const { code } = await enrol(service.deps, input);
    const agent = await WireAgent.join(service.address, code);
    agent.launches = launches;
    const host = new Host(agent);
    await host.report();
    return host;
  }

  get machineId(): string {
    return this.#agent.machineId;
  }

  async rent(stopWhenIdle: number | undefined): Promise<void> {
    const deployed = await send(DEPLOY, { input: { machineId: this.machineId, stopWhenIdle } });
    expect(deployed).toMatchObject({ status: 'RUNNING', stopWhenIdle: stopWhenIdle ?? null });
    this.id = deployed.id;
    await this.document();
  }

  async document() {
    return (await this.#agent.desired(5)).instances.find(({ id }) => id === this.id);
  }

  async report(busy?: Busy): Promise<void> {
    const { id, start } = this;
    const load = busy === undefined ? {} : { busy };
    await this.#agent.report(id === '' ? [] : [seen(id, 'RUNNING', { start, ...load })]);
    await service.deps.fleet.heartbeats.flush();
    await service.deps.db.notices.caughtUp();
  }

  /** Advances the clock by `seconds`. Every 28 s, the agent sends the same report and idle instances are stopped. */
  async pass(seconds: number, busy: Busy): Promise<void> {
    for (let left = seconds; left > 0; left -= 28) {
      advance(Math.min(left, 28));
      await this.report(busy);
      await stopIdle(service.deps);
    }
  }

  shown(): Promise<Any> {
    return send(`{ instance(id: "${this.id}") { ${SHOWN} } }`);
  }

  async warnings(): Promise<Any[]> {
    return service.sql(
      `select at, data from event where type = 'instance.idle_soon' and subject = $1 order by sequence`,
      [this.id],
    );
  }
}

function advance(seconds: number): void {
  for (const { clock } of [service, other]) clock.advance(seconds);
}
const iso = (seconds = 0n) => new Date(Number(service.clock.now() + seconds) * 1_000).toISOString().replace('.000', '');

describe('stopWhenIdle', () => {
  it('stops an instance after the idle time, with one warning two minutes earlier', async () => {
    const host = await Host.join();
    await host.rent(5);
    await host.report(false);
    const since = iso();
    await host.pass(160, false);
    expect(await host.warnings()).toEqual([]);
    await host.pass(20, false);
    const [warning, ...more] = await host.warnings();
    expect(more).toEqual([]);
    expect(warning.data).toEqual({
      instance: host.id,
      idle_since: since,
      stops_at: iso(120n),
      stop_when_idle: 5,
    });
    await host.pass(100, false);
    expect(await host.shown()).toMatchObject({ status: 'RUNNING' });
    await host.pass(20, false);
    // The run ends with the second of the decision, as with a manual stop: nothing is backdated, and running time is
    // paid.
    expect(await host.shown()).toMatchObject({ status: 'STOPPED', stopReason: 'IDLE', stoppedAt: iso() });
    expect(await host.warnings()).toHaveLength(1);
    const [usage] = await service.sql(
      `select extract(epoch from ended_at - started_at)::int * rate as units, -units as charged
       from usage_interval join ledger_entry on ledger_entry.id = $1 || '/gpu/1'
       where usage_interval.instance_id = $1 and resource = 'GPU'`,
      [host.id],
    );
    expect(usage!.units).toBe(usage!.charged);
    expect(
      await service.sql(`select id from ledger_entry where instance_id = $1 and kind = 'SERVICE_CREDIT'`, [host.id]),
    ).toEqual([]);
    const restarted = await renter.rest('POST', `/instances/${host.id}/actions`, { action: 'start' });
    expect(restarted.status).toBe(200);
    expect(await host.shown()).toMatchObject({ status: 'RUNNING', stopReason: null, stopWhenIdle: 5 });
    // Reports on the previous start don't count for this one.
    await host.report(undefined);
    await host.pass(400, false);
    expect(await host.shown()).toMatchObject({ status: 'RUNNING' });
  });

  it('restarts the idle time after load, or if the load is unknown', async () => {
    const host = await Host.join();
    await host.rent(5);
    for (const interruption of [true, undefined]) {
      await host.pass(280, false);
      await host.pass(20, interruption);
    }
    await host.pass(280, false);
    expect(await host.shown()).toMatchObject({ status: 'RUNNING' });
    expect(await host.warnings()).toHaveLength(3);
    await host.pass(100, false);
    expect(await host.shown()).toMatchObject({ status: 'STOPPED', stopReason: 'IDLE' });
  });

  it('restarts the idle time after a connection, even through another gateway', async () => {
    const host = await Host.join();
    await host.rent(5);
    await host.pass(280, false);
    const end = other.deps.fleet.connections.begin(host.id);
    await expect
      .poll(() => service.sql('select active_at from idle_watch where instance_id = $1', [host.id]), {
        timeout: 20_000,
      })
      .not.toEqual([{ active_at: null }]);
    // The earlier warning is void. An open connection is recorded every minute, which the test does here.
    for (let minutes = 0; minutes < 5; minutes += 1) {
      await host.pass(60, false);
      await other.deps.fleet.connections.write();
    }
    end();
    await host.pass(30, false);
    expect(await host.warnings()).toHaveLength(1);
    // The connection was open within this minute.
    await other.deps.fleet.connections.write();
    await host.pass(60, false);
    await other.deps.fleet.connections.write();
    await host.pass(220, false);
    expect(await host.shown()).toMatchObject({ status: 'RUNNING' });
    await host.pass(100, false);
    expect(await host.shown()).toMatchObject({ status: 'STOPPED', stopReason: 'IDLE' });
  });

  it('restarts the idle time after an outage, even if no gateway observed it', async () => {
    const host = await Host.join();
    await host.rent(5);
    await host.pass(280, false);
    advance(600);
    // The load is unknown until the first heartbeat.
    await stopIdle(service.deps);
    expect(await host.shown()).toMatchObject({ status: 'RUNNING' });
    await host.pass(280, false);
    expect(await host.shown()).toMatchObject({ status: 'RUNNING' });
    await host.pass(100, false);
    expect(await host.shown()).toMatchObject({ status: 'STOPPED', stopReason: 'IDLE' });
  });

  it('can be set, changed or removed later, and each change restarts the idle timer', async () => {
    const host = await Host.join();
    await host.rent(undefined);
    await host.pass(310, undefined);
    expect(await send(SET, { id: host.id, minutes: 8 })).toMatchObject({ stopWhenIdle: 8 });
    expect(await host.document()).toMatchObject({ watchLoad: true });
    await host.pass(450, false);
    expect(await send(SET, { id: host.id, minutes: 5 })).toMatchObject({ stopWhenIdle: 5 });
    await host.pass(280, false);
    expect(await send(SET, { id: host.id, minutes: null })).toMatchObject({ stopWhenIdle: null });
    expect(await host.document()).not.toHaveProperty('watchLoad');
    await host.pass(330, undefined);
    expect(await host.shown()).toMatchObject({ status: 'RUNNING' });
    await renter.rest('DELETE', `/instances/${host.id}`);
    expect(await send(SET, { id: host.id, minutes: 5 })).toMatchObject({ extensions: { code: 'action_failed' } });
    expect(await send(SET, { id: 'i-00000000', minutes: 5 })).toMatchObject({ extensions: { code: 'not_found' } });
  });

  it("is rejected if it is out of bounds or the agent can't measure load", async () => {
    const refused = { extensions: { code: 'invalid_request', field: 'stopWhenIdle' } };
    const bare = await service.machine();
    const input = { machineId: bare, stopWhenIdle: 30 };
    expect(await send(DEPLOY, { input })).toMatchObject(refused);
    expect(await send(QUOTE, { input })).toMatchObject({ canDeploy: false, refusal: { code: 'invalid_request' } });
    const old = await Host.join({ launches: false });
    expect(await send(DEPLOY, { input: { machineId: old.machineId, stopWhenIdle: 30 } })).toMatchObject(refused);
    const { body } = await renter.rest('POST', '/instances', { machine_id: bare });
    expect(await send(SET, { id: body.id, minutes: 30 })).toMatchObject(refused);
    for (const stopWhenIdle of [4, 1_441]) {
      const { status, body } = await renter.rest('POST', '/instances', {
        machine_id: bare,
        stop_when_idle: stopWhenIdle,
      });
      expect([status, body.error.message]).toEqual([422, 'stop_when_idle must be a whole number from 5 to 1440']);
    }
  });

  it('limits deployBest to machines whose agent measures load', async () => {
    // No other test has left an equally good host in this region.
    const region = 'us-ca';
    const host = await Host.join({ region });
    await service.machine({ region, reliability: 1 });
    const { machine } = await send(DEPLOY_BEST, { input: { stopWhenIdle: 30, regions: [region] } });
    expect(machine.id).toBe(host.machineId);
  });
});
