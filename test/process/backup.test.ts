import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { extract, type Header, pack } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RestoreRefused, restore } from '../../src/database/embedded/restore.js';
import { client, type Renter } from '../support/gateway.js';
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
} from '../support/process.js';

const RENTERS = 8;
const KILLS = 10;
/** Enough for PostgreSQL to throw away what a backup needs, were it not told to keep it. */
const SWITCHES = 8;

afterAll(cleanUp);

interface File {
  header: Header;
  bytes: Buffer;
}

async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const startedAt = performance.now();
  const result = await work();
  return [result, performance.now() - startedAt];
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

/** All instances that ever were, whatever became of them. */
async function instancesOf(dataDir: string): Promise<Set<string>> {
  const gateway = await startProcess({ DATA_DIR: dataDir });
  const rows = await query(await embeddedUrl(dataDir), 'select id from instance');
  await gateway.end();
  return new Set(rows.map(({ id }) => id as string));
}

describe('a backup', () => {
  const dataDir = join(folder(), 'data');
  const backups = folder();
  const env: Env = { DATA_DIR: dataDir, RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'warn' };
  const file = join(backups, 'gateway.tar.gz');
  let gateway: GatewayProcess;
  let renter: Renter;
  const acknowledged: string[] = [];
  let isRenting = true;
  let renting: Promise<unknown> = Promise.resolve();

  async function rentAgainAndAgain(machineId: string): Promise<void> {
    while (isRenting) {
      const deployed = await renter.rest('POST', '/instances', { machine_id: machineId, disk_gb: 10 });
      if (deployed.status !== 201) throw new Error(JSON.stringify(deployed.body));
      await renter.rest('DELETE', `/instances/${deployed.body.id}`);
      acknowledged.push(deployed.body.id);
    }
  }

  beforeAll(async () => {
    gateway = await startProcess(env);
    const account = await adminJson(['account', 'create', '--name', 'Renter', '--credit', '1000'], env);
    const { api_key: key } = await adminJson(['key', 'create', '--account', account.id], env);
    renter = client(gateway.address, key);
  });
  afterAll(() => gateway.end());

  it('that is killed leaves the one before it', async () => {
    const [exit, tookMs] = await timed(() => admin(['backup', file], env));
    expect([exit.code, exit.stdout]).toEqual([0, expect.stringMatching(/^wrote .*, \d+\.\d MB\n$/)]);
    const digest = () => createHash('sha256').update(readFileSync(file)).digest('hex');
    for (let kill = 0; kill < KILLS; kill += 1) {
      const before = digest();
      const program = run([ADMIN, 'backup', file], env);
      await sleep((tookMs * (kill + Math.random())) / KILLS);
      program.signal('SIGKILL');
      const { code } = await program.ended;
      // Whole, also where it was done before the signal came.
      if (code === 0 || digest() !== before) await expect(unpacked(file)).resolves.toBeDefined();
      else expect(digest()).toBe(before);
    }
    expect((await admin(['backup', file], env)).code).toBe(0);
    expect(readdirSync(backups)).toEqual(['gateway.tar.gz']);
  });

  it('whose restoring is killed leaves nothing, or all of it', async () => {
    let target = join(folder(), 'restored');
    const [exit, tookMs] = await timed(() => admin(['restore', file], { DATA_DIR: target }));
    expect([exit.code, exit.stdout]).toEqual([0, expect.stringMatching(/^restored to .*\n.*: no difference\n$/)]);
    target = join(folder(), 'restored');
    const seen = { nothing: 0, all: 0 };
    for (let kill = 0; kill < KILLS; kill += 1) {
      const program = run([ADMIN, 'restore', file], { DATA_DIR: target });
      await sleep((tookMs * (kill + Math.random())) / KILLS);
      program.signal('SIGKILL');
      await program.ended;
      if (!existsSync(join(target, 'postgres'))) seen.nothing += 1;
      else {
        seen.all += 1;
        expect((await adminJson(['audit'], { DATA_DIR: target })).findings).toEqual([]);
        target = join(folder(), 'restored');
      }
    }
    console.info(`killed while restoring: ${JSON.stringify(seen)}`);
    expect(seen.nothing).toBeGreaterThan(0);
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

  it('taken among rentals holds all that was acknowledged before it began, and its audit is clean', async () => {
    const { body } = await renter.rest('GET', `/offers?limit=${RENTERS}`);
    renting = Promise.all(body.data.map(({ machine_id }: { machine_id: string }) => rentAgainAndAgain(machine_id)));
    renting.catch(() => {});
    await expect.poll(() => acknowledged.length, { timeout: 20_000 }).toBeGreaterThan(50);
    const before = [...acknowledged];
    const backup = admin(['backup', file, '--max-rate', '16000', '--json'], env);
    const url = await embeddedUrl(dataDir);
    for (let count = 0; count < SWITCHES; count += 1) {
      await query(url, 'select pg_switch_wal()');
      await query(url, 'checkpoint');
    }
    const { code, stdout, stderr } = await backup;
    isRenting = false;
    await renting;
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toEqual({ file, bytes: readFileSync(file).length });
    console.info(`${acknowledged.length - before.length} rentals during the backup`);
    expect(acknowledged.length).toBeGreaterThan(before.length);

    const restored = join(folder(), 'restored');
    const { findings, ...counted } = await adminJson(['restore', file], { DATA_DIR: restored });
    expect([findings, counted.instances >= before.length]).toEqual([[], true]);
    const there = await instancesOf(restored);
    expect(before.filter((id) => !there.has(id))).toEqual([]);
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
