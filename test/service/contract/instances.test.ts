import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const ACTION = `mutation ($id: ID!, $action: InstanceActionKind!) { action(id: $id, action: $action) { id status } }`;
const DEPLOY = 'mutation ($input: DeployInput!) { deploy(input: $input) { id mode priceHr } }';

/** One way to act on an instance. Returns the REST status, code, message and the new state in REST's spelling. */
type Act = (renter: Renter, id: string, action: string) => Promise<Outcome>;
interface Outcome {
  status: number;
  code?: string;
  message?: string;
  state?: string;
}

const SURFACES: Readonly<Record<string, Act>> = {
  'POST actions': async (renter, id, action) => {
    const { status, body } = await renter.rest('POST', `/instances/${id}/actions`, { action });
    return status === 200 ? { status, state: body.status } : { status, ...body.error };
  },
  GraphQL: async (renter, id, action) => {
    const { body } = await renter.graphql(ACTION, { id, action: action.toUpperCase() });
    const error = body.errors?.[0];
    if (error === undefined) return { status: 200, state: body.data.action.status.toLowerCase() };
    return { status: error.extensions.status, code: error.extensions.code, message: error.message };
  },
  DELETE: async (renter, id) => {
    const { status, body } = await renter.rest('DELETE', `/instances/${id}`);
    return status === 200 ? { status, state: body.status } : { status, ...body.error };
  },
};

async function deploy(renter: Renter, machine_id: string, body: object = {}): Promise<Answer> {
  return renter.rest('POST', '/instances', { machine_id, ...body });
}

async function deployed(renter: Renter, machine_id: string, body: object = {}): Promise<string> {
  const answer = await deploy(renter, machine_id, body);
  expect([answer.status, answer.body.error]).toEqual([201, undefined]);
  return answer.body.id;
}

async function stateOf(renter: Renter, id: string): Promise<string> {
  return (await renter.rest('GET', `/instances/${id}`)).body.status;
}

const act = SURFACES['POST actions']!;

describe('state transitions', () => {
  const NEXT: Readonly<Record<string, Readonly<Record<string, string | null>>>> = {
    running: { start: null, stop: 'stopped', destroy: 'destroyed' },
    stopped: { start: 'running', stop: null, destroy: 'destroyed' },
    destroyed: { start: null, stop: null, destroy: null },
  };
  const PAIRS = Object.entries(NEXT).flatMap(([state, actions]) =>
    Object.entries(actions).flatMap(([action, next]) =>
      Object.keys(SURFACES)
        .filter((surface) => surface !== 'DELETE' || action === 'destroy')
        .map((surface) => ({ state, action, next, surface })),
    ),
  );

  it.each(PAIRS)('$action on a $state instance through $surface: $next', async ({ state, action, next, surface }) => {
    const renter = await service.renter();
    const id = await deployed(renter, await service.machine());
    if (state !== 'running') await act(renter, id, state === 'stopped' ? 'stop' : 'destroy');
    expect(await stateOf(renter, id)).toBe(state);
    const outcome = await SURFACES[surface]!(renter, id, action);
    const message = `${action} is not allowed while the instance is ${state}`;
    expect(outcome).toEqual(
      next === null ? { status: 409, code: 'action_failed', message } : { status: 200, state: next },
    );
    expect(await stateOf(renter, id)).toBe(next ?? state);
  });

  it('set runningSince on each start and clear it on a stop', async () => {
    const renter = await service.renter();
    const id = await deployed(renter, await service.machine());
    const start = service.clock.now();
    const seconds = async () => {
      const { data } = (await renter.graphql(`{ instance(id: "${id}") { runningSince } }`)).body;
      return data.instance.runningSince && Date.parse(data.instance.runningSince) / 1000 - Number(start);
    };
    expect(await seconds()).toBe(0);
    service.clock.advance(10);
    await act(renter, id, 'stop');
    expect(await seconds()).toBeNull();
    service.clock.advance(10);
    await act(renter, id, 'start');
    expect(await seconds()).toBe(20);
  });

  it('clear stopped_at on a start, set it on each stop and keep it on a destroy', async () => {
    const renter = await service.renter();
    const id = await deployed(renter, await service.machine());
    const stoppedAt = async () => (await renter.rest('GET', `/instances/${id}`)).body.stopped_at;
    const start = service.clock.now();
    const seconds = async () => {
      const at = await stoppedAt();
      return at === null ? null : Date.parse(at) / 1000 - Number(start);
    };
    service.clock.advance(10);
    await act(renter, id, 'stop');
    expect(await seconds()).toBe(10);
    service.clock.advance(10);
    await act(renter, id, 'start');
    expect(await seconds()).toBeNull();
    service.clock.advance(10);
    await act(renter, id, 'stop');
    expect(await seconds()).toBe(30);
    service.clock.advance(10);
    await act(renter, id, 'destroy');
    expect(await seconds()).toBe(30);
    const running = await deployed(renter, await service.machine());
    service.clock.advance(5);
    await act(renter, running, 'destroy');
    const ended = (await renter.rest('GET', `/instances/${running}`)).body;
    expect(Date.parse(ended.stopped_at) - Date.parse(ended.created_at)).toBe(5000);
  });
});

