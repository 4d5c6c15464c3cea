import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { extract, type Header, pack } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RestoreRefused, restore } from '../../../src/database/embedded/restore.js';
import { client, type Renter } from '../../support/gateway.js';
import { killsOf, seedOf } from '../../support/long.js';
import {
  ADMIN,
  admin,
  adminJson,
  cleanUp,
  type Env,
  embeddedUrl,
  folder,
  type GatewayProcess,
  query,
  run,
  startProcess,
} from '../../support/process.js';

/** `BACKUP_RENTERS=24 npm run test:long` is the long form (docs/operating.md). */
const RENTERS = Number(process.env.BACKUP_RENTERS ?? 2);
const KILLS = killsOf(20);
const random = xoroshiro128plus(seedOf(1));
/** The result is in place; before that progress is a share of it. */
const DONE = 2;
const IF_THERE = { throwIfNoEntry: false } as const;
/** Enough for PostgreSQL to throw away what a backup needs, unless it keeps it on request. */
const SWITCHES = 8;

const keyOf = (n: number) => `gpu_live_${n.toString(16).padStart(40, '0')}`;
/** Accounts with credit and a key: one for each renter, because the writes of one account take turns. */
const RENTERS_SQL = `
  with renter as (select 'acc-' || lpad(to_hex(n), 16, '0') as id, 'gpu_live_' || lpad(to_hex(n), 40, '0') as key,
      date_trunc('second', now()) as at from generate_series(1, $1::int) n),
    made as (insert into account (id, name, created_at, settled_at, credit_units)
      select id, 'Renter', at, at, 3600000000000 from renter),
    credited as (insert into ledger_entry (id, account_id, kind, units, at)
      select 'credit-' || id, id, 'CREDIT', 3600000000000, at from renter)
  insert into api_key (id, account_id, hash, prefix, last_four, created_at)
  select 'key-' || id, id, sha256(convert_to(key, 'UTF8')), 'gpu_live_', right(key, 4), at from renter`;

afterAll(cleanUp);

interface File {
  header: Header;
  bytes: Buffer;
}

/** What a folder holds, in all its folders; what goes meanwhile counts or not. */
function entriesOf(directory: string): number {
  try {
    return readdirSync(directory, { recursive: true }).length;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

async function unpacked(file: string): Promise<File[]> {
  const files: File[] = [];
  const reading = extract();
  reading.end(gunzipSync(readFileSync(file)));
  for await (const entry of reading) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry as AsyncIterable<Buffer>) chunks.push(chunk);
    files.push({ header: entry.header, bytes: Buffer.concat(chunks) });
  }
  return files;
}

async function packed(files: readonly File[]): Promise<Buffer> {
  const archive = pack();
  for (const { header, bytes } of files) {
    if (header.type === 'file') archive.entry({ name: header.name, mode: 0o600 }, bytes);
    else archive.entry(header);
  }
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive as AsyncIterable<Buffer>) chunks.push(chunk);
  return gzipSync(Buffer.concat(chunks), { level: 0 });
}

/** All instances that ever were, and what became of them. */
async function instancesOf(dataDir: string): Promise<Map<string, string>> {
  const gateway = await startProcess({ DATA_DIR: dataDir });
  const rows = await query(await embeddedUrl(dataDir), 'select id, status from instance');
  await gateway.end();
  return new Map(rows.map(({ id, status }) => [id as string, status as string]));
}

