import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  createReadStream,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { find } from './tools.js';

const PIECE_BYTES = 8_388_608;
const SMALL_AT_ONCE = 500;
/** Sets and gets attributes like `setfattr` and `getfattr`, but needs only Python. */
const SET = "import os, sys; os.setxattr(sys.argv[1], 'user.note', sys.argv[2].encode(), follow_symlinks=False)";
const GET = `
import json, os, sys
found = {}
for dir, dirs, files in os.walk(sys.argv[1]):
    for name in dirs + files:
        path = os.path.join(dir, name)
        for attribute in os.listxattr(path, follow_symlinks=False):
            found[os.path.relpath(path, sys.argv[1])] = os.getxattr(path, attribute, follow_symlinks=False).decode()
print(json.dumps(found))`;

/**
 * Creates random files of all kinds in a folder: one of `largeBytes` bytes, `small` files of up to 4 kB, links and
 * folders, with various owners and times.
 */
export function makeTree(dir: string, { largeBytes, small }: { largeBytes: number; small: number }): void {
  const large = openSync(join(dir, 'large'), 'w');
  for (let left = largeBytes; left > 0; left -= PIECE_BYTES) writeSync(large, randomBytes(Math.min(left, PIECE_BYTES)));
  closeSync(large);
  const bytes = randomBytes(4_096 + small);
  for (let index = 0; index < small; index += 1) {
    const folder = join(dir, 'many', String(Math.floor(index / SMALL_AT_ONCE)));
    if (index % SMALL_AT_ONCE === 0) mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${index} é`), bytes.subarray(index, index + 1 + ((index * 37) % 4_096)));
  }
  writeFileSync(join(dir, 'owned'), 'somebody else’s', { mode: 0o640 });
  lchownSync(join(dir, 'owned'), 1_234, 5_678);
  writeFileSync(join(dir, 'runs'), '#!/bin/sh\n');
  chmodSync(join(dir, 'runs'), 0o4_755);
  linkSync(join(dir, 'large'), join(dir, 'many', 'hard'));
  symlinkSync('../large', join(dir, 'many', 'soft'));
  symlinkSync('/nowhere/at all', join(dir, 'dangling'));
  lutimesSync(join(dir, 'dangling'), 1_000_000_000.25, 1_000_000_000.25);
  mkdirSync(join(dir, 'empty'), { mode: 0o1_777 });
  lchownSync(join(dir, 'empty'), 42, 43);
  lutimesSync(join(dir, 'empty'), 946_684_800, 946_684_800.125);
  execFileSync(find('python3')!, ['-c', SET, join(dir, 'owned'), 'kept with the file']);
}

/** Returns everything that a copy must preserve, one line per file, sorted by path. */
export async function describeTree(dir: string): Promise<string[]> {
  const lines: string[] = [];
  const firstOf = new Map<bigint, string>();
  const walk = async (inside: string) => {
    for (const name of readdirSync(join(dir, inside)).sort()) {
      const path = join(inside, name);
      const { mode, uid, gid, size, mtimeNs, nlink, ino } = lstatSync(join(dir, path), { bigint: true });
      const isFile = (Number(mode) & 0o170_000) === 0o100_000;
      const isDir = (Number(mode) & 0o170_000) === 0o040_000;
      const isLink = (Number(mode) & 0o170_000) === 0o120_000;
      const first = isFile ? (firstOf.get(ino) ?? path) : '';
      if (isFile) firstOf.set(ino, first);
      const content = isFile ? await sha256(join(dir, path)) : isLink ? readlinkSync(join(dir, path)) : '';
      const links = isFile ? [String(nlink), first] : [];
      lines.push([path, Number(mode).toString(8), uid, gid, isDir ? '' : size, mtimeNs, ...links, content].join('|'));
      if (isDir) await walk(path);
    }
  };
  await walk('');
  const attributes = execFileSync(find('python3')!, ['-c', GET, dir]).toString();
  return [...lines, attributes];
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}