describe('deploy is refused with 409 deploy_failed and a reason', () => {
  async function expectRefused(renter: Renter, machine_id: string, message: string, body: object = {}): Promise<void> {
    const answer = await deploy(renter, machine_id, body);
    expect([answer.status, answer.body]).toEqual([409, { error: { code: 'deploy_failed', message } }]);
    const input = { machineId: machine_id, ...('disk_gb' in body && { diskGb: body.disk_gb }) };
    const { status, body: answered } = await renter.graphql(DEPLOY, { input });
    expect(status).toBe(200);
    expect(answered.data).toEqual({ deploy: null });
    expect(answered.errors[0]).toMatchObject({ message, extensions: { code: 'deploy_failed', status: 409 } });
  }

  it('for an unknown machine', async () => {
    await expectRefused(await service.renter(), 'm-unknown', 'machine m-unknown is not on offer');
  });

  it('for a machine that is taken, even by the same account', async () => {
    const [first, second] = [await service.renter(), await service.renter()];
    const machine = await service.machine();
    await deployed(first, machine);
    await expectRefused(first, machine, `machine ${machine} is taken`);
    await expectRefused(second, machine, `machine ${machine} is taken`);
  });

  it('for a machine that is offline, drained or retired', async () => {
    const renter = await service.renter();
    const [offline, drained, retired] = [
      await service.machine({ state: 'OFFLINE' }),
      await service.machine({ state: 'DRAINED' }),
      await service.machine({ state: 'RETIRED' }),
    ];
    await expectRefused(renter, offline, `machine ${offline} is offline`);
    await expectRefused(renter, drained, `machine ${drained} is no longer listed`);
    await expectRefused(renter, retired, `machine ${retired} is no longer listed`);
  });

  it('for a disk larger than the machine’s', async () => {
    const renter = await service.renter();
    const machine = await service.machine({ diskGb: 60 });
    const message = `machine ${machine} has 60 GB of free disk, less than the 61 requested`;
    await expectRefused(renter, machine, message, { disk_gb: 61 });
    await deployed(renter, machine, { disk_gb: 60 });
  });

  it("for a disk larger than the space left by any account's stopped instances", async () => {
    const [first, second] = [await service.renter(), await service.renter()];
    const machine = await service.machine({ diskGb: 1000 });
    for (const renter of [first, second]) {
      await act(renter, await deployed(renter, machine, { disk_gb: 300 }), 'stop');
      service.clock.advance(10);
    }
    const message = `machine ${machine} has 400 GB of free disk, less than the 401 requested`;
    await expectRefused(first, machine, message, { disk_gb: 401 });
    await expectRefused(await service.renter(), machine, message, { disk_gb: 401 });
    await deployed(second, machine, { disk_gb: 400 });
  });

  it("for a balance a millionth below an hour's cost, but not for one equal to it", async () => {
    const machine = await service.machine();
    const short = await service.renter('2.196999');
    const message = 'balance too low: 2.196999 USD does not cover 1 h for all instances, which costs 2.197 USD';
    await expectRefused(short, machine, message);
    await deployed(await service.renter('2.197'), machine);
  });

  it('for a balance below the hourly cost of the new instance and all others', async () => {
    const renter = await service.renter('4.394');
    await deployed(renter, await service.machine());
    await deployed(renter, await service.machine());
    service.clock.advance(1);
    const refused = await deploy(renter, await service.machine());
    expect(refused.body.error.message).toMatch(
      /^balance too low: 4\.392\d+ USD does not cover 1 h for all instances, which costs 6\.591 USD$/,
    );
  });

  it("for a balance below the hourly cost, including stopped instances' disks", async () => {
    const renter = await service.renter('2.3');
    const stopped = await deployed(renter, await service.machine(), { disk_gb: 400 });
    await act(renter, stopped, 'stop');
    const refused = await deploy(renter, await service.machine(), { disk_gb: 391 });
    expect(refused.body.error.message).toBe(
      'balance too low: 2.30 USD does not cover 1 h for all instances, which costs 2.30074 USD',
    );
    await deployed(renter, await service.machine(), { disk_gb: 385 });
  });

  it('for more than 1,000 undestroyed instances', async () => {
    const renter = await service.renter();
    const set = (live: number) =>
      service.sql('update account set live_instances = $2, deployed_instances = 5000 where id = $1', [
        renter.accountId,
        live,
      ]);
    const machine = await service.machine();
    await set(1000);
    await expectRefused(renter, machine, 'the account has 1000 active instances, the maximum; destroy one first');
    await set(999);
    await deployed(renter, machine);
  });

  it('without occupying the machine or charging anything', async () => {
    const machine = await service.machine();
    const poor = await service.renter('1');
    await deploy(poor, machine);
    service.clock.advance(3600);
    expect((await poor.rest('GET', '/balance')).body).toMatchObject({ balance: 1, month_spend: 0 });
    expect((await poor.rest('GET', '/instances')).body.data).toEqual([]);
    await deployed(await service.renter(), machine);
  });
});

