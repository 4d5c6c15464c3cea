import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { enrol } from '../../../src/domain/fleet/enrolment.js';
import { freePorts } from '../../support/free-port.js';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';
import { WireAgent } from '../../support/wire-agent.js';

const DEPLOY =
  'mutation($input: DeployInput!) { deploy(input: $input) { id tcpPorts { port host publicPort } launch { tcpPorts } } }';
const QUOTE = 'query($input: QuoteInput!) { quote(input: $input) { canDeploy refusal { message } } }';
const USED_UP = 'all TCP ports of this service are in use; try again later, or deploy without them';

describe('TCP ports in a launch', () => {
  let service: Service;
  let renter: Renter;
  let range: { from: number; to: number };
  /** Machines on which nothing has ever been rented. */
  const machines: string[] = [];

  beforeAll(async () => {
    range = await freePorts(3);
    service = await startService({ tcpPorts: range });
    renter = await service.renter('1000');
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    for (const { id } of (await renter.rest('GET', '/instances')).body.data)
      await renter.rest('DELETE', `/instances/${id}`);
    await service.sql('delete from tcp_port');
  });

  /** Returns a free machine with an agent. Machines are reused, since only a few hosts per minute may join. */
  async function machine(): Promise<string> {
    return machines.pop() ?? newMachine();
  }
  async function newMachine(): Promise<string> {
    const { code } = await enrol(service.deps, {
      machineId: null,
      gpu: null,
      region: 'us-tx',
      online: true,
      demo: false,
    });
    const agent = await WireAgent.join(service.address, code);
    await agent.report();
    await service.deps.fleet.heartbeats.flush();
    await service.deps.db.notices.caughtUp();
    return agent.machineId;
  }
  async function deploy(tcpPorts: number[], caller = renter) {
    const machineId = await machine();
    const { body } = await caller.graphql(DEPLOY, { input: { machineId, launch: { tcpPorts } } });
    if (body.errors !== undefined) machines.push(machineId);
    return body.errors === undefined ? body.data.deploy : body.errors[0];
  }

  it('are shown in the launch, and in the instance until it is destroyed', async () => {
    const { id, tcpPorts, launch } = await deploy([5432, 22]);
    expect(launch.tcpPorts).toEqual([5432, 22]);
    expect(tcpPorts.map(({ port, host }: { port: number; host: string }) => [port, host])).toEqual([
      [22, 'gpu.localhost'],
      [5432, 'gpu.localhost'],
    ]);
    const shown = `{ instance(id: "${id}") { tcpPorts { port host publicPort } } }`;
    await renter.rest('POST', `/instances/${id}/actions`, { action: 'stop' });
    expect((await renter.graphql(shown)).body.data.instance.tcpPorts).toEqual(tcpPorts);
    await renter.rest('DELETE', `/instances/${id}`);
    expect((await renter.graphql(shown)).body.data.instance.tcpPorts).toEqual([]);
  });

  it('are refused before renting, and in quotes, if all ports are in use', async () => {
    await deploy([1, 2]);
    expect(await deploy([3, 4])).toMatchObject({ message: USED_UP, extensions: { code: 'deploy_failed' } });
    const { body } = await renter.graphql(QUOTE, {
      input: { machineId: await machine(), launch: { tcpPorts: [3, 4] } },
    });
    expect(body.data.quote).toEqual({ canDeploy: false, refusal: { message: USED_UP } });
    expect((await renter.rest('GET', '/instances')).body.data).toHaveLength(1);
    expect(await deploy([3])).toMatchObject({ launch: { tcpPorts: [3] } });
  });

  it('are each assigned only once, even with concurrent requests', async () => {
    const renters = await Promise.all(Array.from({ length: 6 }, () => service.renter('1000')));
    while (machines.length < renters.length) machines.unshift(await newMachine());
    const answers = await Promise.all(renters.map((caller) => deploy([1], caller)));
    const assigned = answers.flatMap(({ tcpPorts = [] }) =>
      tcpPorts.map(({ publicPort }: { publicPort: number }) => publicPort),
    );
    expect(assigned.sort()).toEqual([range.from, range.from + 1, range.to]);
    expect(answers.filter(({ message }) => message === USED_UP)).toHaveLength(3);
    expect(
      await service.sql(`select id from instance where account_id = any($1) and status = 'RUNNING'`, [
        renters.map(({ accountId }) => accountId),
      ]),
    ).toHaveLength(3);
  });

  it('are not reassigned for an hour after their release', async () => {
    const first = await deploy([1, 2, 3]);
    await renter.rest('DELETE', `/instances/${first.id}`);
    expect(await deploy([1])).toMatchObject({ message: USED_UP });
    const rest = (seconds: number) =>
      service.sql(`update instance set destroyed_at = destroyed_at - $2 * interval '1 second' where id = $1`, [
        first.id,
        seconds,
      ]);
    await rest(3_590);
    expect(await deploy([1])).toMatchObject({ message: USED_UP });
    await rest(20);
    expect((await deploy([1])).tcpPorts).toHaveLength(1);
  });

  it.each([
    [[1, 1], 'tcpPorts must not repeat port 1'],
    [[0], 'tcpPorts[0] must be a whole number from 1 to 65535'],
    [[1, 2, 3, 4, 5, 6], 'tcpPorts must be a list of at most 5 ports'],
  ])('are rejected if given as %j', async (ports, message) => {
    expect(await deploy(ports)).toMatchObject({
      message: expect.stringContaining(message),
      extensions: { code: 'invalid_request' },
    });
  });

  it('are limited to 50 per account, including released ones', async () => {
    const { id } = await deploy([1]);
    await service.sql(
      'insert into tcp_port (public_port, instance_id, port) select 40000 + n, $1, 100 + n from generate_series(1, 48) n',
      [id],
    );
    const message = 'the account can have at most 50 TCP ports; a released one counts for another hour';
    expect(await deploy([1, 2])).toMatchObject({ message });
    await renter.rest('DELETE', `/instances/${id}`);
    expect(await deploy([1, 2])).toMatchObject({ message });
  });

  it('are refused if the service has no ports to assign', async () => {
    const without = await startService();
    try {
      const caller = await without.renter('1000');
      const input = { machineId: await without.machine(), launch: { tcpPorts: [1] } };
      const { body } = await caller.graphql(QUOTE, { input });
      expect(body.data.quote.refusal).toEqual({ message: 'this service has no TCP ports' });
    } finally {
      await without.close();
    }
  });
});
