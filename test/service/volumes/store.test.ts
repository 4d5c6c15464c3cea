import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { DomainError } from '../../../src/domain/kernel/errors.js';
import { type ObjectKind, type ObjectName, StoreFault, type VolumeStore } from '../../../src/domain/volumes/store.js';
import { FolderStore } from '../../../src/volumes/folder-store.js';
import { S3Store } from '../../../src/volumes/s3-store.js';
import { S3_CREDENTIALS, startS3, type TestS3 } from '../../support/s3.js';

const ONE = 'v-00000001';
const TWO = 'v-00000002';
const CONFIG: ObjectName = { kind: 'config' };

let s3: TestS3;
beforeAll(async () => {
  for (const [name, value] of Object.entries(S3_CREDENTIALS)) vi.stubEnv(name, value);
  s3 = await startS3();
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await s3.close();
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'store-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function openS3(): VolumeStore {
  const prefix = `${randomBytes(4).toString('hex')}/`;
  return new S3Store({ bucket: s3.bucket, prefix, endpoint: s3.endpoint, region: 'us-east-1' });
}

describe.each([
  ['a folder', () => new FolderStore(join(folder, 'volumes'))],
  ['S3', openS3],
])('a store in %s', (_name, open) => {
  let store: VolumeStore;
  beforeEach(() => {
    store = open();
  });
  afterEach(() => store.close());

  test.each([0, 1, 5_000, 5 * 1_024 * 1_024, 12_345_678])('can store an object of %i bytes', async (size) => {
    const bytes = randomBytes(size);
    const object = named('data', bytes);
    await put(store, ONE, object, bytes);
    expect(await store.size(ONE, object)).toBe(size);
    expect((await read(store, ONE, object))?.equals(bytes)).toBe(true);
    const listed = await all(store.list(ONE, 'data'));
    expect(listed).toMatchObject([{ name: nameOf(bytes), size }]);
    expect(Math.abs(Date.now() - listed[0]!.modifiedAtMs)).toBeLessThan(60_000);
  });

  test('can read part of an object', async () => {
    const bytes = randomBytes(1_000_000);
    const object = named('data', bytes);
    await put(store, ONE, object, bytes);
    for (const [from, to] of [
      // s3rver treats 0-0 as the whole object.
      [0, 9],
      [10, 700_000],
      [999_999, 999_999],
      [999_000, 999_999],
    ] as const) {
      const part = await buffer((await store.read(ONE, object, { from, to }))!);
      expect(part.equals(bytes.subarray(from, to + 1))).toBe(true);
    }
  });

  test('finds nothing for missing objects and volumes', async () => {
    const object = named('keys', randomBytes(9));
    expect(await store.size(ONE, object)).toBeNull();
    expect(await store.read(ONE, object, null)).toBeNull();
    expect(await store.delete(ONE, object)).toBeNull();
    expect(await store.size(ONE, CONFIG)).toBeNull();
    expect(await all(store.list(ONE, 'data'))).toEqual([]);
    expect(await all(store.volumes())).toEqual([]);
    await store.erase(ONE);
    expect(await store.copy(ONE, TWO, 'snapshots')).toBe(0);
    expect(await store.copy(ONE, TWO, 'config')).toBe(0);
  });

  test('hides an object until it is published and can discard it without a trace', async () => {
    for (const size of [100, 6_000_000]) {
      const bytes = randomBytes(size);
      const object = named('index', bytes);
      const received = await store.receive(ONE, object, pieces(bytes));
      expect(await store.size(ONE, object)).toBeNull();
      expect(await all(store.list(ONE, 'index'))).toEqual([]);
      await received.discard();
      expect(await store.size(ONE, object)).toBeNull();
    }
  });

  test('keeps nothing from a failed upload and reports the cause', async () => {
    const bytes = randomBytes(7_000_000);
    const broken = (async function* () {
      yield* pieces(bytes);
      throw new DomainError('invalid_request', 'it is no such object');
    })();
    await expect(store.receive(ONE, named('data', bytes), broken)).rejects.toThrow(DomainError);
    expect(await all(store.list(ONE, 'data'))).toEqual([]);
  });

  test('keeps an existing object and replaces a damaged one', async () => {
    const bytes = randomBytes(1_000);
    const object = named('data', bytes);
    expect(await put(store, ONE, object, bytes)).toEqual({ outcome: 'created' });
    expect(await put(store, ONE, object, bytes)).toEqual({ outcome: 'kept' });
    expect(await put(store, ONE, object, bytes.subarray(0, 400))).toEqual({ outcome: 'replaced', wasBytes: 1_000 });
    expect(await put(store, ONE, object, bytes)).toEqual({ outcome: 'replaced', wasBytes: 400 });
    expect((await read(store, ONE, object))?.equals(bytes)).toBe(true);
  });

  test('deletes one object and returns its size', async () => {
    const [one, two] = [randomBytes(10), randomBytes(20)];
    await put(store, ONE, named('locks', one), one);
    await put(store, ONE, named('locks', two), two);
    expect(await store.delete(ONE, named('locks', one))).toBe(10);
    expect((await all(store.list(ONE, 'locks'))).map(({ name }) => name)).toEqual([nameOf(two)]);
  });

  test('erases only the given volume', async () => {
    for (const volume of [ONE, TWO])
      for (const kind of ['data', 'keys', 'index', 'snapshots', 'locks'] as const) {
        const bytes = randomBytes(50);
        await put(store, volume, named(kind, bytes), bytes);
      }
    await put(store, ONE, CONFIG, randomBytes(155));
    expect((await all(store.volumes())).sort()).toEqual([ONE, TWO]);
    await store.erase(ONE);
    expect(await all(store.volumes())).toEqual([TWO]);
    expect(await store.size(ONE, CONFIG)).toBeNull();
    expect(await all(store.list(TWO, 'data'))).toHaveLength(1);
  });

  test('copies missing objects, which remain after the source is erased', async () => {
    const all = [randomBytes(10), randomBytes(2_000), randomBytes(30)];
    for (const bytes of all) await put(store, ONE, named('data', bytes), bytes);
    await put(store, ONE, CONFIG, Buffer.from('config'));
    await put(store, TWO, named('data', all[0]!), all[0]!);
    expect(await store.copy(ONE, TWO, 'data')).toBe(2);
    expect(await store.copy(ONE, TWO, 'data')).toBe(0);
    expect(await store.copy(ONE, TWO, 'config')).toBe(1);
    await store.erase(ONE);
    for (const bytes of all) expect((await read(store, TWO, named('data', bytes)))?.equals(bytes)).toBe(true);
    expect((await read(store, TWO, CONFIG))?.toString()).toBe('config');
  });
});

test('an S3 store lists and erases more objects than fit on one page', async () => {
  const store = openS3();
  const bytes = Buffer.from('object');
  await put(store, ONE, named('snapshots', bytes), bytes);
  const others = Array.from({ length: 1_099 }, (_, index) => nameOf(Buffer.from(`object ${index}`)));
  await s3.copyObject(nameOf(bytes), others);
  const names = (await all(store.list(ONE, 'snapshots'))).map(({ name }) => name);
  expect(names.sort()).toEqual([nameOf(bytes), ...others].sort());
  await store.erase(ONE);
  expect(await all(store.list(ONE, 'snapshots'))).toEqual([]);
  store.close();
});

describe('a folder store', () => {
  test('is readable only by its user and keeps no temporary files after publishing', async () => {
    const store = new FolderStore(folder);
    const bytes = randomBytes(10);
    await put(store, ONE, named('data', bytes), bytes);
    const name = nameOf(bytes);
    expect((await stat(join(folder, ONE, 'data', name.slice(0, 2), name))).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, ONE))).mode & 0o777).toBe(0o700);
    expect(await readdir(join(folder, ONE, 'arriving'))).toEqual([]);
  });

  test("removes a crashed gateway's temporary files", async () => {
    const store = new FolderStore(folder);
    const bytes = randomBytes(10);
    await store.receive(ONE, named('data', bytes), pieces(bytes));
    await store.removeAbandonedUploads(ONE, Date.now() - 60_000);
    expect(await readdir(join(folder, ONE, 'arriving'))).toHaveLength(1);
    await store.removeAbandonedUploads(ONE, Date.now() + 60_000);
    expect(await readdir(join(folder, ONE, 'arriving'))).toHaveLength(0);
  });

  test('erases a volume along with its in-progress uploads', async () => {
    const store = new FolderStore(folder);
    const bytes = randomBytes(6_000_000);
    const arriving = await store.receive(ONE, named('data', bytes), pieces(bytes));
    await store.erase(ONE);
    await expect(arriving.publish()).rejects.toThrow(StoreFault);
    await arriving.discard();
    expect(await store.size(ONE, named('data', bytes))).toBeNull();
  });

  test('causes a store fault if it is unavailable', async () => {
    await writeFile(join(folder, 'file'), '');
    const store = new FolderStore(join(folder, 'file', 'volumes'));
    await expect(put(store, ONE, CONFIG, Buffer.from('x'))).rejects.toThrow(StoreFault);
  });
});

test('an unreachable S3 store causes a store fault', async () => {
  const store = new S3Store({ bucket: 'b', prefix: '', endpoint: 'http://127.0.0.1:9', region: 'us-east-1' });
  await expect(store.size(ONE, CONFIG)).rejects.toThrow(StoreFault);
  await expect(put(store, ONE, CONFIG, Buffer.from('x'))).rejects.toThrow(StoreFault);
  store.close();
});

async function put(store: VolumeStore, volume: string, object: ObjectName, bytes: Buffer) {
  const received = await store.receive(volume, object, pieces(bytes));
  try {
    return await received.publish();
  } finally {
    await received.discard();
  }
}

async function read(store: VolumeStore, volume: string, object: ObjectName): Promise<Buffer | null> {
  const stream = await store.read(volume, object, null);
  return stream === null ? null : buffer(stream);
}

async function all<T>(found: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of found) items.push(item);
  return items;
}

async function* pieces(bytes: Buffer): AsyncIterable<Buffer> {
  for (let from = 0; from < bytes.length; from += 65_536) yield bytes.subarray(from, from + 65_536);
}

function named(kind: ObjectKind, bytes: Buffer): ObjectName {
  return { kind, name: nameOf(bytes) };
}

function nameOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