describe('a start', () => {
  it('occupies the machine again at the locked rate', async () => {
    const renter = await service.renter();
    const machine = await service.machine();
    const id = await deployed(renter, machine);
    await act(renter, id, 'stop');
    expect(await act(renter, id, 'start')).toEqual({ status: 200, state: 'running' });
    expect((await deploy(await service.renter(), machine)).body.error.message).toBe(`machine ${machine} is taken`);
  });

  it.each(Object.entries(SURFACES).filter(([name]) => name !== 'DELETE'))(
    'is refused while another instance occupies the machine (%s)',
    async (_, start) => {
      const [first, second] = [await service.renter(), await service.renter()];
      const machine = await service.machine();
      const id = await deployed(first, machine);
      await act(first, id, 'stop');
      const other = await deployed(second, machine);
      const message = `machine ${machine} is taken`;
      expect(await start(first, id, 'start')).toEqual({ status: 409, code: 'action_failed', message });
      expect(await stateOf(first, id)).toBe('stopped');
      await act(second, other, 'destroy');
      expect(await start(first, id, 'start')).toEqual({ status: 200, state: 'running' });
    },
  );

  it('is refused if the balance covers less than an hour or the machine is offline', async () => {
    const renter = await service.renter('2.2');
    const machine = await service.machine();
    const id = await deployed(renter, machine);
    service.clock.advance(10);
    await act(renter, id, 'stop');
    const message = expect.stringMatching(
      /^balance too low: 2\.1938\d+ USD does not cover 1 h for all instances, which costs 2\.197 /,
    );
    expect(await act(renter, id, 'start')).toEqual({ status: 409, code: 'action_failed', message });
    await service.sql(`update machine set state = 'OFFLINE' where id = $1`, [machine]);
    const offline = await act(renter, id, 'start');
    expect(offline).toEqual({ status: 409, code: 'action_failed', message: `machine ${machine} is offline` });
    expect(await stateOf(renter, id)).toBe('stopped');
  });
});

