import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import {
  limitMemory,
  mountSmallDisk,
  needsMemoryLimit,
  needsSmallDisk,
  type SmallDisk,
} from '../../support/deploy/faults.js';
import { client, type Renter } from '../../support/gateway.js';
import { admin, openAccount } from '../../support/operator.js';
import {
  cleanUp,
  connect,
  type Env,
  embeddedUrl,
  type GatewayProcess,
  preparedFolder,
  query,
  serverOf,
  startProcess,
} from '../../support/process.js';
import { until } from '../../support/until.js';

/** Just enough space for a new cluster and its log. */
const DISK_MB = 256;
/**
 * Time for which the disk stays full. After more than 20 s, a gateway has failed once to start its PostgreSQL. That is
 * too long to wait in every run.
 */
const FULL_MS = Number(process.env.DISK_FULL_SECONDS ?? 0) * 1_000;
const RECOVERS_WITHIN_MS = 60_000;
/** Timeout of a test, long enough for a busy machine. */
const PATIENT = { timeout: 300_000 };
const MAX_DEPLOYS = 5_000;
/** PostgreSQL's limit, which is enough for its shared memory and a gateway's connections. */
const MEMORY_MB = 400;
/** A gateway's limit in addition to its initial memory. A few hundred requests use it up. */
const LITTLE_MEMORY_MB = 8;

afterAll(cleanUp);

/** Rents and destroys instances, and records what the gateway acknowledged. */
class Renting {
  readonly acknowledged: string[] = [];
  readonly refusals: { status: number; code: string }[] = [];
  #machines: string[] = [];

  constructor(readonly renter: Renter) {}

  /** Returns whether every step succeeded. */
  async once(): Promise<boolean> {
    if (this.#machines.length === 0) {
      const { status, body } = await this.renter.rest('GET', '/offers?limit=100');
      if (status !== 200) return this.#refused(status, body);
      this.#machines = body.data.map(({ machine_id: id }: { machine_id: string }) => id);
    }
    const deployed = await this.renter.rest('POST', '/instances', { machine_id: this.#machines[0], disk_gb: 1 });
    if (deployed.status !== 201) {
      // The machine may have been rented anyway and the response lost.
      this.#machines.shift();
      return this.#refused(deployed.status, deployed.body);
    }
    this.acknowledged.push(deployed.body.id);
    const destroyed = await this.renter.rest('DELETE', `/instances/${deployed.body.id}`);
    if (destroyed.status === 200) return true;
    // The instance's machine may remain rented.
    this.#machines.shift();
    return this.#refused(destroyed.status, destroyed.body);
  }

  #refused(status: number, { error }: { error: { code: string } }): false {
    this.refusals.push({ status, code: error.code });
    return false;
  }
}

async function isReady(gateway: GatewayProcess): Promise<boolean> {
  return (await fetch(`${gateway.address}/readyz`)).ok;
}

/** Expects every acknowledged rental to exist and the books to be consistent. */
async function expectKept(env: Env, databaseUrl: string, acknowledged: readonly string[]): Promise<void> {
  const known = (await query(databaseUrl, 'select id from instance')).map(({ id }) => id);
  expect(known).toEqual(expect.arrayContaining([...acknowledged]));
  const { code, stdout } = await admin(['audit'], env);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/: no mismatch\n$/)]);
}

