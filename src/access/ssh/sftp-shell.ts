import { randomBytes } from 'node:crypto';
import { quoted } from '../../std/quoted.js';
import { ByteQueue } from '../../std/untrusted/byte-queue.js';
import { lastLine } from '../../std/untrusted/last-line.js';
import type { Tunnel } from '../tunnels.js';
import { type Attributes, type Entry, SftpFault, STATUS } from './sftp-packets.js';

/** Maximum output of a listing, which contains the names and attributes of a large folder. */
const MAX_LISTING_BYTES = 33_554_432;
/** Maximum output of any other command, which is a path, attributes, or an error message. */
const MAX_OUTPUT_BYTES = 65_536;
const COMMAND_MS = 60_000;
/** Space reserved for a mark and the exit code that follows it. */
const TAIL_BYTES = 64;
/** The format for `stat -c` that `readAttributes` parses. */
export const STAT = '%f %s %u %g %X %Y';
/** Matches the only output accepted from `stat`, because an image may contain any program under that name. */
const STAT_LINE = /^([\da-f]{1,8}) (\d{1,20}) (\d{1,10}) (\d{1,10}) (-?\d{1,20}) (-?\d{1,20})$/;
const MAX_SIZE = 2n ** 64n - 1n;
const MAX_ID = 2 ** 32 - 1;
/** Maximum length of a line in a listing, excluding its mark. It contains six numbers and a name of up to 255 bytes. */
const MAX_LINE_BYTES = 400;

export function quote(text: string): string {
  if (text.includes('\0')) throw new SftpFault(STATUS.badMessage, 'a path must not contain NUL bytes');
  return quoted(text);
}

/**
 * A shell in the container that runs one command at a time. SFTP only needs sh, cat, dd, stat and similar commands,
 * which busybox has too.
 */
export class SftpShell {
  readonly #tunnel: Tunnel;
  /** Marks the end of each command's output. No program inside can know it in advance. */
  readonly #mark = Buffer.from(`[${randomBytes(16).toString('hex')}]`);
  readonly #output = new ByteQueue();
  #waiting: Waiting | null = null;
  #fault: Error | null = null;