describe('interruptible instances', () => {
  it.each(['od', 'res'])('yield immediately to a %s deploy and keep their disk', async (type) => {
    const [spot, onDemand] = [await service.renter(), await service.renter()];
    const machine = await service.machine();
    const id = await deployed(spot, machine, { type: 'interruptible' });
    service.clock.advance(30);
    await deployed(onDemand, machine, { type });
    const { body } = await spot.graphql(`{ instance(id: "${id}") { status stopReason stoppedAt createdAt diskGb } }`);
    const { stoppedAt, createdAt, ...rest } = body.data.instance;
    expect(rest).toEqual({ status: 'STOPPED', stopReason: 'PREEMPTED', diskGb: 50 });
    expect(Date.parse(stoppedAt) - Date.parse(createdAt)).toBe(30_000);
    expect((await act(spot, id, 'start')).message).toBe(`machine ${machine} is taken`);
  });

  it('yield to an on-demand start, but never to another interruptible instance', async () => {
    const [onDemand, spot, late] = [await service.renter(), await service.renter(), await service.renter()];
    const machine = await service.machine();
    const id = await deployed(onDemand, machine);
    await act(onDemand, id, 'stop');
    const held = await deployed(spot, machine, { type: 'interruptible' });
    const refused = await deploy(late, machine, { type: 'interruptible' });
    expect(refused.body.error).toEqual({ code: 'deploy_failed', message: `machine ${machine} is taken` });
    expect(await stateOf(spot, held)).toBe('running');
    expect(await act(onDemand, id, 'start')).toEqual({ status: 200, state: 'running' });
    expect([await stateOf(onDemand, id), await stateOf(spot, held)]).toEqual(['running', 'stopped']);
    expect((await act(spot, held, 'start')).message).toBe(`machine ${machine} is taken`);
  });

  it('yield to a start by the same account', async () => {
    const renter = await service.renter();
    const machine = await service.machine();
    const onDemand = await deployed(renter, machine);
    await act(renter, onDemand, 'stop');
    const spot = await deployed(renter, machine, { type: 'interruptible' });
    expect(await act(renter, onDemand, 'start')).toEqual({ status: 200, state: 'running' });
    expect([await stateOf(renter, onDemand), await stateOf(renter, spot)]).toEqual(['running', 'stopped']);
    expect((await act(renter, spot, 'start')).message).toBe(`machine ${machine} is taken`);
  });

  it('yield to a deploy by the same account, whose balance must cover only one of them', async () => {
    const renter = await service.renter('2.204');
    const machine = await service.machine();
    const spot = await deployed(renter, machine, { type: 'interruptible' });
    await deployed(renter, machine);
    expect(await stateOf(renter, spot)).toBe('stopped');
  });

  it('hide their machine from the offers unless GraphQL requests preemptible ones', async () => {
    const renter = await service.renter();
    const machineId = await service.machine({ gpu: 'a30', region: 'eu-pl-waw' });
    await deployed(renter, machineId, { type: 'interruptible' });
    const listed = async (extra: string) => {
      const query = `{ offers(gpu: "a30", region: "eu-pl-waw", limit: 100${extra}) { machineId preemptible } }`;
      const { body } = await service.anyone.graphql(query);
      return body.data.offers.find((offer: { machineId: string }) => offer.machineId === machineId);
    };
    expect(await listed('')).toBeUndefined();
    expect(await listed(', includePreemptible: true')).toEqual({ machineId, preemptible: true });
    const held = await service.machine({ gpu: 'a30', region: 'eu-pl-waw' });
    await deployed(renter, held);
    const { body } = await service.anyone.graphql(
      '{ offers(gpu: "a30", region: "eu-pl-waw", limit: 100, includePreemptible: true) { machineId } }',
    );
    expect(body.data.offers.map((offer: { machineId: string }) => offer.machineId)).not.toContain(held);
  });

  it('are not preempted by an account whose balance is too low', async () => {
    const [spot, poor] = [await service.renter(), await service.renter('1')];
    const machine = await service.machine();
    const id = await deployed(spot, machine, { type: 'interruptible' });
    expect((await deploy(poor, machine)).body.error.message).toMatch(/^balance too low/);
    expect(await stateOf(spot, id)).toBe('running');
  });
});

