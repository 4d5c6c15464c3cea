import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join, posix, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type Connection, ended } from './connection.js';
import { RunFailed } from './failure.js';
import { NOTHING_THERE, remote } from './scripts.js';

/** A folder that is sent: what is in `from` here comes into `to`, below the workspace unless it is absolute. */
export interface Folder {
  from: string;
  to: string;
}

/** Whether the other side has rsync, and where paths begin there. */
export interface Place {
  hasRsync: boolean;
  hasBegun: boolean;
  workspace: string;
}

/** ssh has lost its connection, or rsync has: 10, 12, 30 and 35 are its own codes for it. */
const LOST = new Set<number | null>([255, 10, 12, 30, 35]);

/** What became of one try. */
export type Outcome = 'done' | 'lost' | 'nothing there';

const runFile = promisify(execFile);

/** Refuses with RunFailed what is no folder, before anything is rented. */
export function checkFolders(folders: readonly Folder[]): void {
  for (const { from } of folders) {
    if (!statSync(from, { throwIfNoEntry: false })?.isDirectory()) throw new RunFailed(`${from} is no folder here`);
  }
}

/** Refuses with RunFailed a path that would come back to somewhere else. */
export function checkOut(paths: readonly string[]): string[] {
  return paths.map((path) => {
    const normal = posix.normalize(path.replaceAll('\\', '/')).replace(/\/+$/, '');
    if (posix.isAbsolute(normal) || normal.startsWith('..') || normal === '.' || normal === '')
      throw new RunFailed(`${path} is no path below the workspace: results, or results/run-1`);
    return normal;
  });
}

/** With rsync where both sides have it, which goes on where it was cut off; else as one archive. */
export async function send(connection: Connection, folder: Folder, place: Place): Promise<Outcome> {
  const from = resolve(folder.from);
  const to = posix.resolve(place.workspace, folder.to);
  if (place.hasRsync && (await hasRsync())) {
    const begin = `mkdir -p '${to.replaceAll("'", "'\\''")}' && rsync`;
    const args = ['-rlpt', '-s', '--partial', `--rsync-path=${begin}`, '-e', connection.shell];
    const child = connection.start(
      'rsync',
      [...args, `${from}/`, connection.placeOf(`${to}/`)],
      ['ignore', 'ignore', 'inherit'],
    );
    return outcomeOf('rsync', await ended(child));
  }
  const receiving = connection.ssh(remote('receive', to), ['pipe', 'ignore', 'inherit']);
  const packing = connection.start('tar', ['-cf', '-', '-C', from, '.'], ['ignore', 'pipe', 'inherit']);
  const codes = Promise.all([ended(receiving), ended(packing)]);
  receiving.stdin!.on('error', () => {});
  packing.stdout!.pipe(receiving.stdin!);
  const [received, packed] = await codes;
  const outcome = outcomeOf('tar', received);
  if (outcome === 'done' && packed !== 0) throw new RunFailed(`tar ended with ${packed}`);
  return outcome;
}

/** Brings a path of the workspace to the same path below `into`. */
export async function bringBack(connection: Connection, path: string, into: string): Promise<Outcome> {
  // The host decides what it sends: nothing of it is unpacked where a file of the renter's lies.
  const draft = mkdtempSync(join(into, '.gpu-run-'));
  try {
    const outcome = await unpackInto(connection, path, draft);
    if (outcome === 'done') moveOver(join(draft, path), join(into, path));
    return outcome;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

async function unpackInto(connection: Connection, path: string, draft: string): Promise<Outcome> {
  const sending = connection.ssh(remote('send', path), ['ignore', 'pipe', 'inherit']);
  const unpacking = connection.start('tar', ['-xof', '-'], ['pipe', 'ignore', 'inherit'], draft);
  const codes = Promise.all([ended(sending), ended(unpacking)]);
  unpacking.stdin!.on('error', () => {});
  sending.stdout!.pipe(unpacking.stdin!);
  const [sent, unpacked] = await codes;
  if (sent === NOTHING_THERE) return 'nothing there';
  const outcome = outcomeOf('tar', sent);
  if (outcome === 'done' && unpacked !== 0) throw new RunFailed(`tar ended with ${unpacked}`);
  return outcome;
}

function outcomeOf(program: string, code: number | null): Outcome {
  if (code === 0) return 'done';
  if (LOST.has(code)) return 'lost';
  throw new RunFailed(`${program} ended with ${code ?? 'a signal'}`);
}

/** Files there that are not in it stay. */
function moveOver(from: string, to: string): void {
  if (!existsSync(from)) throw new RunFailed(`${to} did not come back`);
  mkdirSync(dirname(to), { recursive: true });
  if (existsSync(to)) cpSync(from, to, { recursive: true, force: true, verbatimSymlinks: true });
  else renameSync(from, to);
}

async function hasRsync(): Promise<boolean> {
  return runFile('rsync', ['--version']).then(
    () => true,
    () => false,
  );
}
