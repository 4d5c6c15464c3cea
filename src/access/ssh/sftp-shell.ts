import { randomBytes } from 'node:crypto';
import { quoted } from '../../quoted.js';
import type { Tunnel } from '../tunnels.js';
import { type Attributes, type Entry, SftpFault, STATUS } from './sftp-packets.js';

/** Most output of one command: names and attributes of a large folder. */
const MAX_OUTPUT_BYTES = 33_554_432;
const COMMAND_MS = 60_000;
/** More than a mark and the code after it. */
const TAIL_BYTES = 64;
/** What `readAttributes` reads, for `stat -c`. */
export const STAT = '%f %s %u %g %X %Y';

export function quote(text: string): string {
  if (text.includes('\0')) throw new SftpFault(STATUS.badMessage, 'a path has no zero bytes');
  return quoted(text);
}

/**
 * A shell in the container that runs one command after the other. SFTP needs only sh, cat, dd, stat and the like, which
 * busybox has too.
 */
export class SftpShell {
  readonly #tunnel: Tunnel;
  /** Ends what each command prints. Nobody inside knows it before. */
  readonly #mark = Buffer.from(`[${randomBytes(16).toString('hex')}]`);
  #output: Buffer[] = [];
  #size = 0;
  #tail: Buffer = Buffer.alloc(0);
  #waiting: { resolve(done: { output: Buffer; code: number }): void; reject(error: Error): void } | null = null;
  #fault: Error | null = null;

  /** Of a shell that reads commands. */
  constructor(tunnel: Tunnel) {
    this.#tunnel = tunnel;
    tunnel.on('data', (chunk: Buffer) => this.#take(chunk));
    tunnel.stderr.resume();
    tunnel.once('close', () => this.#fail(new SftpFault(STATUS.failure, 'the connection was cut off')));
  }

  /** Runs one command; never two at once. Refuses with what it printed when it fails. */
  async run(command: string, keepsErrors = true): Promise<Buffer> {
    const { output, code } = await this.#ask(command, keepsErrors);
    if (code === 0) return output;
    const words = output.toString('utf8').trim().split('\n').at(-1) ?? '';
    if (/no such file|not found|nonexistent/i.test(words)) throw new SftpFault(STATUS.noSuchFile, words);
    if (/permission denied|not permitted/i.test(words)) throw new SftpFault(STATUS.denied, words);
    throw new SftpFault(STATUS.failure, words || `it failed with ${code}`);
  }

  async stat(path: string, follows: boolean): Promise<Attributes> {
    const output = await this.run(`stat ${follows ? '-L ' : ''}-c '${STAT}' -- ${quote(path)}`);
    return readAttributes(output.toString('utf8').trim());
  }

  /** All entries of a folder, itself and the one above first. */
  async list(path: string): Promise<Entry[]> {
    const mark = randomBytes(8).toString('hex');
    const output = await this.run(
      `cd -- ${quote(path)} && { for f in . .. * .[!.]* ..?*; do
if [ -e "$f" ] || [ -L "$f" ]; then printf './%s\\0' "$f"; fi; done | xargs -0 stat -c '${mark} ${STAT} %n' -- 2>/dev/null; cd - >/dev/null; }`,
    );
    return output
      .toString('utf8')
      .split(`${mark} `)
      .slice(1)
      .map((line) => {
        const [, numbers = '', name = ''] = /^((?:\S+ ){5}\S+) \.\/([\s\S]*)\n$/.exec(line) ?? [];
        return { name, attributes: readAttributes(numbers) };
      });
  }

  end(): void {
    this.#tunnel.destroy();
  }

  #ask(command: string, keepsErrors: boolean): Promise<{ output: Buffer; code: number }> {
    if (this.#fault !== null) return Promise.reject(this.#fault);
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => this.end(), COMMAND_MS);
      this.#waiting = {
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
      this.#tunnel.write(`{ ${command}\n} </dev/null ${errors}; printf '%s%d\\n' '${this.#mark}' "$?"\n`);
    });
  }

  #take(chunk: Buffer): void {
    this.#output.push(chunk);
    this.#size += chunk.length;
    if (this.#size > MAX_OUTPUT_BYTES) {
      this.#fail(new SftpFault(STATUS.failure, 'it prints too much'));
      this.end();
      return;
    }
    // The mark may come in several pieces.
    this.#tail = Buffer.concat([this.#tail.subarray(-TAIL_BYTES), chunk]);
    if (this.#tail.indexOf(this.#mark) < 0) return;
    const all = Buffer.concat(this.#output);
    const at = all.lastIndexOf(this.#mark);
    const code = /^(\d+)\n$/.exec(all.subarray(at + this.#mark.length).toString('latin1'))?.[1];
    this.#output = [all];
    if (code === undefined) return;
    this.#output = [];
    this.#size = 0;
    this.#tail = Buffer.alloc(0);
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.resolve({ output: all.subarray(0, at), code: Number(code) });
  }

  #fail(error: Error): void {
    this.#fault ??= error;
    this.#waiting?.reject(error);
    this.#waiting = null;
  }
}

export function readAttributes(line: string): Attributes {
  const [mode = '0', size = '0', uid, gid, accessed, modified] = line.split(' ');
  return {
    mode: Number.parseInt(mode, 16),
    size: BigInt(size),
    owner: { uid: Number(uid), gid: Number(gid) },
    times: { accessed: Number(accessed), modified: Number(modified) },
  };
}