describe('preempting another account’s instance', () => {
  it('needs a balance for a full hour, regardless of what the other account pays', async () => {
    const stranger = await service.renter();
    const machine = await service.machine();
    const id = await deployed(stranger, machine, { type: 'interruptible' });
    service.clock.advance(10);
    const short = await service.renter('2.196999');
    const refused = await deploy(short, machine);
    expect(refused.body.error).toEqual({
      code: 'deploy_failed',
      message: 'balance too low: 2.196999 USD does not cover 1 h for all instances, which costs 2.197 USD',
    });
    expect(await stateOf(stranger, id)).toBe('running');
    await deployed(await service.renter('2.197'), machine);
    expect(await stateOf(stranger, id)).toBe('stopped');
  });

  it('needs the same balance when starting a stopped instance', async () => {
    const [renter, stranger] = [await service.renter('2.3'), await service.renter()];
    const machine = await service.machine();
    const id = await deployed(renter, machine);
    service.clock.advance(600);
    await act(renter, id, 'stop');
    service.clock.advance(1);
    const held = await deployed(stranger, machine, { type: 'interruptible' });
    expect(await act(renter, id, 'start')).toMatchObject({
      code: 'action_failed',
      message: expect.stringMatching(
        /^balance too low: 1\.93\d+ USD does not cover 1 h for all instances, which costs 2\.197 USD$/,
      ),
    });
    expect([await stateOf(renter, id), await stateOf(stranger, held)]).toEqual(['stopped', 'running']);
  });
});

describe('a suspended account', () => {
  /**
   * Suspends the account as another gateway would. The notice has not arrived yet, so the key is still cached as
   * accepted.
   */
  async function suspendUnnoticed(renter: Renter): Promise<void> {
    const client = await service.deps.db.pool.connect();
    try {
      await client.query('begin');
      await client.query('set local session_replication_role = replica');
      await client.query('update account set suspended_at = settled_at where id = $1', [renter.accountId]);
      await client.query('commit');
    } finally {
      client.release();
    }
  }

  it("can't rent, start, stop or destroy anything, even with a cached key", async () => {
    const renter = await service.renter();
    const [running, stopped] = [
      await deployed(renter, await service.machine()),
      await deployed(renter, await service.machine()),
    ];
    await act(renter, stopped, 'stop');
    const free = await service.machine();
    await suspendUnnoticed(renter);
    const refused = { status: 401, code: 'unauthorized' };
    const answer = await deploy(renter, free);
    expect([answer.status, answer.body.error.code]).toEqual([401, 'unauthorized']);
    for (const surface of ['POST actions', 'GraphQL']) {
      expect(await SURFACES[surface]!(renter, stopped, 'start')).toMatchObject(refused);
      expect(await SURFACES[surface]!(renter, running, 'stop')).toMatchObject(refused);
    }
    expect(await SURFACES.DELETE!(renter, running, 'destroy')).toMatchObject(refused);
    const best = 'mutation { deployBest(input: { filter: { numMin: 1 } }) { id } }';
    for (const query of [best, `mutation { deploy(input: { machineId: "${free}" }) { id } }`]) {
      const { body } = await renter.graphql(query);
      expect(body.errors?.[0].extensions).toEqual({ code: 'unauthorized', status: 401 });
    }
    const rows = await service.sql('select id, status from instance where account_id = $1', [renter.accountId]);
    expect(new Map(rows.map(({ id, status }) => [id, status]))).toEqual(
      new Map([
        [running, 'RUNNING'],
        [stopped, 'STOPPED'],
      ]),
    );
  });
});

