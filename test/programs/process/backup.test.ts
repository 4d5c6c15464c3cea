import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { extract } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres.js';
import { client, type Renter } from '../../support/gateway.js';
import { isLong, killsOf, seedOf } from '../../support/long.js';
import { admin, adminJson } from '../../support/operator.js';
import {
  ADMIN,
  cleanUp,
  type Env,
  embeddedUrl,
  folder,
  type GatewayProcess,
  preparedFolder,
  query,
  run,
  startProcess,
} from '../../support/process.js';

/** `BACKUP_RENTERS=24 npm run test:long` runs the long form (docs/operating.md). */
const RENTERS = Number(process.env.BACKUP_RENTERS ?? 1);
const KILLS = killsOf(20);
const random = xoroshiro128plus(seedOf(1));
/** Progress value once the result is in place. Earlier values are lower. */
const DONE = 2;
const IF_THERE = { throwIfNoEntry: false } as const;
/** Enough WAL for PostgreSQL to discard what a backup needs unless the backup retains it. */
const SWITCHES = 8;
/** Pause between a renter's rentals. */
const PAUSE_MS = 100;
/** Counting the files of a restore itself takes a few milliseconds. */
const LOOK_EVERY_MS = 10;
const PATIENT = { timeout: 300_000 };

const keyOf = (n: number) => `gpu_live_${n.toString(16).padStart(40, '0')}`;
/** Creates accounts with credit and a key. Each renter needs its own, because writes to one account take turns. */
const RENTERS_SQL = `
  with renter as (select 'acc-' || lpad(to_hex(n), 16, '0') as id, 'gpu_live_' || lpad(to_hex(n), 40, '0') as key,
      date_trunc('second', now()) as at from generate_series(1, $1::int) n),
    made as (insert into account (id, name, created_at, settled_at, credit_units)
      select id, 'Renter', at, at, 3600000000000 from renter)
  insert into api_key (id, account_id, hash, prefix, last_four, created_at)
  select 'key-' || id, id, sha256(convert_to(key, 'UTF8')), 'gpu_live_', right(key, 4), at from renter`;
const CREDITS_SQL = `
  insert into ledger_entry (id, account_id, kind, units, at)
  select 'credit-' || id, id, 'CREDIT', 3600000000000, created_at from account where name = 'Renter'`;

afterAll(cleanUp);

