import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ExecTarget } from '../../agent-protocol/tunnel-protocol.js';
import type { FileContent, FilePlace, Folder, InstanceFiles, Upload } from '../../domain/instances/instance-files.js';
import { DomainError } from '../../domain/kernel/errors.js';
import { checkNewPath, checkPath } from '../../domain/kernel/file-path.js';
import { deadline } from '../../std/deadline.js';
import { ByteQueue } from '../../std/untrusted/byte-queue.js';
import { LastBytes, lastLine } from '../../std/untrusted/last-line.js';
import { firstLine } from '../first-line.js';
import { refusalOf } from '../open-logs.js';
import { firstEvent } from '../ssh/first-event.js';
import { type Tunnel, TunnelRefused, type Tunnels } from '../tunnels.js';
import { listingScript, MAX_LISTING_BYTES, readListing } from './listing.js';
import { nameIt } from './name-it.js';

/** Time limit for commands that don't transfer a file. */
const COMMAND_MS = 60_000;
const MAX_NAME = 300;
const RETRY_AFTER_SECONDS = 5;

/**
 * Exit codes of scripts that refuse an operation. An exit code always arrives, whereas Podman 4.3 may lose the last
 * part of the output.
 */
const EXIT = {
  missing: 101,
  noFolder: 102,
  isFolder: 103,
  exists: 104,
  denied: 105,
  noFile: 106,
  notEmpty: 107,
  full: 108,
  incomplete: 109,
  failed: 110,
} as const;

const MESSAGES: Readonly<Record<number, string>> = {
  [EXIT.noFolder]: 'not a folder',
  [EXIT.isFolder]: 'is a folder',
  [EXIT.exists]: 'already exists',
  [EXIT.denied]: "the container's user lacks permission",
  [EXIT.noFile]: 'not a regular file',
  [EXIT.notEmpty]: 'folder is not empty',
  [EXIT.full]: 'no space left',
  [EXIT.incomplete]: 'the upload was incomplete',
  126: 'the image has no /bin/sh, which file access requires',
  127: 'the image has no /bin/sh, or lacks a program that file access requires',
};

/**
 * Accesses an instance's files by running commands in its container. The commands are the image's own `sh`, `cat`,
 * `stat`, `find`, `xargs`, `head` and `mv`, run as the image's user. Each operation opens its own tunnel, which closes
 * as soon as the instance, the key or the session ends.
 */
export function filesOf(tunnels: Tunnels): InstanceFiles {
  return {
    list: (folder, signal) => list(tunnels, folder, signal),
    read: (file, signal) => read(tunnels, file, signal),
    write: (file, upload, signal) => write(tunnels, file, upload, signal),
    makeFolder: async (folder, signal) => {
      checkNewPath(folder.path);
      await run(tunnels, folder, `${REFUSE_TAKEN} ${IN_FOLDER} mkdir -- "$f" || exit ${EXIT.failed}`, signal);
    },
    removeFile: async (file, signal) => {
      checkNewPath(file.path);
      // A link to a folder is removed like a file.
      const check = `${REFUSE_MISSING} if [ -d "$f" ] && [ ! -L "$f" ]; then exit ${EXIT.isFolder}; fi;`;
      await run(tunnels, file, `${check} ${IN_FOLDER} rm -f -- "$f" || exit ${EXIT.failed}`, signal);
    },
    removeFolder: async (folder, signal) => {
      checkNewPath(folder.path);
      const check = `${REFUSE_MISSING} if [ ! -d "$f" ] || [ -L "$f" ]; then exit ${EXIT.noFolder}; fi;`;
      const isEmpty = `[ -z "$(find "$f" -mindepth 1 -maxdepth 1 2>/dev/null | head -c 1)" ] || exit ${EXIT.notEmpty};`;
      await run(tunnels, folder, `${check} ${IN_FOLDER} ${isEmpty} rmdir -- "$f" || exit ${EXIT.failed}`, signal);
    },
  };
}