describe('reserved instances', () => {
  const TERM = '{ instances { id reservedUntil earlyExitCost } }';

  it('are committed for three calendar months plus the time they are stopped', async () => {
    const own = await startService();
    own.clock.set('2026-11-30T10:20:30Z');
    const renter = await own.renter('100000');
    const id = await deployed(renter, await own.machine(), { type: 'res' });
    const until = async () => (await renter.graphql(TERM)).body.data.instances[0].reservedUntil;
    expect(await until()).toBe('2027-02-28T10:20:30Z');
    own.clock.advance(3600);
    expect(await until()).toBe('2027-02-28T10:20:30Z');
    await act(renter, id, 'stop');
    own.clock.advance(100);
    expect(await until()).toBe('2027-02-28T10:22:10Z');
    await act(renter, id, 'start');
    own.clock.advance(50);
    expect(await until()).toBe('2027-02-28T10:22:10Z');
    own.clock.set('2027-02-28T10:22:09Z');
    expect((await renter.graphql(TERM)).body.data.instances[0].earlyExitCost).toBeGreaterThan(1600);
    own.clock.set('2027-02-28T10:22:10Z');
    expect((await renter.graphql(TERM)).body.data.instances[0].earlyExitCost).toBe(0);
    const before = (await renter.rest('GET', '/balance')).body.balance;
    expect(await act(renter, id, 'destroy')).toEqual({ status: 200, state: 'destroyed' });
    expect((await renter.rest('GET', '/balance')).body.balance).toBe(before);
    await own.close();
  });

  it('are charged the announced early-exit cost if destroyed early', async () => {
    const renter = await service.renter();
    const id = await deployed(renter, await service.machine({ numGpus: 2 }), { type: 'res' });
    service.clock.advance(5400);
    const [instance] = (await renter.graphql(TERM)).body.data.instances;
    expect(instance.earlyExitCost).toBe(2.2995);
    expect((await renter.rest('GET', '/balance')).body).toMatchObject({ balance: 95.719, month_spend: 4.281 });
    await renter.rest('DELETE', `/instances/${id}`);
    expect((await renter.rest('GET', '/balance')).body).toMatchObject({ balance: 93.4195, month_spend: 6.5805 });
    const { body } = await renter.graphql(`{ instance(id: "${id}") { earlyExitCost usage {
      gpuSeconds diskSeconds gpuCost diskCost earlyExitCost total } } }`);
    expect(body.data.instance).toEqual({
      earlyExitCost: 0,
      usage: {
        gpuSeconds: 5400,
        diskSeconds: 5400,
        gpuCost: 4.2705,
        diskCost: 0.0105,
        earlyExitCost: 2.2995,
        total: 6.5805,
      },
    });
  });

  it("can't be destroyed early if the stated cost exceeds the balance", async () => {
    const renter = await service.renter('2');
    const id = await deployed(renter, await service.machine(), { type: 'res' });
    service.clock.advance(3600);
    const message = 'leaving the reserved term early costs 0.7665 USD, more than the balance';
    for (const surface of Object.values(SURFACES)) {
      expect(await surface(renter, id, 'destroy')).toEqual({ status: 409, code: 'action_failed', message });
    }
    expect(await stateOf(renter, id)).toBe('running');
    expect(await act(renter, id, 'stop')).toEqual({ status: 200, state: 'stopped' });
    const rich = await service.renter('2.197');
    const other = await deployed(rich, await service.machine(), { type: 'res' });
    service.clock.advance(3600);
    expect((await rich.rest('GET', '/balance')).body.balance).toBe(0.7665);
    expect(await act(rich, other, 'destroy')).toEqual({ status: 200, state: 'destroyed' });
    expect((await rich.rest('GET', '/balance')).body).toMatchObject({ balance: 0, month_spend: 2.197 });
  });
});

describe('concurrent requests', () => {
  it('to deploy the same machine have one winner', async () => {
    const renters = await Promise.all(Array.from({ length: 10 }, () => service.renter()));
    const machine = await service.machine();
    const answers = await Promise.all(renters.map((renter) => deploy(renter, machine)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)]);
  });

  it('to destroy the same instance through either API have one winner', async () => {
    const renter = await service.renter();
    const id = await deployed(renter, await service.machine());
    const surfaces = Object.values(SURFACES);
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, index) => surfaces[index % surfaces.length]!(renter, id, 'destroy')),
    );
    expect(outcomes.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)]);
  });
});
