import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { createTestDatabase } from '../../support/database.js';
import { client, type Renter } from '../../support/gateway.js';
import { isLong, killsOf } from '../../support/long.js';
import { admin, openAccount } from '../../support/operator.js';
import { cleanUp, connect, type GatewayProcess, query, startProcess } from '../../support/process.js';

afterAll(cleanUp);

const KILLS = killsOf(20);
/** Maximum time from the end of the second to the commit of the stop. A busy machine gets more. */
const WITHIN_MS = isLong ? 1_000 : 20_000;
const RTX_4090_UNITS = 447_000n;

const MACHINES = `
  insert into machine (id, gpu, num_gpus, region, cpu, vcpus, ram_gb, disk_gb, net_down_mbps, net_up_mbps, ports,
    pcie, nvlink, cuda_max, reliability, state, created_at)
  select id, 'rtx-4090', 1, 'us-tx', 'AMD EPYC 9354', 32, 256, 1000, 5000, 4000, 128, 5, false, '12.8', 0.99, 'LISTED', '2026-11-01'
  from unnest($1::text[]) as id`;

interface Expected {
  id: string;
  /** The second in which the instance ends. */
  at: string;
  reason: 'DEADLINE' | 'SPEND_LIMIT';
}

/** Returns how many milliseconds after the end of its second each instance is first seen stopped. */
async function watch(url: string, expected: Expected[], done: () => boolean): Promise<number[]> {
  const late = new Map<string, number>();
  const database = await connect(url);
  while (!done() || late.size < expected.length) {
    const now = Date.now();
    const { rows } = await database.query(`select id, stop_reason, stopped_at from instance where status = 'STOPPED'`);
    for (const { id, stop_reason, stopped_at } of rows) {
      const one = expected.find((each) => each.id === id);
      if (one === undefined || late.has(one.id)) continue;
      expect([stop_reason, new Date(stopped_at as string).getTime()]).toEqual([one.reason, Date.parse(one.at)]);
      late.set(one.id, now - Date.parse(one.at) - 1_000);
    }
    await sleep(isLong ? 20 : 100);
  }
  await database.end();
  return [...late.values()];
}

/** Rents two instances that end in about three seconds, one at a deadline and one at a spend limit. */
async function rentTwo(renter: Renter, machines: string[]): Promise<Expected[]> {
  const answers = await Promise.all(
    [machines.pop(), machines.pop()].map((machine_id) => renter.rest('POST', '/instances', { machine_id })),
  );
  expect(answers.map(({ status }) => status)).toEqual([201, 201]);
  const [first, second] = answers.map(({ body }) => body.id as string);
  const micro = (RTX_4090_UNITS * 4n) / 3_600n;
  const { body } = await renter.graphql(`mutation {
    setDeadlines(id: "${first}", stopAt: "3s") { stopAt }
    setSpendLimit(id: "${second}", spendLimit: ${Number(micro) / 1e6}) { limitReachedAt } }`);
  return [
    { id: first!, at: body.data.setDeadlines.stopAt, reason: 'DEADLINE' },
    { id: second!, at: body.data.setSpendLimit.limitReachedAt, reason: 'SPEND_LIMIT' },
  ];
}

test('deadlines and limits are enforced within a second, even if gateways are killed', {
  timeout: isLong ? 1_800_000 : 240_000,
}, async () => {
  const url = await createTestDatabase();
  const env = { DATABASE_URL: url, RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'error' };
  const gateways: GatewayProcess[] = [await startProcess(env), await startProcess(env)];
  const { accountId, key } = await openAccount(env, '100000');
  const renterAt = (index: number) => client(gateways[index]!.address, key, accountId);
  const machines = Array.from({ length: 2 * KILLS + 2 }, (_, index) => `m-${String(index).padStart(8, '0')}`);
  await query(url, MACHINES, [machines]);

  const expected: Expected[] = [];
  let isOver = false;
  const watching = watch(url, expected, () => isOver);
  for (let kill = 0; kill < KILLS; kill += 1) {
    const dying = kill % 2;
    const left = renterAt(1 - dying);
    expected.push(...(await rentTwo(left, machines)));
    await sleep((kill * 2_500) / KILLS);
    await gateways[dying]!.kill();
    gateways[dying] = await startProcess(env);
    if (machines.length < 4) break;
  }
  isOver = true;
  const late = await watching;
  console.info(`noticed after ${late.map((ms) => `${ms} ms`).join(', ')}`);
  expect(Math.max(...late)).toBeLessThan(WITHIN_MS);

  const last = await rentTwo(renterAt(0), machines);
  await Promise.all(gateways.map((gateway) => gateway.kill()));
  await sleep(Math.max(...last.map(({ at }) => Date.parse(at))) + 1_500 - Date.now());
  gateways[0] = await startProcess(env);
  await watch(url, last, () => true);
  expect((await admin(['audit'], env)).stdout).toContain('no mismatch');
  await gateways[0].end();
});
