import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { client, type Renter } from '../../support/gateway.js';
import { killsOf } from '../../support/long.js';
import { admin, adminJson } from '../../support/operator.js';
import { cleanUp, count, embeddedUrl, folder, query, serverOf, startProcess } from '../../support/process.js';

afterAll(cleanUp);

const KILLS = killsOf(20);
const SETTINGS = { RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'error' };

async function renterOf(address: string, env: Record<string, string>, credit = '1000'): Promise<Renter> {
  const account = await adminJson(['account', 'create', '--name', 'Faults', '--credit', credit], env);
  const key = await adminJson(['key', 'create', '--account', account.id], env);
  return client(address, key.api_key, account.id);
}

async function machines(renter: Renter, gpu: string): Promise<string[]> {
  const { body } = await renter.rest('GET', `/offers?gpu=${gpu}&limit=100`);
  return body.data.map(({ machine_id }: { machine_id: string }) => machine_id);
}

describe('the database', () => {
  test('stopped: 503 on both surfaces, readiness too, and recovery by itself; nothing acknowledged is lost', {
    timeout: 60_000,
  }, async () => {
    const env = { ...SETTINGS, DATA_DIR: folder() };
    const gateway = await startProcess(env);
    const renter = await renterOf(gateway.address, env);
    const [machine_id, other] = await machines(renter, 'rtx-4090');
    const { body } = await renter.rest('POST', '/instances', { machine_id });
    const server = (await serverOf(env.DATA_DIR))!;
    // Frozen first: connections stand, and no answer comes.
    process.kill(server.pid, 'SIGKILL');
    const away = await renter.rest('POST', '/instances', { machine_id: other });
    // A session of the server may live a moment longer than the server: what it acknowledges has to be kept.
    expect([201, 503]).toContain(away.status);
    const acknowledged = [body.id, ...(away.status === 201 ? [away.body.id] : [])];
    const answers = await Promise.all(Array.from({ length: 20 }, () => renter.rest('GET', '/balance')));
    expect(answers.every(({ status }) => status === 503 || status === 200)).toBe(true);
    expect([away, ...answers].map(({ status }) => status)).toContain(503);
    await expect
      .poll(async () => (await renter.rest('GET', '/balance')).status, { timeout: 20_000, interval: 200 })
      .toBe(200);
    for (const id of acknowledged) expect((await renter.rest('GET', `/instances/${id}`)).body.status).toBe('running');
    expect((await admin(['audit'], env)).code).toBe(0);
    expect((await gateway.end()).code).toBe(0);
  });

  test('connections cut under load: refusals are 503, the process lives, the books are true', {
    timeout: 120_000,
  }, async () => {
    const env = { ...SETTINGS, DATA_DIR: folder() };
    const gateway = await startProcess(env);
    const renter = await renterOf(gateway.address, env);
    const free = await machines(renter, 'rtx-4090');
    const url = await embeddedUrl(env.DATA_DIR);
    const statuses = new Map<number, number>();
    const [from, enough] = [Date.now(), 6];
    const note = (status: number) => statuses.set(status, (statuses.get(status) ?? 0) + 1);
    // A busy machine takes longer to rent between two cuts.
    const goesOn = () => Date.now() < from + 4_000 || ((statuses.get(201) ?? 0) < enough && Date.now() < from + 60_000);
    const workers = Array.from({ length: 8 }, async (_, worker) => {
      while (goesOn()) {
        const rented = await renter.rest('POST', '/instances', { machine_id: free[worker], disk_gb: 1 });
        note(rented.status);
        note((await renter.graphql('{ balance { balance } }')).status);
        if (rented.status === 201) note((await renter.rest('DELETE', `/instances/${rented.body.id}`)).status);
      }
    });
    const cutter = (async () => {
      while (goesOn()) {
        await query(
          url,
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'gpu-rental-gateway'`,
        );
        await sleep(150);
      }
    })();
    await Promise.all([...workers, cutter]);
    expect([...statuses.keys()].filter((status) => ![200, 201, 409, 503].includes(status))).toEqual([]);
    expect(statuses.get(201)).toBeGreaterThanOrEqual(enough);
    await expect.poll(async () => (await renter.rest('GET', '/balance')).status, { timeout: 30_000 }).toBe(200);
    expect((await admin(['audit'], env)).code).toBe(0);
    await gateway.end();
  });
});

describe('the gateway', () => {
  test('killed again and again under load: every acknowledged rental is there, and a retry with its key finds the rest', {
    timeout: 300_000,
  }, async () => {
    const env = { ...SETTINGS, DATA_DIR: folder() };
    let gateway = await startProcess(env);
    let renter = await renterOf(gateway.address, env, '100000');
    const free = [...(await machines(renter, 'rtx-4090')), ...(await machines(renter, 'rtx-3090'))];
    const acknowledged = new Map<string, string>();
    const unanswered = new Set<string>();
    for (let round = 0; round < KILLS; round += 1) {
      const deploys = Array.from({ length: 6 }, async (_, index) => {
        const key = `round-${round}-${index}`;
        const machine_id = free[(round * 6 + index) % free.length];
        try {
          const body = { machine_id, disk_gb: 1 };
          const answer = await renter.rest('POST', '/instances', body, { 'idempotency-key': key });
          if (answer.status === 201) acknowledged.set(key, answer.body.id);
        } catch {
          unanswered.add(key);
        }
      });
      await sleep((round * 40) / KILLS);
      await gateway.kill();
      await Promise.all(deploys);
      gateway = await startProcess(env);
      renter = client(gateway.address, renter.key, renter.accountId);
    }
    const { body } = await renter.rest('GET', '/instances');
    const present = new Set(body.data.map(({ id }: { id: string }) => id));
    expect([...acknowledged.values()].filter((id) => !present.has(id))).toEqual([]);
    // The same request again: one rental for each key, whether its first answer was lost before or after the commit.
    for (const key of unanswered) {
      const [, round, index] = key.split('-').map(Number);
      const machine_id = free[(round! * 6 + index!) % free.length];
      const request = () => renter.rest('POST', '/instances', { machine_id, disk_gb: 1 }, { 'idempotency-key': key });
      const answers = [await request(), await request()];
      expect([201, 409]).toContain(answers[0]!.status);
      expect(answers[1]!.body.id).toBe(answers[0]!.body.id);
    }
    const url = await embeddedUrl(env.DATA_DIR);
    const keys = await count(url, `idempotency_key where account_id = '${renter.accountId}'`);
    expect(await count(url, `instance where account_id = '${renter.accountId}'`)).toBe(keys);
    expect(unanswered.size).toBeGreaterThan(KILLS / 2);
    const audited = await admin(['audit'], env);
    expect(audited.stdout).toContain('no difference');
    await gateway.end();
  });

  test('asked to end: readiness turns 503, what is in flight is answered, the database is closed', {
    timeout: 90_000,
  }, async () => {
    const env = { ...SETTINGS, DATA_DIR: folder() };
    const gateway = await startProcess(env);
    const renter = await renterOf(gateway.address, env);
    const [machine_id] = await machines(renter, 'rtx-4090');
    const url = await embeddedUrl(env.DATA_DIR);
    // A deploy that waits for its account's lock while the process is asked to end.
    const holder = spawnHolder(url, renter.accountId);
    await holder.holds;
    const deploying = renter.rest('POST', '/instances', { machine_id });
    await sleep(200);
    const ended = gateway.end();
    await sleep(200);
    expect((await fetch(`${gateway.address}/readyz`)).status).toBe(503);
    expect((await fetch(`${gateway.address}/healthz`)).status).toBe(200);
    holder.letGo();
    expect((await deploying).status).toBe(201);
    const { code, endedMs } = await ended;
    expect(code).toBe(0);
    expect(endedMs).toBeLessThan(10_000);
    expect(await serverOf(env.DATA_DIR)).toBeUndefined();
  });
});

/** Holds an account's row locked until it is let go. */
function spawnHolder(url: string, accountId: string) {
  const script = `
    import pg from 'pg';
    const client = new pg.Client({ connectionString: process.argv[1] });
    client.on('error', () => {});
    await client.connect();
    await client.query('begin');
    await client.query('select 1 from account where id = $1 for update', [process.argv[2]]);
    console.log('holds');
    process.stdin.once('data', async () => { await client.query('rollback'); await client.end(); process.exit(0); });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, url, accountId]);
  return {
    holds: new Promise<void>((resolve) => child.stdout.once('data', () => resolve())),
    letGo: () => child.stdin.write('go\n'),
  };
}
