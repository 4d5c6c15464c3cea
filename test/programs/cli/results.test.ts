import { spawn } from 'node:child_process';
import {
  createWriteStream,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { pack } from 'tar-stream';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Connection } from '../../../src/run/connection.js';
import { fetchPath } from '../../../src/run/files.js';
import { OpenFolder } from '../../../src/run/landing.js';
import { checkDestinations, checkOut, toSafePlace } from '../../../src/run/paths.js';
import { entrypointOf, termsOf } from '../../../src/run/scripts.js';
import { folder } from '../../support/process.js';

type Entry = {
  name: string;
  type?: 'file' | 'directory' | 'symlink' | 'link' | 'fifo';
  text?: string;
  linkname?: string;
  mode?: number;
};

describe('fetching a hostile instance’s results', () => {
  let into: string;
  let elsewhere: string;
  beforeEach(() => {
    into = folder();
    elsewhere = folder();
    writeFileSync(join(elsewhere, 'keys'), 'mine');
  });

  /** Fetches `path` from an instance that responds with these entries. */
  async function bring(path: string, entries: readonly Entry[], to = path): Promise<string[]> {
    const archive = join(folder(), 'archive');
    const leftOut: string[] = [];
    const writing = pack();
    for (const { text = '', ...entry } of entries) writing.entry({ mode: 0o755, ...entry }, text);
    writing.finalize();
    await pipeline(writing, createWriteStream(archive));
    const connection = {
      ssh: (_: string, stdio: never) => spawn('cat', [archive], { stdio }),
      start: (program: string, args: string[], stdio: never, cwd: string) => spawn(program, args, { stdio, cwd }),
    };
    await fetchPath(connection as unknown as Connection, { path, to }, into, (paths) => leftOut.push(...paths));
    return leftOut.sort();
  }

  const link = (name: string, linkname: string): Entry => ({ name, type: 'symlink', linkname });
  const directory = (name: string): Entry => ({ name, type: 'directory' });

  it('doesn’t follow a link created by an earlier fetch', async () => {
    expect(await bring('results', [directory('results'), link('results/sub', elsewhere)])).toEqual(['results/sub']);
    await bring('results', [directory('results/sub'), { name: 'results/sub/keys', text: 'evil' }]);
    expect(readFileSync(join(into, 'results/sub/keys'), 'utf8')).toBe('evil');
    expect(readFileSync(join(elsewhere, 'keys'), 'utf8')).toBe('mine');
  });

  it('omits links that point outside and keeps the others', async () => {
    const entries = [
      directory('results/a/b'),
      link('results/up', '..'),
      link('results/a/top', '..'),
      link('results/a/b/ok', '../../x'),
      link('results/later', 'x'),
      link('results/tricky', 'a/top/../keys'),
      link('results/a/b/out', '../../../keys'),
      { name: 'results/pipe', type: 'fifo' } as const,
    ];
    const leftOut = ['results/a/b/out', 'results/pipe', 'results/tricky', 'results/up'];
    expect(await bring('results', entries)).toEqual(leftOut);
    expect(readdirSync(join(into, 'results')).sort()).toEqual(['a', 'later']);
    expect(readlinkSync(join(into, 'results/a/b/ok'))).toBe('../../x');
  });

  it('replaces existing links with files instead of writing through them', async () => {
    mkdirSync(join(into, 'results'));
    symlinkSync(elsewhere, join(into, 'results/sub'));
    symlinkSync(join(elsewhere, 'keys'), join(into, 'results/file'));
    const evil = { name: 'results/sub/keys', text: 'evil' };
    await expect(bring('results', [evil])).rejects.toThrow('results/sub is a link here');
    await expect(bring('results/sub/keys', [evil])).rejects.toThrow('results/sub is a link here');
    await bring('results', [{ name: 'results/file', text: 'new' }]);
    expect(readFileSync(join(into, 'results/file'), 'utf8')).toBe('new');
    expect([readdirSync(elsewhere), readFileSync(join(elsewhere, 'keys'), 'utf8')]).toEqual([['keys'], 'mine']);
    // No unpacked file is left behind.
    expect(readdirSync(into)).toEqual(['results']);
  });

  it('moves no files reached only through a link', async () => {
    mkdirSync(join(elsewhere, 'b'));
    await expect(bring('a/b', [link('a', elsewhere)])).rejects.toThrow('a/b was not received');
    await expect(bring('a', [link('a', elsewhere)])).rejects.toThrow('a was not received');
    expect(existsSync(join(elsewhere, 'b'))).toBe(true);
  });

  it('strips special mode bits and creates no hard links', async () => {
    const entries: Entry[] = [
      { ...directory('results'), mode: 0o3777 },
      { name: 'results/program', text: 'x', mode: 0o6755 },
      { name: 'results/twin', type: 'link', linkname: 'results/program' },
      { ...directory('results/closed'), mode: 0o000 },
    ];
    await bring('results', entries);
    const modes = ['', 'program', 'twin'].map((name) => lstatSync(join(into, 'results', name)).mode & 0o7000);
    expect(modes).toEqual([0, 0, 0]);
    expect(lstatSync(join(into, 'results/twin')).nlink).toBe(1);
  });

  it('keeps local files that the instance doesn’t send', async () => {
    mkdirSync(join(into, 'results/sub'), { recursive: true });
    for (const name of ['results/sub/both', 'results/kept']) writeFileSync(join(into, name), 'old');
    await bring('results', [{ name: 'results/sub/both', text: 'new' }, directory('results/empty')]);
    const texts = ['results/sub/both', 'results/kept'].map((name) => readFileSync(join(into, name), 'utf8'));
    expect(texts).toEqual(['new', 'old']);
  });

  it('rejects a tree that is too deep, and leaves nothing of it behind', async () => {
    const deep = [{ name: `results/${'d/'.repeat(300)}file`, text: 'x' }];
    await expect(bring('results', deep)).rejects.toThrow('results can have at most 256 nested folders');
    expect(readdirSync(into)).toEqual([]);
  });

  it('doesn’t follow a link that replaces a folder during the fetch', { skip: process.platform !== 'linux' }, () => {
    const draft = join(into, 'draft');
    mkdirSync(draft);
    const held = new OpenFolder(Buffer.from(draft));
    renameSync(draft, join(into, 'moved'));
    symlinkSync(elsewhere, draft);
    writeFileSync(join(held.path.toString(), 'file'), 'x');
    expect([readdirSync(elsewhere), readdirSync(join(into, 'moved'))]).toEqual([['keys'], ['file']]);
    held.close();
    expect(() => new OpenFolder(Buffer.from(draft))).toThrow();
  });

  it.each(['../stash/a', '/etc/passwd', 'a/../../b', 'a/..', 'a\0b', '', '.', '..\\up', '\\\\up'])(
    'rejects the path %j on the command line and in a launch',
    (path) => {
      expect(() => checkOut([path])).toThrow('must be a path under the workspace');
      const launched = entrypointOf({ out: ['results', path], keep: false }, 600);
      expect(() => termsOf(launched)).toThrow('must be a path under the workspace');
    },
  );

  it('rejects a link as the destination before anything is transferred', () => {
    symlinkSync(elsewhere, join(into, 'link'));
    for (const path of ['link', 'link/keys'])
      expect(() => checkDestinations([path], into)).toThrow('link is a link here');
    writeFileSync(join(into, 'file'), '');
    expect(() => checkDestinations(['file/a'], into)).toThrow('file is not a local folder');
    expect(() => checkDestinations(['file', 'new/a'], into)).not.toThrow();
  });

  it('never overwrites existing files on attach', () => {
    mkdirSync(join(into, 'results'));
    const places = toSafePlace(['new/a', 'results/a', '.ssh/authorized_keys'], 'i-31f72534', into);
    expect(places.map(({ to }) => to)).toEqual(['new/a', 'i-31f72534/results/a', 'i-31f72534/.ssh/authorized_keys']);
  });
});
