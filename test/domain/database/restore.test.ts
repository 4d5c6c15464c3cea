import { createHash } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type Header, pack } from 'tar-stream';
import { afterAll, describe, expect, it } from 'vitest';
import { RestoreRefused, restore } from '../../../src/database/embedded/restore.js';
import { cleanUp, folder } from '../../support/process.js';

afterAll(cleanUp);

interface File {
  header: Header;
  bytes: Buffer;
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

describe('restore', () => {
  const file = (name: string, text: string, header: Partial<Header> = {}): File => ({
    header: { name, type: 'file', ...header } as Header,
    bytes: Buffer.from(text),
  });
  const DATA = [file('PG_VERSION', '18\n'), file('base/1/1259', 'the rows of a table')];
  const LOG = file('pg_wal/000000010000000000000002', 'its log');
  const OTHER = file('other', 'other');
  const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');

  /** Returns the manifest that PostgreSQL would write for these files. */
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
  const complete = () => packed([...DATA, LOG, MANIFEST]);

  it('restores a complete backup', async () => {
    const target = folder();
    await restore(put(await complete()), target);
    expect(readdirSync(join(target, 'postgres')).sort()).toEqual(['PG_VERSION', 'base', 'pg_wal']);
  });

  it.each<[string, () => Promise<string> | string, RegExp]>([
    [
      'a truncated backup',
      async () => put((await complete()).subarray(0, -20)),
      /is not a complete backup: unexpected end of file/,
    ],
    ['a changed byte', async () => put(flipped(await complete())), /is not a complete backup/],
    ['a text file', () => put(Buffer.from('no archive')), /is not a complete backup: incorrect header check/],
    ['an empty file', () => put(Buffer.alloc(0)), /is not a complete backup/],
    ['a missing backup', () => join(folder(), 'absent.tar.gz'), /ENOENT/],
    ['a folder', () => folder(), /EISDIR/],
    [
      'a backup with a changed file',
      () => putFiles(DATA[0]!, { ...DATA[1]!, bytes: flipped(DATA[1]!.bytes) }, MANIFEST),
      /is not a complete backup: base\/1\/1259 was changed/,
    ],
    ['a backup with a missing file', () => putFiles(DATA[0]!, LOG, MANIFEST), /base\/1\/1259 is missing/],
    ['a backup with an extra file', () => putFiles(...DATA, OTHER, MANIFEST), /other is not in its manifest/],
    ['a backup without a manifest', () => putFiles(...DATA, LOG), /it has no manifest/],
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
      'a manifest that omits a file',
      () =>
        putFiles(
          DATA[0]!,
          manifestOf(DATA, (text) => text.replace(/,\n.*1259.*\n/, '\n')),
        ),
      /its manifest was changed/,
    ],
    [
      'a malformed manifest',
      () => putFiles(...DATA, file('backup_manifest', '{"Files": 5}')),
      /has no SHA-256 checksums/,
    ],
    ['a path above the folder', () => putFiles(...DATA, file('../evil', 'x'), MANIFEST), /outside its folder/],
    ['an absolute path', () => putFiles(...DATA, file('/tmp/evil', 'x'), MANIFEST), /outside its folder/],
    [
      'a link',
      () => putFiles(...DATA, file('base/evil', '', { type: 'symlink', linkname: '/etc/passwd' }), MANIFEST),
      /neither a file nor a folder/,
    ],
    ['the same file twice', () => putFiles(...DATA, DATA[0]!, MANIFEST), /PG_VERSION/],
  ])('rejects %s and restores nothing', async (_name, make, reason) => {
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