/** Checks for the programs first, because a missing program in a pipe would go unnoticed. */
const NEED_PROGRAMS = 'for p in find xargs stat head; do command -v $p >/dev/null || exit 127; done;';
const REFUSE_MISSING = `if [ ! -e "$f" ] && [ ! -L "$f" ]; then exit ${EXIT.missing}; fi;`;
const REFUSE_TAKEN = `if [ -e "$f" ] || [ -L "$f" ]; then exit ${EXIT.exists}; fi;`;
/** Checks the parent folder, `$d`. */
const IN_FOLDER = `d=\${f%/*}/; if [ ! -e "\${d%/}" ] && [ "$d" != / ]; then exit ${EXIT.missing}; fi; if [ ! -d "$d" ]; then exit ${EXIT.noFolder}; fi; if [ ! -w "$d" ] || [ ! -x "$d" ]; then exit ${EXIT.denied}; fi;`;

async function list(tunnels: Tunnels, folder: FilePlace, signal: AbortSignal): Promise<Folder> {
  checkPath(folder.path);
  const mark = `[${randomBytes(16).toString('hex')}]`;
  const check = `${NEED_PROGRAMS} ${REFUSE_MISSING} [ -d "$f" ] || exit ${EXIT.noFolder}; { [ -r "$f" ] && cd "$f" 2>/dev/null; } || exit ${EXIT.denied};`;
  const output = await run(tunnels, folder, `${check}\n${listingScript(mark)}`, signal);
  return readListing(output, mark);
}

async function read(tunnels: Tunnels, file: FilePlace, signal: AbortSignal): Promise<FileContent> {
  checkPath(file.path);
  const script = `${REFUSE_MISSING} [ ! -d "$f" ] || exit ${EXIT.isFolder}; [ -f "$f" ] || exit ${EXIT.noFile}; [ -r "$f" ] || exit ${EXIT.denied};
stat -L -c %s -- "$f" || exit ${EXIT.failed}; exec cat < "$f"`;
  const tunnel = await open(tunnels, file, script, signal);
  const stderr = stderrTail(tunnel);
  tunnel.end();
  try {
    const [line, rest] = await firstLine(tunnel);
    if (!/^\d{1,18}$/.test(line)) throw new Error('no size');
    if (rest.length > 0) tunnel.unshift(rest);
    const bytes = Readable.from(exactly(BigInt(line), tunnel), { objectMode: false });
    // Closing a generator that was never started doesn't run any code.
    bytes.once('close', () => tunnel.destroy());
    return { size: BigInt(line), bytes };
  } catch {
    await closed(tunnel);
    throw refusal(tunnel, file, stderr());
  }
}

/** Yields exactly `size` bytes of a file, even if it grows in the meantime. Throws if there are fewer. */
async function* exactly(size: bigint, tunnel: Tunnel): AsyncGenerator<Buffer> {
  let left = size;
  try {
    for await (const chunk of tunnel as AsyncIterable<Buffer>) {
      if (left < chunk.length) yield chunk.subarray(0, Number(left));
      else yield chunk;
      left -= BigInt(chunk.length);
      if (left <= 0n) return;
    }
    if (left > 0n) throw new Error('the file was truncated while being read');
  } finally {
    tunnel.destroy();
  }
}

async function write(tunnels: Tunnels, file: FilePlace, upload: Upload, signal: AbortSignal): Promise<void> {
  checkNewPath(file.path);
  const tunnel = await open(tunnels, file, writingScript(upload), signal);
  const stderr = stderrTail(tunnel);
  try {
    await firstLine(tunnel);
    tunnel.resume();
    for await (const chunk of upload.bytes) {
      if (!isOpen(tunnel)) break;
      if (!tunnel.write(chunk)) await firstEvent(tunnel, 'drain', 'close');
    }
    tunnel.end();
  } catch (error) {
    // The sender has disconnected. Unless its input ends properly, the script discards the file.
    if (isOpen(tunnel)) {
      tunnel.destroy();
      throw error;
    }
  }
  await closed(tunnel);
  if (tunnel.exitCode !== 0) throw refusal(tunnel, file, stderr());
}

/**
 * Returns a script that collects the bytes in a file next to the target and renames that file once all of them have
 * arrived. The script leaves nothing behind if it ends early: a lost connection causes a hangup, and an incomplete file
 * is discarded.
 */