describe('a backup', () => {
  const dataDir = join(folder(), 'data');
  const backups = folder();
  const env: Env = { DATA_DIR: dataDir, RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'warn' };
  const file = join(backups, 'gateway.tar.gz');
  let gateway: GatewayProcess;
  let url: string;
  /** What the service has answered of each instance last: `running`, then `destroyed`. */
  const acknowledged = new Map<string, string>();
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
    }
  }

  async function beginRenting(): Promise<void> {
    const { body } = await client(gateway.address).rest('GET', `/offers?limit=${RENTERS}`);
    await query(url, RENTERS_SQL, [RENTERS]);
    isRenting = true;
    renting = Promise.all(
      body.data.map(({ machine_id: id }: { machine_id: string }, index: number) =>
        rentAgainAndAgain(client(gateway.address, keyOf(index + 1)), id),
      ),
    );
    renting.catch(() => {});
  }

  /**
   * Kills the command at a random moment of the `kill`-th part of its work, the last time when `progress` says DONE.
   */
  async function killed(args: string[], where: Env, kill: number, progress: () => number): Promise<void> {
    const moment = kill === KILLS - 1 ? DONE : (kill + uniformInt(random, 0, 999) / 1_000) / (KILLS - 1);
    const program = run([ADMIN, ...args], where);
    let hasEnded = false;
    const ended = program.ended.finally(() => {
      hasEnded = true;
    });
    while (!hasEnded && progress() < moment) await sleep(1);
    program.signal('SIGKILL');
    await ended;
  }

  beforeAll(async () => {
    gateway = await startProcess(env);
    url = await embeddedUrl(dataDir);
    await beginRenting();
  });
  afterAll(() => gateway.end());

  it('that is killed leaves the one before it, and nothing of its own in the server', async () => {
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
        await expect(unpacked(file)).resolves.toBeDefined();
      }
    }
    console.info(`killed while backing up: ${JSON.stringify(seen)}`);
    expect(Math.min(seen.old, seen.parts)).toBeGreaterThan(0);
    // Neither a base backup under way nor log that is kept for one.
    const left = `select (select count(*) from pg_stat_progress_basebackup) + (select count(*) from pg_replication_slots) as n`;
    await expect.poll(async () => (await query(url, left))[0]!.n, { timeout: 30_000 }).toBe('0');
    expect((await admin(['backup', file], env)).code).toBe(0);
    expect(readdirSync(backups)).toEqual(['gateway.tar.gz']);
  });

  it('taken among rentals holds all that was acknowledged before it began, and its audit is clean', async () => {
    await expect.poll(() => acknowledged.size, { timeout: 20_000 }).toBeGreaterThan(50);
    const before = new Map(acknowledged);
    const startedAt = performance.now();
    const backup = admin(['backup', file, '--max-rate', '16000', '--json'], env);
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
    const rented = acknowledged.size - before.size;
    console.info(`${rented} rentals in ${seconds.toFixed(1)} s of backup: ${(rented / seconds).toFixed(0)} a second`);
    expect(rented).toBeGreaterThan(0);

    const restored = join(folder(), 'restored');
    const restoring = await admin(['restore', file, '--json'], { DATA_DIR: restored });
    const { findings, ...counted } = JSON.parse(restoring.stdout);
    expect([findings, counted.instances >= before.size, restoring.code]).toEqual([[], true, 0]);
    const there = await instancesOf(restored);
    // What was running may have been destroyed before the backup ended.
    const differs = ([id, status]: [string, string]) => there.get(id) !== status && there.get(id) !== 'DESTROYED';
    expect([...before].filter(differs)).toEqual([]);
  });

  it('whose restoring is killed leaves nothing, or all of it', { timeout: 300_000 }, async () => {
    const target = join(folder(), 'restored');
    const where = { DATA_DIR: target };
    const files = (await unpacked(file)).length;
    const seen = { nothing: 0, all: 0, parts: 0 };
    for (let kill = 0; kill < KILLS; kill += 1) {
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
    expect([exit.code, exit.stdout]).toEqual([0, expect.stringMatching(/^restored to .*\n.*: no difference\n$/)]);
    expect(readdirSync(target).sort()).toEqual(['postgres', 'postgres.log']);
  });

  it('is refused where there is nothing to back up, or nowhere to put it', async () => {
    const empty = folder();
    const full = folder();
    mkdirSync(join(full, 'other'));
    for (const [args, where, code, reason] of [
      [['backup', file], { DATA_DIR: empty }, 2, /DATA_DIR, .*, holds no database/],
      [['backup', file], { DATABASE_URL: 'postgresql://localhost/x' }, 2, /DATABASE_URL is set/],
      [['backup', backups], env, 2, /is a folder/],
      [['backup', join(backups, 'nowhere/gateway.tar.gz')], env, 2, /ENOENT/],
      [['backup', file, '--max-rate', '31'], env, 2, /from 32 to 1048576/],
      [['restore', join(backups, 'absent')], { DATA_DIR: empty }, 2, /is no whole backup: ENOENT/],
      [['restore', file], { DATABASE_URL: 'postgresql://localhost/x' }, 2, /DATABASE_URL is set/],
      [['restore', file], { DATA_DIR: full }, 2, /must be empty, and .* holds other/],
      [['restore', file], env, 2, /must be empty, and .* holds postgres/],
    ] as const) {
      const exit = await admin([...args], where as Env);
      expect([exit.code, exit.stdout]).toEqual([code, '']);
      expect(exit.stderr.trim()).toMatch(reason);
      expect(exit.stderr.trim()).not.toContain('\n');
    }
    expect(readdirSync(empty)).toEqual([]);
  });
});

