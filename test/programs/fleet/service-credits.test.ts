import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { seen } from '../../support/agent.js';
import { createTestDatabase } from '../../support/database.js';
import { client } from '../../support/gateway.js';
import { isLong } from '../../support/long.js';
import { admin, adminJson } from '../../support/operator.js';
import { cleanUp, connect, query, startProcess, waiters } from '../../support/process.js';
import { WireAgent } from '../../support/wire-agent.js';

/** Kills per gateway, and number of gateways, each with its own database. Most of the test just waits. */
const KILLS = isLong ? 5 : 2;
const GATEWAYS = isLong ? 2 : 1;

afterAll(cleanUp);

/** Seconds not delivered because of outages and an instance's starts. */
interface Undelivered {
  id: string;
  gpu: number;
  disk: number;
}

describe('a gateway', () => {
  const times = KILLS * GATEWAYS;
  test(`neither loses nor duplicates credits if killed ${times} times before booking outages`, {
    timeout: 240_000,
  }, async () => {
    const unbooked = await Promise.all(Array.from({ length: GATEWAYS }, killAgainAndAgain));
    expect(Math.max(...unbooked)).toBeGreaterThan(0);
  });

  /** Returns how many outages were not booked yet when the gateway was killed. */
  async function killAgainAndAgain(): Promise<number> {
    const url = await createTestDatabase();
    const env = { DATABASE_URL: url, LOG_LEVEL: 'error', RATE_LIMIT_PER_MINUTE: '0' };
    let gateway = await startProcess(env);
    const account = await adminJson(['account', 'create', '--name', 'Crash', '--credit', '1000'], env);
    const { api_key } = await adminJson(['key', 'create', '--account', account.id], env);
    const renter = client(gateway.address, api_key, account.id);
    const rented: { agent: WireAgent; id: string }[] = [];
    for (let index = 0; index < KILLS; index += 1) {
      const { code } = await adminJson(['machine', 'enroll', '--region', 'us-tx', '--online'], env);
      const agent = await WireAgent.join(gateway.address, code);
      await agent.report();
      let answer = await renter.rest('POST', '/instances', { machine_id: agent.machineId });
      // The machine is offered once its first heartbeat is written, within a second.
      for (let tries = 0; answer.status !== 201 && tries < 50; tries += 1) {
        await sleep(100);
        answer = await renter.rest('POST', '/instances', { machine_id: agent.machineId });
      }
      expect(answer.status).toBe(201);
      await agent.desired();
      await agent.report([seen(answer.body.id, 'RUNNING')]);
      rented.push({ agent, id: answer.body.id });
    }
    const allReport = async () => {
      for (const { agent, id } of rented) {
        agent.address = gateway.address;
        await agent.report([seen(id, 'RUNNING')]);
      }
    };
    const open = () => query(url, 'select machine_id from machine_outage where not settled');
    let unbooked = 0;
    // Each round has its own machine, so no later outage can make up for a lost credit.
    for (const [round, { agent: returning }] of rented.entries()) {
      // In every other round, the booking is forced to wait for its account. In the remaining rounds, the gateway is
      // killed at a random moment.
      const holder = round % 2 === 0 ? await connect(url) : null;
      await holder?.query('begin');
      await holder?.query('select 1 from account where id = $1 for update', [account.id]);
      await expect
        .poll(
          async () => {
            // As if no heartbeats had arrived for that time. One that is written only now hides it, so it is repeated.
            const before = `update machine_heartbeat set seen_at = now() - interval '100 seconds' where machine_id = $1`;
            await query(url, before, [returning.machineId]);
            await allReport();
            await sleep(1_100);
            return query(url, 'select machine_id from machine_outage where machine_id = $1', [returning.machineId]);
          },
          { timeout: 20_000, interval: 0 },
        )
        .not.toEqual([]);
      if (holder === null) await sleep(Math.random() * 6_500);
      else await expect.poll(() => waiters(holder), { timeout: 10_000 }).toBeGreaterThan(0);
      await gateway.kill();
      unbooked += (await open()).length;
      await holder?.query('rollback');
      await holder?.end();
      gateway = await startProcess(env);
      await allReport();
    }
    await expect.poll(open, { timeout: 20_000, interval: 200 }).toEqual([]);

    expect(await booked(url)).toEqual(await undelivered(url));
    expect((await admin(['audit'], env)).stdout).toContain('no mismatch');
    await gateway.end();
    return unbooked;
  }
});

/** Returns the seconds that the ledger credits, per instance. */
async function booked(url: string): Promise<Undelivered[]> {
  const rows = await query(
    url,
    `select instance.id, gpu_rate, disk_rate, note, sum(units)::text as units from instance
     join ledger_entry entry on entry.instance_id = instance.id and entry.kind = 'SERVICE_CREDIT'
     group by instance.id, gpu_rate, disk_rate, note order by instance.id`,
  );
  const of = new Map<string, Undelivered>();
  for (const { id, gpu_rate, disk_rate, note, units } of rows) {
    const sums = of.get(String(id)) ?? { id: String(id), gpu: 0, disk: 0 };
    of.set(sums.id, sums);
    const isGpu = String(note).startsWith('GPU');
    const rate = BigInt((isGpu ? gpu_rate : disk_rate) as string);
    expect(BigInt(units as string) % rate).toBe(0n);
    sums[isGpu ? 'gpu' : 'disk'] += Number(BigInt(units as string) / rate);
  }
  return [...of.values()];
}

/** Returns the same from the machines' observed states: each second without a running container counts once. */
async function undelivered(url: string): Promise<Undelivered[]> {
  const epoch = (column: string) => `extract(epoch from ${column})::float8`;
  const instances = await query(
    url,
    `select i.id, c.machine_id, ${epoch('u.started_at')} as start, ${epoch('s.running_at')} as running
     from instance i join container c on c.instance_id = i.id join container_start s on s.instance_id = i.id
     join usage_interval u on u.instance_id = i.id and u.resource = 'GPU' order by i.id`,
  );
  const outages = await query(
    url,
    `select machine_id, ${epoch('started_at')} as start, ${epoch('ended_at')} as finish from machine_outage`,
  );
  return instances.map(({ id, machine_id, start, running }) => {
    const away = new Set<number>();
    for (const outage of outages.filter((each) => each.machine_id === machine_id)) {
      for (let at = Number(outage.start); at < Number(outage.finish); at += 1) if (at >= Number(start)) away.add(at);
    }
    const gpu = new Set(away);
    for (let at = Number(start); at < Number(running); at += 1) gpu.add(at);
    return { id: String(id), gpu: gpu.size, disk: away.size };
  });
}