function writingScript({ size, replaces }: Upload): string {
  const refused = replaces ? '' : REFUSE_TAKEN;
  return `if [ -d "$f" ]; then exit ${EXIT.isFolder}; fi; ${refused} ${IN_FOLDER}
if [ -e "$f" ] && [ ! -f "$f" ]; then exit ${EXIT.noFile}; fi
t="$d.gpu-upload-${randomBytes(8).toString('hex')}"
trap 'rm -f -- "$t"' EXIT
trap 'exit ${EXIT.incomplete}' HUP INT TERM PIPE
{ : > "$t"; } 2>/dev/null || exit ${EXIT.denied}
echo ready
e=$(cat 2>&1 > "$t") || case "$e" in *[Nn]o\\ space*|*[Qq]uota*) exit ${EXIT.full} ;; *) echo "$e" >&2; exit ${EXIT.failed} ;; esac
[ "$(stat -c %s -- "$t")" = ${size} ] || exit ${EXIT.incomplete}
if [ -d "$f" ]; then exit ${EXIT.isFolder}; fi; ${refused}
if [ -e "$f" ]; then chmod "$(stat -L -c %a -- "$f")" "$t"; fi
mv -f -- "$t" "$f" || exit ${EXIT.failed}`;
}

/** Runs a script with `$f` set to the path. Resolves to its output. */
async function run(tunnels: Tunnels, place: FilePlace, script: string, gone: AbortSignal): Promise<Buffer> {
  const limit = deadline(COMMAND_MS, gone);
  try {
    const tunnel = await open(tunnels, place, script, limit.signal);
    const stderr = stderrTail(tunnel);
    tunnel.end();
    const output = new ByteQueue();
    tunnel.on('data', (chunk: Buffer) => {
      output.push(chunk);
      if (output.length > MAX_LISTING_BYTES) tunnel.destroy();
    });
    await closed(tunnel);
    if (tunnel.exitCode !== 0) throw refusal(tunnel, place, stderr());
    return output.take();
  } finally {
    limit.clear();
  }
}

async function open(tunnels: Tunnels, place: FilePlace, script: string, signal: AbortSignal): Promise<Tunnel> {
  const { opener, instanceId, path } = place;
  const { accountId, keyId: apiKeyId, session } = opener;
  const target: ExecTarget = {
    kind: 'exec',
    command: null,
    argv: ['/bin/sh', '-c', `${nameIt(path)}\n${script}`],
    // The programs' error messages must be in English to be recognized.
    env: { LC_ALL: 'C' },
    terminal: null,
  };
  const wanted = { opener: { accountId, apiKeyId, session, sshKeyId: null }, instanceId, target };
  const tunnel = await tunnels.open(wanted, signal).catch((error: unknown) => {
    throw error instanceof TunnelRefused ? refusalOf(error) : error;
  });
  tunnel.on('error', () => {});
  const end = () => tunnel.destroy();
  signal.addEventListener('abort', end, { once: true });
  tunnel.once('close', () => signal.removeEventListener('abort', end));
  if (signal.aborted) end();
  return tunnel;
}

/** Returns a function that returns the end of a command's standard error, for use in the refusal's message. */
function stderrTail(tunnel: Tunnel): () => string {
  const tail = new LastBytes();
  tunnel.stderr.on('data', (chunk: Buffer) => tail.push(chunk));
  return () => lastLine(tail.bytes);
}

function refusal({ exitCode }: Tunnel, { path }: FilePlace, stderr: string): DomainError {
  const name = path.toString('utf8').slice(-MAX_NAME);
  if (exitCode === undefined)
    return new DomainError('unavailable', 'the connection to the machine was lost', {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  if (exitCode === EXIT.missing) return new DomainError('not_found', `there is no ${name}`);
  return new DomainError('action_failed', `${name}: ${MESSAGES[exitCode ?? 0] ?? (stderr || 'failed')}`);
}

function isOpen(tunnel: Tunnel): boolean {
  return !tunnel.destroyed && tunnel.exitCode === undefined;
}

async function closed(tunnel: Tunnel): Promise<void> {
  tunnel.resume();
  if (!tunnel.closed) await firstEvent(tunnel, 'close');
}
