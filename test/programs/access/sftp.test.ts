import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OPEN, REQUEST, STATUS } from '../../../src/access/ssh/sftp-packets.js';
import { SftpClient } from '../../support/access/sftp.js';
import { scratchFolder } from '../../support/scratch.js';
import { find } from '../../support/tools.js';

const OPEN_SSH_SERVER = '/usr/lib/openssh/sftp-server';
const NO_ATTRIBUTES = 0;
const MODE = 4;
const STATUS_TYPE = 101;

/** Creates a folder with nothing but links to busybox, so no other program is found. */
function busybox(): { shell: string; path: string } {
  const dir = scratchFolder('busybox-');
  for (const name of [
    'sh',
    ...'cat chmod chown dd head ln mkdir mv readlink rm rmdir stat tail touch truncate xargs'.split(' '),
  ])
    symlinkSync(find('busybox')!, join(dir, name));
  return { shell: join(dir, 'sh'), path: dir };
}

const servers = {
  'our server, with coreutils': () => SftpClient.ours('/bin/sh', '/usr/bin:/bin'),
  'our server, with busybox': () => SftpClient.ours(busybox().shell, busybox().path),
  'OpenSSH’s server': () => SftpClient.openSsh(OPEN_SSH_SERVER),
};

/** Our server must behave as OpenSSH's does. */
describe.each(Object.entries(servers))('%s', (name, start) => {
  const isLeftOut =
    (name.includes('busybox') && find('busybox') === null) ||
    (name.includes('OpenSSH') && !existsSync(OPEN_SSH_SERVER));
  let sftp: SftpClient;
  let dir: string;
  const at = (...parts: string[]) => join(dir, ...parts);
  const rename = async (from: string, to: string) =>
    (await sftp.request(REQUEST.extended, 'posix-rename@openssh.com', at(from), at(to))).status;

  beforeAll(async () => {
    if (!isLeftOut) sftp = await start();
    dir = scratchFolder('sftp-');
  });
  afterAll(() => sftp?.end());

  it.skipIf(isLeftOut)('replaces a link to a folder instead of moving the file into that folder', async () => {
    for (const folder of ['folder', 'empty', 'full', 'moved', 'moved-too', 'from']) mkdirSync(at(folder));
    for (const file of ['file', 'full/kept', 'plain', 'linked']) writeFileSync(at(file), file);
    for (const link of ['link', 'link-2']) symlinkSync('folder', at(link));
    symlinkSync('nowhere', at('dangling'));
    expect(await rename('file', 'link')).toBe(STATUS.ok);
    expect([lstatSync(at('link')).isFile(), readdirSync(at('folder'))]).toEqual([true, []]);
    expect(await rename('plain', 'folder')).toBe(STATUS.failure);
    expect(await rename('moved', 'full')).toBe(STATUS.failure);
    expect(await rename('moved', 'link-2')).toBe(STATUS.noSuchFile);
    expect(await rename('moved', 'empty')).toBe(STATUS.ok);
    expect(await rename('nothing', 'plain')).toBe(STATUS.noSuchFile);
    expect(await rename('plain', 'plain')).toBe(STATUS.ok);
    expect(readFileSync(at('plain'), 'utf8')).toBe('plain');
    const without = (from: string, to: string) => sftp.request(REQUEST.rename, at(from), at(to));
    for (const to of ['folder', 'link-2', 'dangling', 'linked'])
      expect([to, (await without('plain', to)).status]).toEqual([to, STATUS.failure]);
    for (const to of ['folder', 'link-2', 'dangling']) {
      expect((await sftp.request(REQUEST.symlink, 'target', at(to))).status).toBe(STATUS.failure);
      const linked = await sftp.request(REQUEST.extended, 'hardlink@openssh.com', at('linked'), at(to));
      expect(linked.status).toBe(STATUS.failure);
    }
    expect(readdirSync(at('folder'))).toEqual([]);
    expect((await sftp.request(REQUEST.opendir, at('plain'))).status).toBe(STATUS.noSuchFile);
    expect((await sftp.request(REQUEST.opendir, at('nothing'))).status).toBe(STATUS.noSuchFile);
  });

  it.skipIf(isLeftOut)('keeps hundreds of open files separate', async () => {
    const flags = OPEN.read | OPEN.write | OPEN.create;
    const count = 150;
    const handles: Buffer[] = [];
    for (let index = 0; index < count; index += 1) {
      const opened = await sftp.request(REQUEST.open, at(`open-${index}`), flags, NO_ATTRIBUTES);
      expect(opened.status).toBe(null);
      handles.push(SftpClient.handle(opened));
    }
    const write = (index: number, offset: bigint, text: string) =>
      sftp.request(REQUEST.write, handles[index]!, offset, text);
    // More files than are written concurrently.
    for (let index = 0; index < 50; index += 1)
      expect((await write(index, 0n, `one ${index} `)).status).toBe(STATUS.ok);
    for (let index = 0; index < 50; index += 1) {
      const offset = BigInt(`one ${index} `.length);
      expect((await write(index, offset, 'two')).status).toBe(STATUS.ok);
    }
    for (const handle of handles) expect((await sftp.request(REQUEST.close, handle)).status).toBe(STATUS.ok);
    for (const index of [0, 25, 49]) expect(readFileSync(at(`open-${index}`), 'utf8')).toBe(`one ${index} two`);
  });

  it.skipIf(isLeftOut)('supports file names that aren’t valid UTF-8', async () => {
    const file = at('caf\xe9 $(x) \'"\xff');
    const opened = await sftp.request(REQUEST.open, file, OPEN.write | OPEN.create, NO_ATTRIBUTES);
    await sftp.request(REQUEST.write, SftpClient.handle(opened), 0n, 'words');
    expect((await sftp.request(REQUEST.close, SftpClient.handle(opened))).status).toBe(STATUS.ok);
    const bytes = Buffer.from(file, 'latin1');
    expect(readFileSync(bytes, 'utf8')).toBe('words');
    const folder = await sftp.request(REQUEST.opendir, dir);
    const listed = Buffer.concat([
      (await sftp.request(REQUEST.readdir, SftpClient.handle(folder))).body,
      (await sftp.request(REQUEST.readdir, SftpClient.handle(folder))).body,
    ]);
    expect(listed.includes(bytes.subarray(dir.length + 1))).toBe(true);
    const again = await sftp.request(REQUEST.open, file, OPEN.read, NO_ATTRIBUTES);
    const read = await sftp.request(REQUEST.read, SftpClient.handle(again), 0n, 100);
    expect(read.body.subarray(4).toString()).toBe('words');
    expect((await sftp.request(REQUEST.remove, file)).status).toBe(STATUS.ok);
    expect(existsSync(bytes)).toBe(false);
  });

  it.skipIf(isLeftOut)('reports the disk’s size, the server’s limits and real paths', async () => {
    const { type, body } = await sftp.request(REQUEST.extended, 'statvfs@openssh.com', dir);
    expect(type).not.toBe(STATUS_TYPE);
    const { bsize, blocks } = (await import('node:fs')).statfsSync(dir);
    expect([body.readBigUInt64BE(8), body.readBigUInt64BE(16)]).toEqual([BigInt(bsize), BigInt(blocks)]);
    expect((await sftp.request(REQUEST.extended, 'limits@openssh.com')).type).not.toBe(STATUS_TYPE);
    mkdirSync(at('deep/inside'), { recursive: true });
    symlinkSync('deep/inside', at('way'));
    const real = async (path: string) => SftpClient.name(await sftp.request(REQUEST.realpath, path));
    expect([await real(at('way')), await real(`${at('way')}/..`), await real(at('not-yet'))]).toEqual([
      at('deep/inside'),
      at('deep'),
      at('not-yet'),
    ]);
    expect((await sftp.request(REQUEST.realpath, at('no/way'))).status).toBe(STATUS.noSuchFile);
  });

  it.skipIf(isLeftOut)('applies the process’s umask to new files and folders', async () => {
    await sftp.request(REQUEST.mkdir, at('masked'), MODE, 0o777);
    const opened = await sftp.request(REQUEST.open, at('masked/file'), OPEN.write | OPEN.create, MODE, 0o666);
    await sftp.request(REQUEST.close, SftpClient.handle(opened));
    const mask = process.umask();
    expect(statSync(at('masked')).mode & 0o777).toBe(0o777 & ~mask);
    expect(statSync(at('masked/file')).mode & 0o777).toBe(0o666 & ~mask);
  });
});
