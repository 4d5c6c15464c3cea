import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDeps, type Deps } from '../../../src/compose/deps.js';
import { openDatabase } from '../../../src/database/database.js';
import { audit } from '../../../src/domain/billing/audit.js';
import { systemClock } from '../../../src/std/system-clock.js';
import { testSettings } from '../../support/clock.js';
import { createTestDatabase } from '../../support/database.js';
import { createRenter, type Renter } from '../../support/gateway.js';
import { type Like, onlyMachines } from '../../support/market/only-machines.js';
import { cleanUp, type GatewayProcess, startProcess } from '../../support/process.js';

describe('deployBest over two gateways', () => {
  const BEST = 'mutation($input: DeployBestInput!) { deployBest(input: $input) { id machine { id } } }';
  let databaseUrl: string;
  let gateways: GatewayProcess[];
  let deps: Deps;
  let env: Record<string, string>;
  let people: Renter[];
  let round = 0;

  beforeAll(async () => {
    databaseUrl = await createTestDatabase();
    env = { DATABASE_URL: databaseUrl, RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'error' };
    gateways = await Promise.all([startProcess(env), startProcess(env)]);
    deps = createDeps(openDatabase(databaseUrl), systemClock, testSettings());
    people = [];
    for (let index = 0; index < 100; index += 1) people.push(await createRenter(deps, gateways[index % 2]!.address));
  });
  afterAll(async () => {
    await Promise.all(gateways.map((gateway) => gateway.end()));
    await deps.db.close();
    await cleanUp();
  });

  async function machines(count: number, changes: Partial<Like> = {}): Promise<void> {
    round += 1;
    const ids = Array.from({ length: count }, (_, index) => `r${round}-${String(index).padStart(3, '0')}`);
    await onlyMachines(
      deps,
      ids.map((id) => ({ id, ...changes })),
    );
    for (const { address } of gateways) await expect.poll(() => offered(address)).toEqual(ids);
  }

  /** Returns the machine ids of a gateway's first hundred offers. */
  async function offered(address: string): Promise<string[]> {
    const { data } = await (await fetch(`${address}/v1/offers?limit=100`)).json();
    return data.map(({ machine_id }: { machine_id: string }) => machine_id);
  }

  async function ask(address: string, key: string, input: Record<string, unknown>) {
    const response = await fetch(`${address}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: BEST, variables: { input: { diskGb: 10, ...input } } }),
    });
    const { data, errors } = (await response.json()) as {
      data: { deployBest: { id: string; machine: { id: string } } | null } | null;
      errors?: { message: string; extensions: { code: string } }[];
    };
    return {
      machineId: data?.deployBest?.machine.id,
      id: data?.deployBest?.id,
      refusal: errors?.[0] && `${errors[0].extensions.code}: ${errors[0].message.slice(0, 33)}`,
    };
  }

  function tally(answers: readonly { refusal: string | undefined }[]): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { refusal = 'rented' } of answers) counts[refusal] = (counts[refusal] ?? 0) + 1;
    return counts;
  }
  const NOTHING_FITS = 'deploy_failed: no matching machine is free now: ';
  const cut = NOTHING_FITS.slice(0, 'deploy_failed: '.length + 33);

  it('rents 60 machines to 100 concurrent accounts and refuses 40 of them', async () => {
    await machines(60);
    const answers = await Promise.all(
      people.map(({ key }, index) => ask(gateways[index % 2]!.address, key, { gpus: ['rtx-4090'] })),
    );
    expect(tally(answers)).toEqual({ rented: 60, [cut]: 40 });
    expect(new Set(answers.flatMap(({ machineId }) => machineId ?? [])).size).toBe(60);
    expect((await audit(deps)).findings).toEqual([]);
  });

  it("rents 60 machines for a single account's 100 requests and refuses 40 of them", async () => {
    await machines(60);
    const { key } = await createRenter(deps, gateways[0]!.address, '1000');
    const answers = await Promise.all(
      people.map((_, index) => ask(gateways[index % 2]!.address, key, { filter: { numMax: 1 } })),
    );
    expect(tally(answers)).toEqual({ rented: 60, [cut]: 40 });
    expect(new Set(answers.flatMap(({ machineId }) => machineId ?? [])).size).toBe(60);
    expect((await audit(deps)).findings).toEqual([]);
  });

  it('never refuses an account while a machine that it can afford is free', async () => {
    await machines(10);
    const poor = await Promise.all(Array.from({ length: 20 }, () => createRenter(deps, gateways[0]!.address, '0.1')));
    const asking = [...poor.map(({ key }) => key), ...people.slice(0, 20).map(({ key }) => key)];
    const answers = await Promise.all(asking.map((key, index) => ask(gateways[index % 2]!.address, key, {})));
    expect(answers.filter(({ id }) => id !== undefined)).toHaveLength(10);
    expect((await audit(deps)).findings).toEqual([]);
  });

  it('lets 12 of 30 renters preempt 12 machines and refuses the other 18', async () => {
    await machines(12);
    const holder = await createRenter(deps, gateways[0]!.address);
    for (let index = 0; index < 12; index += 1) {
      await ask(gateways[index % 2]!.address, holder.key, { mode: 'INTERRUPTIBLE' });
    }
    const answers = await Promise.all(
      people
        .slice(0, 30)
        .map(({ key }, index) =>
          ask(gateways[index % 2]!.address, key, { filter: { includePreemptible: true }, mode: 'RESERVED' }),
        ),
    );
    expect(tally(answers)).toEqual({ rented: 12, [cut]: 18 });
    const held = await deps.db.prisma.instance.findMany({ where: { accountId: holder.accountId } });
    expect(held.map(({ stopReason }) => stopReason)).toEqual(Array(12).fill('PREEMPTED'));
    expect((await audit(deps)).findings).toEqual([]);
  });

  it('lets accounts preempt each other in a circle without visible errors', async () => {
    const circle = people.slice(40, 46);
    for (let turn = 0; turn < 5; turn += 1) {
      await machines(6);
      const first = await Promise.all(
        circle.map(({ key }, index) => ask(gateways[index % 2]!.address, key, { mode: 'INTERRUPTIBLE' })),
      );
      expect(tally(first)).toEqual({ rented: 6 });
      const then = await Promise.all(
        circle.map(({ key }, index) =>
          ask(gateways[(index + turn) % 2]!.address, key, { filter: { includePreemptible: true } }),
        ),
      );
      expect(tally(then)).toEqual({ rented: 6 });
    }
    expect((await audit(deps)).findings).toEqual([]);
  });

  it('rents 60 machines in total when 100 requests are retried after a gateway crash', async () => {
    await machines(60);
    const dying = await startProcess(env);
    const wish = (index: number) => ({ idempotencyKey: `round-${index}` });
    const lost: number[] = [];
    const told = new Map<number, string>();
    const rentedSoFar = () => deps.db.prisma.instance.count({ where: { machineId: { startsWith: `r${round}-` } } });
    const asking = people.map(async ({ key }, index) => {
      const address = index % 2 === 0 ? gateways[0]!.address : dying.address;
      const answer = await ask(address, key, wish(index)).catch(() => null);
      if (answer === null) lost.push(index);
      else if (answer.id !== undefined) told.set(index, answer.id);
    });
    while ((await rentedSoFar()) < 5);
    await dying.kill();
    await Promise.all(asking);
    expect(lost.length).toBeGreaterThan(0);
    const again = await Promise.all(
      people.map(({ key }, index) => ask(gateways[index % 2]!.address, key, wish(index))),
    );
    for (const [index, id] of told) expect(again[index]!.id).toBe(id);
    expect(tally(again)).toEqual({ rented: 60, [cut]: 40 });
    expect(await rentedSoFar()).toBe(60);
    expect((await audit(deps)).findings).toEqual([]);
  });
});