  /** `tunnel` must lead to a shell that reads commands. */
  constructor(tunnel: Tunnel) {
    this.#tunnel = tunnel;
    tunnel.on('data', (chunk: Buffer) => this.#take(chunk));
    tunnel.stderr.resume();
    tunnel.once('close', () => this.#fail(new SftpFault(STATUS.failure, 'the connection was lost')));
  }

  /** Runs one command. Commands must not run concurrently. If the command fails, rejects with its output. */
  async run(
    command: string,
    { keepsErrors = true, maxBytes = MAX_OUTPUT_BYTES }: { keepsErrors?: boolean; maxBytes?: number } = {},
  ): Promise<Buffer> {
    const { output, code } = await this.#execute(command, keepsErrors, maxBytes);
    if (code === 0) return output;
    const message = lastLine(output);
    if (/no such file|not found|nonexistent|not a directory|too many levels/i.test(message))
      throw new SftpFault(STATUS.noSuchFile, message);
    if (/permission denied|not permitted/i.test(message)) throw new SftpFault(STATUS.denied, message);
    throw new SftpFault(STATUS.failure, message || `failed with exit code ${code}`);
  }

  async stat(path: string, follows: boolean): Promise<Attributes> {
    const output = await this.run(`stat ${follows ? '-L ' : ''}-c '${STAT}' -- ${quote(path)}`);
    const attributes = readAttributes(output.toString('latin1').trim());
    if (attributes === null) throw new SftpFault(STATUS.failure, "the image's stat printed no attributes");
    return attributes;
  }

  /** Lists all entries in a folder, beginning with `.` and `..`. */
  async list(path: string): Promise<Listing> {
    const mark = randomBytes(8).toString('hex');
    const folder = quote(path);
    const output = await this.run(
      `[ -e ${folder} ] || { echo 'No such file'; false; } && { [ -d ${folder} ] || { echo 'Not a directory'; false; }; } &&
{ [ -r ${folder} ] || { echo 'Permission denied'; false; }; } && cd -- ${folder} && { for f in . .. * .[!.]* ..?*; do
if [ -e "$f" ] || [ -L "$f" ]; then printf './%s\\0' "$f"; fi; done | xargs -0 stat -c '${mark} ${STAT} %n' -- 2>/dev/null; cd - >/dev/null; }`,
      { maxBytes: MAX_LISTING_BYTES },
    );
    return { bytes: output.length, entries: entriesOf(output, mark) };
  }

  end(): void {
    this.#tunnel.destroy();
  }

  #execute(command: string, keepsErrors: boolean, maxBytes: number): Promise<{ output: Buffer; code: number }> {
    if (this.#fault !== null) return Promise.reject(this.#fault);
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => this.end(), COMMAND_MS);
      this.#waiting = {
        maxBytes,
        resolve: (done) => {
          clearTimeout(late);
          resolve(done);
        },
        reject: (error) => {
          clearTimeout(late);
          reject(error);
        },
      };
      const errors = keepsErrors ? '2>&1' : '2>/dev/null';
      this.#tunnel.write(`{ ${command}\n} </dev/null ${errors}; printf '%s%d\\n' '${this.#mark}' "$?"\n`, 'latin1');
    });
  }

  #take(chunk: Buffer): void {
    const waiting = this.#waiting;
    // Output received between two commands belongs to neither.
    if (waiting === null) return;
    this.#output.push(chunk);
    if (this.#output.length > waiting.maxBytes + TAIL_BYTES) {
      this.#fail(new SftpFault(STATUS.failure, 'too much output'));
      this.end();
      return;
    }
    // A command has ended when its output ends with the mark and the exit code.
    const tail = this.#output.peek().subarray(-TAIL_BYTES);
    const at = tail.lastIndexOf(this.#mark);
    if (at < 0) return;
    const code = /^(\d{1,3})\n$/.exec(tail.subarray(at + this.#mark.length).toString('latin1'))?.[1];
    if (code === undefined) return;
    const output = this.#output.take().subarray(0, at - tail.length);
    this.#waiting = null;
    waiting.resolve({ output, code: Number(code) });
  }

  #fail(error: Error): void {
    this.#fault ??= error;
    this.#waiting?.reject(error);
    this.#waiting = null;
  }
}

interface Waiting {
  maxBytes: number;
  resolve(done: { output: Buffer; code: number }): void;
  reject(error: Error): void;
}

/** Output of `stat` for a folder. */
export interface Listing {
  /** Memory held until the listing has been read. */
  bytes: number;
  /** One entry per line, or null for a malformed line. */
  entries: Iterator<Entry | null, undefined>;
}

/**
 * Parses the lines, each of which begins with the mark. Each line is only parsed on demand, because there may be a
 * million. Names have one character per byte.
 */
export function* entriesOf(output: Buffer, mark: string): Generator<Entry | null, undefined> {
  const begin = Buffer.from(`${mark} `);
  let from = output.indexOf(begin);
  while (from >= 0) {
    const next = output.indexOf(begin, from + begin.length);
    const line = output.subarray(from + begin.length, next < 0 ? output.length : next);
    yield line.length > MAX_LINE_BYTES ? null : readEntry(line);
    from = next;
  }
  return undefined;
}

function readEntry(line: Buffer): Entry | null {
  const at = line.indexOf(' ./');
  const attributes = at < 0 ? null : readAttributes(line.subarray(0, at).toString('latin1'));
  const name = line.subarray(at + 3, -1);
  const isName = name.length > 0 && name.length <= 255 && !name.includes('/') && line.at(-1) === 10;
  return attributes === null || !isName ? null : { name: name.toString('latin1'), attributes };
}

/** Parses `stat` output. Returns null if it is malformed. */
export function readAttributes(line: string): (Attributes & { size: bigint; mode: number }) | null {
  const [, mode, digits, uid, gid, accessed, modified] = STAT_LINE.exec(line) ?? [];
  if (mode === undefined || digits === undefined) return null;
  const size = BigInt(digits);
  const owner = { uid: Number(uid), gid: Number(gid) };
  if (size > MAX_SIZE || Math.max(owner.uid, owner.gid) > MAX_ID) return null;
  return {
    mode: Number.parseInt(mode, 16),
    size,
    owner,
    times: { accessed: Number(accessed), modified: Number(modified) },
  };
}