describe('a full disk under PostgreSQL', needsSmallDisk(), () => {
  let disk: SmallDisk;
  let gateway: GatewayProcess | undefined;

  afterAll(async () => {
    await gateway?.end();
    disk?.unmount();
  });

  it('halts writes with clear errors until space is freed, without losing earlier ones', PATIENT, async () => {
    disk = mountSmallDisk(DISK_MB);
    const env: Env = { DATA_DIR: await preparedFolder(join(disk.path, 'data')), RATE_LIMIT_PER_MINUTE: '0' };
    gateway = await startProcess(env);
    const renting = new Renting(client(gateway.address, (await openAccount(env)).key));
    expect(await renting.once()).toBe(true);
    const server = await serverOf(env.DATA_DIR!);

    // On a full disk, a new session may fail because it writes PostgreSQL's catalogue files.
    const session = await connect(await embeddedUrl(env.DATA_DIR!));
    const nextLogFile = () => session.query(`select pg_switch_wal(), pg_logical_emit_message(true, '', '')`);
    // This uses up the log files that PostgreSQL keeps in reserve, as after a first start.
    for (let count = 0; count < 3; count += 1) await nextLogFile();
    const ballast = join(disk.path, 'ballast');
    const { bavail, bsize } = statfsSync(disk.path);
    execFileSync('fallocate', ['-l', String(bavail * bsize - 65_536), ballast]);
    // At first, tables can't grow.
    let deploys = 0;
    while ((await renting.once()) && deploys < MAX_DEPLOYS) deploys += 1;
    expect(renting.refusals).toEqual([{ status: 503, code: 'unavailable' }]);
    // Then the log can't grow either, which stops PostgreSQL and prevents its restart.
    await expect(nextLogFile()).rejects.toThrow();
    await until(
      'PostgreSQL is gone',
      async () => {
        await renting.once();
        return (await serverOf(env.DATA_DIR!))?.pid !== server!.pid;
      },
      RECOVERS_WITHIN_MS,
    );
    for (let attempt = 0; attempt < 5; attempt += 1) expect(await renting.once()).toBe(false);
    expect(new Set(renting.refusals.map(({ status, code }) => `${status} ${code}`))).toEqual(
      new Set(['503 unavailable']),
    );
    expect((await fetch(`${gateway.address}/healthz`)).status).toBe(200);
    // The log tells the operator the reason.
    expect(/could not extend file .*No space left on device/.test(gateway.stderr())).toBe(true);

    await sleep(FULL_MS);
    rmSync(ballast);
    await until('the gateway is ready again', () => isReady(gateway!), RECOVERS_WITHIN_MS);
    expect(await renting.once()).toBe(true);
    await expectKept(env, await embeddedUrl(env.DATA_DIR!), renting.acknowledged);
  });
});

describe('a query that uses up all memory', () => {
  it('is killed along with its server, but not the gateways', { ...needsMemoryLimit(), ...PATIENT }, async () => {
    const limit = limitMemory(`gateway-test-${randomBytes(4).toString('hex')}`, MEMORY_MB);
    const env: Env = { DATA_DIR: await preparedFolder(), RATE_LIMIT_PER_MINUTE: '0' };
    const gateway = await startProcess(env);
    const { pid } = (await serverOf(env.DATA_DIR!))!;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    for (const each of [pid, ...children.map(Number)]) limit!.add(each);
    const renting = new Renting(client(gateway.address, (await openAccount(env)).key));
    for (let count = 0; count < 5; count += 1) expect(await renting.once()).toBe(true);

    const greedy = await connect(await embeddedUrl(env.DATA_DIR!));
    const query = greedy.query(`set work_mem = '2GB'; select array_agg(n) from generate_series(1, 100000000) n`);
    let isOver = false;
    const killed = expect(query)
      .rejects.toThrow(/terminat/i)
      .finally(() => {
        isOver = true;
      });
    while (!isOver) await renting.once();
    await killed;
    await until('the gateway rents again', () => renting.once(), RECOVERS_WITHIN_MS);
    const statuses = new Set(renting.refusals.map(({ status, code }) => `${status} ${code}`));
    expect([...statuses]).toEqual(renting.refusals.length === 0 ? [] : ['503 unavailable']);
    expect((await serverOf(env.DATA_DIR!))!.pid).toBe(pid);
    await expectKept(env, await embeddedUrl(env.DATA_DIR!), renting.acknowledged);
    await gateway.end();
    limit!.remove();
  });
});

describe('a gateway above its memory limit', () => {
  it('can be killed at any point without losing acknowledged data', {
    ...needsMemoryLimit(),
    ...PATIENT,
  }, async () => {
    const limit = limitMemory(`gateway-test-${randomBytes(4).toString('hex')}`, LITTLE_MEMORY_MB);
    const env: Env = { DATA_DIR: await preparedFolder(), RATE_LIMIT_PER_MINUTE: '0' };
    const first = await startProcess(env);
    const { key } = await openAccount(env);
    const renting = new Renting(client(first.address, key));
    expect(await renting.once()).toBe(true);
    // Only memory that it allocates from here counts.
    limit!.add(first.pid);
    let isOver = false;
    const killed = first.ended.finally(() => {
      isOver = true;
    });
    while (!isOver) await renting.once().catch(() => {});
    // The signal must be SIGKILL, which no program sends to itself.
    expect(await killed).toMatchObject({ code: null });
    expect(limit!.kills()).toBe(1);
    const next = await startProcess(env);
    const { acknowledged } = renting;
    await expectKept(env, await embeddedUrl(env.DATA_DIR!), acknowledged);
    expect(await new Renting(client(next.address, key)).once()).toBe(true);
    await next.end();
    limit!.remove();
  });
});
