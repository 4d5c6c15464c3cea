import { execFile } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { type Connection, ended } from './connection.js';
import { RunFailed } from './failure.js';
import { land, OpenFolder, unlock } from './landing.js';
import type { Fetched } from './paths.js';
import { NOTHING_THERE, remote } from './scripts.js';

/**
 * A folder to send. The content of the local folder `from` is copied to `to`, which is in the workspace unless it is
 * absolute.
 */
export interface Folder {
  from: string;
  to: string;
}

/** State of the remote side, and the folder that its paths are relative to. */
export interface Remote {
  hasRsync: boolean;
  hasBegun: boolean;
  workspace: string;
}

/** Exit codes that indicate a lost connection. 255 is from ssh. 10, 12, 30 and 35 are from rsync. */
const LOST = new Set<number | null>([255, 10, 12, 30, 35]);

/** Maximum number of characters to show of tar's error message. */
const MAX_ERROR_CHARACTERS = 400;

/** Outcome of one attempt. */
export type Outcome = 'done' | 'lost' | 'nothing there';

const runFile = promisify(execFile);

/** Throws RunFailed if anything in the list isn't a folder, before anything is rented. */
export function checkFolders(folders: readonly Folder[]): void {
  for (const { from } of folders) {
    if (!statSync(from, { throwIfNoEntry: false })?.isDirectory()) throw new RunFailed(`${from} is not a local folder`);
  }
}

/**
 * Sends a folder. If both sides have rsync, it is used because it can resume after a disconnect. Otherwise, the folder
 * is sent as one archive.
 */
export async function send(connection: Connection, folder: Folder, remoteSide: Remote): Promise<Outcome> {
  const from = resolve(folder.from);
  const to = posix.resolve(remoteSide.workspace, folder.to);
  if (remoteSide.hasRsync && (await hasRsync())) {
    const remoteRsync = `mkdir -p '${to.replaceAll("'", "'\\''")}' && rsync`;
    const args = ['-rlpt', '-s', '--partial', `--rsync-path=${remoteRsync}`, '-e', connection.shell];
    const child = connection.start(
      'rsync',
      [...args, `${from}/`, connection.addressOf(`${to}/`)],
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
  if (outcome === 'done' && packed !== 0) throw new RunFailed(`tar exited with ${packed}`);
  return outcome;
}

/**
 * Fetches a path in the workspace to its place under `into`. `onOmitted` receives the entries that would put this
 * computer at risk.
 */
export async function fetchPath(
  connection: Connection,
  { path, to }: Fetched,
  into: string,
  onOmitted: (paths: readonly string[]) => void,
): Promise<Outcome> {
  const root = realpathSync(into);
  // Uses a draft folder, because archives must never be unpacked directly over the renter's files.
  const folder = mkdtempSync(join(root, '.gpu-run-'));
  const draft = new OpenFolder(Buffer.from(folder));
  try {
    const outcome = await unpackInto(connection, path, draft.path.toString());
    if (outcome === 'done') onOmitted(land(draft, path, root, to));
    return outcome;
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    throw syscall === undefined ? error : new RunFailed(`${to} can't be written here: ${code}`);
  } finally {
    remove(folder, draft);
    draft.close();
  }
}

/** Removes the draft. A tree that is too deep to remove is left behind, because the results matter more. */
function remove(folder: string, draft: OpenFolder): void {
  for (const prepare of [() => {}, () => unlock(draft)]) {
    try {
      prepare();
      rmSync(folder, { recursive: true, force: true });
      return;
    } catch {}
  }
}

async function unpackInto(connection: Connection, path: string, draft: string): Promise<Outcome> {
  const sending = connection.ssh(remote('send', path), ['ignore', 'pipe', 'inherit']);
  const unpacking = connection.start('tar', ['-xof', '-'], ['pipe', 'ignore', 'pipe'], draft);
  const stderrTail = tailOf(unpacking.stderr!);
  const codes = Promise.all([ended(sending), ended(unpacking)]);
  unpacking.stdin!.on('error', () => {});
  sending.stdout!.pipe(unpacking.stdin!);
  const [sent, unpacked] = await codes;
  // Without an archive, tar fails too, but its message wouldn't help.
  if (sent === NOTHING_THERE) return 'nothing there';
  const outcome = outcomeOf('tar', sent);
  if (outcome === 'done' && unpacked !== 0) throw new RunFailed(`${path} can't be unpacked here: ${stderrTail()}`);
  return outcome;
}

/**
 * Reads a program's standard error. The returned function returns its last lines as one line, once the program has
 * ended.
 */
function tailOf(stream: Readable): () => string {
  let tail = '';
  stream.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).slice(-MAX_ERROR_CHARACTERS);
  });
  return () => tail.trim().replace(/\s*\n\s*/g, '; ');
}

function outcomeOf(program: string, code: number | null): Outcome {
  if (code === 0) return 'done';
  if (LOST.has(code)) return 'lost';
  throw new RunFailed(`${program} ${code === null ? 'was terminated by a signal' : `exited with ${code}`}`);
}

async function hasRsync(): Promise<boolean> {
  return runFile('rsync', ['--version']).then(
    () => true,
    () => false,
  );
}
