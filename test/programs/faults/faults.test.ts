import { afterAll, describe, expect, onTestFailed, test } from 'vitest';
import { type Answer, client, type Renter } from '../../support/gateway.js';
import { killsOf } from '../../support/long.js';
import { admin, openAccount } from '../../support/operator.js';
import {
  cleanUp,
  connect,
  count,
  embeddedUrl,
  type GatewayProcess,
  preparedFolder,
  serverOf,
  startProcess,
} from '../../support/process.js';
import { until } from '../../support/until.js';

afterAll(cleanUp);

const KILLS = killsOf(20);
/** Rentals per round. The next round begins once the gateway is available again. */
const DEPLOYS = 6;
/** Number of times that all of the gateway's connections are cut. */
const CUTS = 12;
const SETTINGS = { RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'error' };

async function renterOf(address: string, env: Record<string, string>, credit = '1000'): Promise<Renter> {
  const { accountId, key } = await openAccount(env, credit);
  return client(address, key, accountId);
}

async function machines(renter: Renter, gpu: string): Promise<string[]> {
  const { body } = await renter.rest('GET', `/offers?gpu=${gpu}&limit=100`);
  return body.data.map(({ machine_id }: { machine_id: string }) => machine_id);
}

describe('the database', () => {
  test('makes both APIs and readiness return 503 while stopped, without losing anything', {
    timeout: 300_000,
  }, async () => {
    const env = { ...SETTINGS, DATA_DIR: await preparedFolder() };
    const gateway = await startProcess(env);
    const renter = await renterOf(gateway.address, env);
    const [machine_id, other] = await machines(renter, 'rtx-4090');
    const { body } = await renter.rest('POST', '/instances', { machine_id });
    const server = (await serverOf(env.DATA_DIR))!;
    // Sessions may briefly outlive the killed server.
    process.kill(server.pid, 'SIGKILL');
    const away = await renter.rest('POST', '/instances', { machine_id: other });
    // Anything that such a session acknowledges must be kept.
    expect([201, 503]).toContain(away.status);
    const acknowledged = [body.id, ...(away.status === 201 ? [away.body.id] : [])];
    const answers = await Promise.all(Array.from({ length: 20 }, () => renter.rest('GET', '/balance')));
    expect(answers.every(({ status }) => status === 503 || status === 200)).toBe(true);
    expect([away, ...answers].map(({ status }) => status)).toContain(503);
    await expect
      .poll(async () => (await renter.rest('GET', '/balance')).status, { timeout: 120_000, interval: 200 })
      .toBe(200);
    for (const id of acknowledged) expect((await renter.rest('GET', `/instances/${id}`)).body.status).toBe('running');
    expect((await admin(['audit'], env)).code).toBe(0);
    expect((await gateway.end()).code).toBe(0);
  });

  test('may drop connections under load, causing 503s but no inconsistent books', {
    timeout: 300_000,
  }, async () => {
    const env = { ...SETTINGS, DATA_DIR: await preparedFolder() };
    const gateway = await startProcess(env);
    const renter = await renterOf(gateway.address, env);
    const free = await machines(renter, 'rtx-4090');
    const url = await embeddedUrl(env.DATA_DIR);
    const statuses = new Map<number, number>();
    const refused: unknown[] = [];
    onTestFailed(() => console.error(`answers ${JSON.stringify([...statuses])}\n${refused}\n${gateway.stderr()}`));
    const note = ({ status, body }: Answer) => {
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (![200, 201, 409, 503].includes(status)) refused.push(JSON.stringify(body));
    };
    const rentals = () => statuses.get(201) ?? 0;
    let isOver = false;
    let attempts = 0;
    const workers = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        // Each request names another machine, because a machine stays rented if the response is lost.
        const machine_id = free[attempts++ % free.length];
        const rented = await renter.rest('POST', '/instances', { machine_id, disk_gb: 1 });
        note(rented);
        note(await renter.graphql('{ balance { balance } }'));
        if (rented.status === 201) note(await renter.rest('DELETE', `/instances/${rented.body.id}`));
      }
    });
    const cutter = (async () => {
      const database = await connect(url);
      // Each cut follows a rental while the other workers are busy, so slow machines have enough time between cuts.
      for (let cut = 0; cut < CUTS; cut += 1) {
        const before = rentals();
        await until('one is rented', () => rentals() > before, 60_000);
        await database.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'gpu-rental-gateway'`,
        );
      }
      await database.end();
    })().finally(() => {
      isOver = true;
    });
    await Promise.all([...workers, cutter]);
    expect(refused).toEqual([]);
    await expect.poll(async () => (await renter.rest('GET', '/balance')).status, { timeout: 60_000 }).toBe(200);
    expect((await admin(['audit'], env)).code).toBe(0);
    await gateway.end();
  });
});

describe('the gateway', () => {
  test('keeps everything it acknowledged, and replays the rest, when killed repeatedly', {
    timeout: 300_000,
  }, async () => {
    const env = { ...SETTINGS, DATA_DIR: await preparedFolder() };
    let gateway: GatewayProcess = await startProcess(env);
    let renter = await renterOf(gateway.address, env, '100000');
    const free = [...(await machines(renter, 'rtx-4090')), ...(await machines(renter, 'rtx-3090'))];
    const acknowledged = new Map<string, string>();
    const unanswered = new Set<string>();
    for (let round = 0; round < KILLS; round += 1) {
      let answered = 0;
      const deploys = Array.from({ length: DEPLOYS }, async (_, index) => {
        const key = `round-${round}-${index}`;
        const machine_id = free[(round * DEPLOYS + index) % free.length];
        try {
          const body = { machine_id, disk_gb: 1 };
          const answer = await renter.rest('POST', '/instances', body, { 'idempotency-key': key });
          if (answer.status === 201) acknowledged.set(key, answer.body.id);
        } catch {
          unanswered.add(key);
        } finally {
          answered += 1;
        }
      });
      // Kills before any response, after three of them, again before any, then after two, five, one and four.
      await until('enough are answered', () => answered >= (round * 3) % (DEPLOYS + 1), 30_000, 1);
      await gateway.kill();
      await Promise.all(deploys);
      gateway = await startProcess(env);
      renter = client(gateway.address, renter.key, renter.accountId);
    }
    const { body } = await renter.rest('GET', '/instances');
    const present = new Set(body.data.map(({ id }: { id: string }) => id));
    expect([...acknowledged.values()].filter((id) => !present.has(id))).toEqual([]);
    // Repeated requests yield one rental per key, whether the response was lost before or after the commit.
    for (const key of unanswered) {
      const [, round, index] = key.split('-').map(Number);
      const machine_id = free[(round! * DEPLOYS + index!) % free.length];
      const request = () => renter.rest('POST', '/instances', { machine_id, disk_gb: 1 }, { 'idempotency-key': key });
      const answers = [await request(), await request()];
      expect([201, 409]).toContain(answers[0]!.status);
      expect(answers[1]!.body.id).toBe(answers[0]!.body.id);
    }
    const url = await embeddedUrl(env.DATA_DIR);
    const keys = await count(url, `idempotency_key where account_id = '${renter.accountId}'`);
    expect(await count(url, `instance where account_id = '${renter.accountId}'`)).toBe(keys);
    expect(Math.min(unanswered.size, acknowledged.size)).toBeGreaterThan(0);
    const audited = await admin(['audit'], env);
    expect(audited.stdout).toContain('no mismatch');
    await gateway.end();
  });
});