describe('a file that is no whole backup restores nothing', () => {
  const file = (name: string, text: string, header: Partial<Header> = {}): File => ({
    header: { name, type: 'file', ...header } as Header,
    bytes: Buffer.from(text),
  });
  const DATA = [file('PG_VERSION', '18\n'), file('base/1/1259', 'the rows of a table')];
  const LOG = file('pg_wal/000000010000000000000002', 'its log');
  const OTHER = file('other', 'other');
  const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');

  /** As PostgreSQL writes it, for these files. */
  function manifestOf(files: readonly File[], change = (text: string) => text): File {
    const lines = files.map(({ header, bytes }) =>
      JSON.stringify({
        Path: header.name,
        Size: bytes.length,
        'Checksum-Algorithm': 'SHA256',
        Checksum: sha256(bytes),
      }),
    );
    const text = `{ "PostgreSQL-Backup-Manifest-Version": 2,\n"Files": [\n${lines.join(',\n')}\n],\n`;
    return file('backup_manifest', change(`${text}"Manifest-Checksum": "${sha256(text)}"}\n`));
  }
  const MANIFEST = manifestOf(DATA);
  const put = (bytes: Buffer): string => {
    const path = join(folder(), 'backup.tar.gz');
    writeFileSync(path, bytes);
    return path;
  };
  const putFiles = async (...files: File[]) => put(await packed(files));
  const whole = () => packed([...DATA, LOG, MANIFEST]);

  it('but a whole one all', async () => {
    const target = folder();
    await restore(put(await whole()), target);
    expect(readdirSync(join(target, 'postgres')).sort()).toEqual(['PG_VERSION', 'base', 'pg_wal']);
  });

  it.each<[string, () => Promise<string> | string, RegExp]>([
    ['cut off', async () => put((await whole()).subarray(0, -20)), /is no whole backup: unexpected end of file/],
    ['a changed byte', async () => put(flipped(await whole())), /is no whole backup/],
    ['text', () => put(Buffer.from('no archive')), /is no whole backup: incorrect header check/],
    ['empty', () => put(Buffer.alloc(0)), /is no whole backup/],
    ['not there', () => join(folder(), 'absent.tar.gz'), /ENOENT/],
    ['a folder', () => folder(), /EISDIR/],
    [
      'a changed file',
      () => putFiles(DATA[0]!, { ...DATA[1]!, bytes: flipped(DATA[1]!.bytes) }, MANIFEST),
      /is no whole backup: base\/1\/1259 was changed/,
    ],
    ['a missing file', () => putFiles(DATA[0]!, LOG, MANIFEST), /base\/1\/1259 is missing/],
    ['one file more', () => putFiles(...DATA, OTHER, MANIFEST), /other is too much/],
    ['no manifest', () => putFiles(...DATA, LOG), /it has no manifest/],
    [
      'a changed manifest',
      () =>
        putFiles(
          ...DATA,
          manifestOf(DATA, (text) => text.replace('"Size":3', '"Size":4')),
        ),
      /was changed/,
    ],
    [
      'a manifest without a file',
      () =>
        putFiles(
          DATA[0]!,
          manifestOf(DATA, (text) => text.replace(/,\n.*1259.*\n/, '\n')),
        ),
      /its manifest was changed/,
    ],
    ['a manifest that is none', () => putFiles(...DATA, file('backup_manifest', '{"Files": 5}')), /no manifest/],
    ['a file above its folder', () => putFiles(...DATA, file('../evil', 'x'), MANIFEST), /outside its folder/],
    ['a file from the root', () => putFiles(...DATA, file('/tmp/evil', 'x'), MANIFEST), /outside its folder/],
    [
      'a link',
      () => putFiles(...DATA, file('base/evil', '', { type: 'symlink', linkname: '/etc/passwd' }), MANIFEST),
      /neither a file nor a folder/,
    ],
    ['the same file twice', () => putFiles(...DATA, DATA[0]!, MANIFEST), /PG_VERSION/],
  ])('%s', async (_name, make, reason) => {
    const target = folder();
    const refused = await restore(await make(), target).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(RestoreRefused);
    expect((refused as Error).message).toMatch(reason);
    expect(readdirSync(target)).toEqual([]);
  });

  function flipped(bytes: Buffer): Buffer {
    const copy = Buffer.from(bytes);
    const middle = copy.length >> 1;
    copy[middle] = copy[middle]! ^ 1;
    return copy;
  }
});
