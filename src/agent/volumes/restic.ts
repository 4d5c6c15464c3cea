import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Readable } from 'node:stream';
import { LineSplitter } from '../../std/untrusted/line-splitter.js';
import { output } from '../shell.js';
import { GUARDED_SCRIPT } from './guarded.js';

/** Minimum version, which introduced version 2 repositories. */
const OLDEST = [0, 14];
/** First version that can restore over existing files. It fetches only the differences, and deletes other files. */
const RESTORES_OVER = [0, 17];
const RESTORES_SPARSE = [0, 15];
/** Time that restic has to exit after SIGINT, during which it removes its lock from the repository. */
const ENDS_WITHIN_MS = 5_000;
const MAX_LINE = 2_000;
/** Maximum number of bytes to read from a line before secrets are removed from it. */
const MAX_READ_LINE_BYTES = 65_536;
const MAX_LINES = 200;

/** Paths inside restic's root: the volume for a backup, and the parent folder for a restored snapshot. */
export const BACKUP_PATH = '/mnt';
export const RESTORE_ROOT = '/to';

/** A repository with its credentials. */
export interface Credentials {
  /** URL as given to restic after `rest:`, without user and password. */
  url: string;
  user: string;
  token: string;
  password: string;
}

/** Arguments for running restic. */
export interface ResticCall {
  args: readonly string[];
  credentials: Credentials;
  /** A folder on the host, and the path where restic sees it. */
  volume: string;
  at: string;
  access: 'ro' | 'rw';
  /** Host folder for restic's cache and its unfinished files. */
  cache: string;
}

export interface ResticEnd {
  /** Null if it was ended by a signal. */
  code: number | null;
  /** The last lines of each stream, without secrets. */
  stdout: string[];
  stderr: string[];
}

/**
 * The host's restic. Each call is a separate process, which ends with the agent. Among the host's files, it sees only
 * the volume and its cache. Changes that a renter makes to a volume while it is read or written (links to other files
 * on the host, or folders that become links) therefore have no effect outside.
 */
export class Restic {
  private constructor(
    private readonly program: string,
    readonly version: string,
    private readonly root: string,
  ) {}

  /** `dir` is one of the agent's folders. Rejects with a message for the operator if volumes can't be offered. */
  static async open(dir: string, path = process.env.PATH ?? ''): Promise<Restic> {
    const program = await find('restic', path);
    if (program === null) throw new Error('no volumes: restic is not installed on this host');
    const version = /^restic (\d+\.\d+[.\d]*)/.exec(await output(program, 'version'))?.[1];
    if (version === undefined || !isFrom(version, OLDEST))
      throw new Error(`no volumes: restic ${version ?? '(unknown version)'} is older than ${OLDEST.join('.')}`);
    const root = join(dir, 'root');
    await mkdir(root, { recursive: true, mode: 0o700 });
    const restic = new Restic(program, version, root);
    await restic.#try(dir);
    return restic;
  }

  get restoresOver(): boolean {
    return isFrom(this.version, RESTORES_OVER);
  }

  get restoresSparse(): boolean {
    return isFrom(this.version, RESTORES_SPARSE);
  }

  /**
   * Resolves when restic has ended, even if the signal was aborted. `onProblem` receives each line of standard error as
   * it arrives.
   */
  run(call: ResticCall, signal: AbortSignal, onProblem: (line: string) => void = () => {}): Promise<ResticEnd> {
    const { args, credentials } = call;
    const clean = (line: string) => withoutSecrets(line, credentials).slice(0, MAX_LINE);
    const child = this.#spawn(call, args);
    const stdout = lastLines(child.stdout!, clean);
    const stderr = lastLines(child.stderr!, clean, onProblem);
    return new Promise((resolve, reject) => {
      let killer: NodeJS.Timeout | undefined;
      const end = () => {
        child.kill('SIGINT');
        killer ??= setTimeout(() => child.kill('SIGKILL'), ENDS_WITHIN_MS);
      };
      signal.addEventListener('abort', end, { once: true });
      if (signal.aborted) end();
      const settle = () => {
        clearTimeout(killer);
        signal.removeEventListener('abort', end);
      };
      child.once('error', (error) => {
        settle();
        reject(error);
      });
      child.once('close', (code) => {
        settle();
        resolve({ code, stdout, stderr });
      });
    });
  }

  /** Credentials are passed only in the environment, because any process on the host can read arguments. */
  #spawn({ credentials, volume, at, access, cache }: ResticCall, args: readonly string[]): ChildProcess {
    const { url, user, token, password } = credentials;
    const env = {
      PATH: process.env.PATH ?? '/usr/sbin:/usr/bin:/sbin:/bin',
      LC_ALL: 'C',
      HOME: '/cache',
      TMPDIR: '/cache',
      RESTIC_CACHE_DIR: '/cache',
      RESTIC_PROGRESS_FPS: '0.1',
      RESTIC_REPOSITORY: `rest:${url.replace('://', `://${encodeURIComponent(user)}:${encodeURIComponent(token)}@`)}`,
      RESTIC_PASSWORD: password,
      GOMEMLIMIT: '512MiB',
      ...(process.env.SSL_CERT_FILE === undefined ? {} : { OPERATOR_CERTIFICATES: process.env.SSL_CERT_FILE }),
    };
    const guarded = ['-c', GUARDED_SCRIPT, 'restic', this.root, volume, at, access, cache, this.program, ...args];
    return spawn('setpriv', ['--pdeathsig', 'KILL', '--', 'unshare', '--mount', '--', '/bin/sh', ...guarded], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** Tests namespaces, bind mounts and changing the root, any of which may be missing or forbidden. */
  async #try(dir: string): Promise<void> {
    const credentials = { url: 'http://127.0.0.1:9/', user: 'none', token: 'none', password: 'none' };
    const call = { args: ['version'], credentials, volume: dir, at: BACKUP_PATH, access: 'ro', cache: dir } as const;
    const { code, stderr } = await this.run(call, new AbortController().signal).catch((error: Error) => {
      return { code: null, stderr: [error.message] };
    });
    if (code !== 0)
      throw new Error(`no volumes: restic can't be isolated from this host's files: ${stderr.at(-1) ?? code}`);
  }
}

async function find(name: string, path: string): Promise<string | null> {
  for (const dir of path.split(delimiter).filter(isAbsolute)) {
    const file = join(dir, name);
    if (
      await access(file, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return file;
  }
  return null;
}

function isFrom(version: string, [major = 0, minor = 0]: readonly number[]): boolean {
  const [itsMajor = 0, itsMinor = 0] = version.split('.').map(Number);
  return itsMajor > major || (itsMajor === major && itsMinor >= minor);
}

/** Returns a list that always contains the last lines read so far. */
function lastLines(
  stream: Readable,
  clean: (line: string) => string,
  onLine: (line: string) => void = () => {},
): string[] {
  const lines: string[] = [];
  const splitter = new LineSplitter(MAX_READ_LINE_BYTES);
  const take = (text: string) => {
    const line = clean(text.trimEnd());
    if (line.trim() === '') return;
    lines.push(line);
    if (lines.length > MAX_LINES) lines.shift();
    onLine(line);
  };
  stream.on('data', (piece: Buffer) => splitter.push(piece).forEach(take));
  stream.once('end', () => take(splitter.rest()));
  return lines;
}

function withoutSecrets(line: string, { token, password }: Credentials): string {
  return [token, encodeURIComponent(token), password].reduce((text, secret) => text.replaceAll(secret, '***'), line);
}