/** Returns the number of files and folders in a folder. Those that disappear during the call may or may not count. */
function entriesOf(directory: string): number {
  try {
    return readdirSync(directory, { recursive: true }).length;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

/** Returns the names of the files in a backup. */
async function namesIn(file: string): Promise<string[]> {
  const names: string[] = [];
  const reading = extract();
  reading.end(gunzipSync(readFileSync(file)));
  for await (const entry of reading) {
    names.push(entry.header.name);
    entry.resume();
  }
  return names;
}

/** Returns all instances that ever existed, with their states. */
async function instancesOf(dataDir: string): Promise<Map<string, string>> {
  const { url, release } = await openEmbeddedPostgres({ dataDir });
  const rows = await query(url, 'select id, status from instance');
  await release();
  return new Map(rows.map(({ id, status }) => [id as string, status as string]));
}

describe('a backup', () => {
  const backups = folder();
  let env: Env;
  const file = join(backups, 'gateway.tar.gz');
  let gateway: GatewayProcess;
  let url: string;
  /** The last acknowledged state of each instance. */
  const acknowledged = new Map<string, string>();
  /** The same states as of the start of the backup. */
  const known = new Map<string, string>();
  let isRenting = false;
  let renting: Promise<unknown> = Promise.resolve();

  async function rentAgainAndAgain(renter: Renter, machineId: string): Promise<void> {
    while (isRenting) {
      const deployed = await renter.rest('POST', '/instances', { machine_id: machineId, disk_gb: 10 });
      if (deployed.status !== 201) throw new Error(JSON.stringify(deployed.body));
      const { id } = deployed.body;
      acknowledged.set(id, 'RUNNING');
      const destroyed = await renter.rest('DELETE', `/instances/${id}`);
      if (destroyed.status !== 200) throw new Error(JSON.stringify(destroyed.body));
      acknowledged.set(id, 'DESTROYED');
      // Without a pause, a slow backup on a busy machine would face more concurrent work.
      await sleep(PAUSE_MS);
    }
  }

  async function beginRenting(): Promise<void> {
    const { body } = await client(gateway.address).rest('GET', `/offers?limit=${RENTERS}`);
    await query(url, RENTERS_SQL, [RENTERS]);
    await query(url, CREDITS_SQL);
    isRenting = true;
    renting = Promise.all(
      body.data.map(({ machine_id: id }: { machine_id: string }, index: number) =>
        rentAgainAndAgain(client(gateway.address, keyOf(index + 1)), id),
      ),
    );
    renting.catch(() => {});
  }

  /**
   * Kills the command at a random moment of the `kill`-th part of its work. The last kill happens when `progress`
   * returns DONE.
   */
  async function killed(args: string[], where: Env, kill: number, progress: () => number): Promise<void> {
    const moment = kill === KILLS - 1 ? DONE : (kill + uniformInt(random, 0, 999) / 1_000) / (KILLS - 1);
    const program = run([ADMIN, ...args], where);
    let hasEnded = false;
    const ended = program.ended.finally(() => {
      hasEnded = true;
    });
    while (!hasEnded && progress() < moment) await sleep(LOOK_EVERY_MS);
    program.signal('SIGKILL');
    await ended;
  }

  beforeAll(async () => {
    const dataDir = await preparedFolder();
    env = { DATA_DIR: dataDir, RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'warn' };
    gateway = await startProcess(env);
    url = await embeddedUrl(dataDir);
  });
  afterAll(() => gateway.end());

  it('preserves the previous one and leaves nothing behind in the server when killed', PATIENT, async () => {
    const exit = await admin(['backup', file], env);
    expect([exit.code, exit.stdout]).toEqual([0, expect.stringMatching(/^wrote .*, \d+\.\d MB\n$/)]);
    const seen = { old: 0, new: 0, parts: 0 };
    for (let kill = 0; kill < KILLS; kill += 1) {
      const before = statSync(file);
      const parts = () => readdirSync(backups).filter((name) => name.includes('.part-'));
      await killed(['backup', file], env, kill, () => {
        if (statSync(file).ino !== before.ino) return DONE;
        const [part] = parts();
        return (part === undefined ? 0 : (statSync(join(backups, part), IF_THERE)?.size ?? 0)) / before.size;
      });
      if (parts().length > 0) seen.parts += 1;
      if (statSync(file).ino === before.ino) {
        seen.old += 1;
        expect(statSync(file).mtimeMs).toBe(before.mtimeMs);
      } else {
        seen.new += 1;
        await expect(namesIn(file)).resolves.toContain('backup_manifest');
      }
    }
    console.info(`killed while backing up: ${JSON.stringify(seen)}`);
    expect(Math.min(seen.old, seen.parts)).toBeGreaterThan(0);
    // The server has neither a running base backup nor WAL that is kept for one.
    const left = `select (select count(*) from pg_stat_progress_basebackup) + (select count(*) from pg_replication_slots) as n`;
    await expect.poll(async () => (await query(url, left))[0]!.n, { timeout: 30_000 }).toBe('0');
  });

  it('can be made and restored while renters are active', PATIENT, async () => {
    await beginRenting();
    await expect.poll(() => acknowledged.size, { timeout: 60_000 }).toBeGreaterThan(10);
    for (const [id, status] of acknowledged) known.set(id, status);
    const startedAt = performance.now();
    const backup = admin(['backup', file, '--max-rate', '32000', '--json'], env);
    for (let count = 0; count < SWITCHES; count += 1) {
      await query(url, 'select pg_switch_wal()');
      await query(url, 'checkpoint');
    }
    const { code, stdout, stderr } = await backup;
    const seconds = (performance.now() - startedAt) / 1_000;
    isRenting = false;
    await renting;
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toEqual({ file, bytes: readFileSync(file).length });
    const rented = acknowledged.size - known.size;
    console.info(`${rented} rentals in ${seconds.toFixed(1)} s of backup: ${(rented / seconds).toFixed(0)} a second`);
    expect(rented).toBeGreaterThan(0);

    // Nor have the killed backups left anything behind.
    expect(readdirSync(backups)).toEqual(['gateway.tar.gz']);
  });

  it('leaves either nothing or complete data if its restore is killed', PATIENT, async () => {
    const target = join(folder(), 'restored');
    const where = { DATA_DIR: target };
    const files = (await namesIn(file)).length;
    const seen = { nothing: 0, all: 0, parts: 0 };
    // The regular suite kills it only in the middle.
    for (let kill = 0; kill < (isLong ? KILLS : 1); kill += 1) {
      rmSync(join(target, 'postgres'), { recursive: true, force: true });
      await killed(['restore', file], where, kill, () => {
        if (!existsSync(target)) return 0;
        return existsSync(join(target, 'postgres')) ? DONE : entriesOf(target) / files;
      });
      if (existsSync(target) && readdirSync(target).some((name) => name.startsWith('postgres.new-'))) seen.parts += 1;
      if (!existsSync(join(target, 'postgres'))) seen.nothing += 1;
      else {
        seen.all += 1;
        expect((await adminJson(['audit'], where)).findings).toEqual([]);
      }
    }
    console.info(`killed while restoring: ${JSON.stringify(seen)}`);
    expect(Math.min(seen.nothing, seen.parts)).toBeGreaterThan(0);
    rmSync(join(target, 'postgres'), { recursive: true, force: true });
    const exit = await admin(['restore', file], where);
    expect([exit.code, exit.stdout]).toEqual([0, expect.stringMatching(/^restored to .*\n.*: no mismatch\n$/)]);
    expect(readdirSync(target).sort()).toEqual(['postgres', 'postgres.log']);
    const there = await instancesOf(target);
    // Instances that were running may have been destroyed before the backup ended.
    const differs = ([id, status]: [string, string]) => there.get(id) !== status && there.get(id) !== 'DESTROYED';
    expect([...known].filter(differs)).toEqual([]);
  });

  it('is refused without a database or a place to store it', async () => {
    const empty = folder();
    const full = folder();
    mkdirSync(join(full, 'other'));
    const pipe = join(folder(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const [args, where, code, reason] of [
      [['backup', file], { DATA_DIR: empty }, 2, /DATA_DIR .* contains no database/],
      [['backup', file], { DATABASE_URL: 'postgresql://localhost/x' }, 2, /DATABASE_URL is set/],
      [['backup', backups], env, 2, /is a folder/],
      [['backup', pipe], env, 2, /is not a regular file/],
      [['backup', join(backups, 'nowhere/gateway.tar.gz')], env, 2, /ENOENT/],
      [['backup', file, '--max-rate', '31'], env, 2, /from 32 to 1048576/],
      [['restore', join(backups, 'absent')], { DATA_DIR: empty }, 2, /is not a complete backup: ENOENT/],
      [['restore', file], { DATABASE_URL: 'postgresql://localhost/x' }, 2, /DATABASE_URL is set/],
      [['restore', file], { DATA_DIR: full }, 2, /must be empty, but .* contains other/],
      [['restore', file], env, 2, /must be empty, but .* contains postgres/],
    ] as const) {
      const exit = await admin([...args], where as Env);
      expect([exit.code, exit.stdout]).toEqual([code, '']);
      expect(exit.stderr.trim()).toMatch(reason);
      expect(exit.stderr.trim()).not.toContain('\n');
    }
    expect(readdirSync(empty)).toEqual([]);
  });
});
