import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { findPostmaster, type Postmaster } from '../../src/database/embedded/cluster.js';
import { PACKAGE_ROOT } from '../../src/std/package-root.js';
import { scratchFolder } from './scratch.js';
import { templateCluster } from './template-cluster.js';
import { atEndOfWorker } from './worker.js';

/** Environment of the built programs, which run as separate processes with nothing else in their environment. */
export type Env = Record<string, string>;

export interface Exit {
  /** The exit code, or null after a signal. */
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Program {
  pid: number;
  stdin: NodeJS.WritableStream;
  stdout(): string;
  stderr(): string;
  /** Resolves once the content of one of the streams matches. Rejects if the program ends without a match. */
  says(pattern: RegExp): Promise<void>;
  signal(name: NodeJS.Signals): void;
  ended: Promise<Exit>;
}

/** A gateway that responds. */
export interface GatewayProcess extends Program {
  address: string;
  demoKey: string | null;
  /** Time from the start of the gateway to its first response. */
  firstAnswerMs: number;
  /** Returns the parsed log. Throws on a line that isn't JSON. */
  log(): LogLine[];
  /** Sends SIGTERM and resolves to the outcome. */
  end(): Promise<Exit & { endedMs: number }>;
  /** Sends SIGKILL, which the process can't handle. */
  kill(): Promise<void>;
}

export interface LogLine {
  level: number;
  time: number;
  msg: string;
  /** The request's id. This and the following fields describe a request. */
  id?: string;
  method?: string;
  route?: string;
  status?: number | null;
  ms?: number;
  bytes?: number;
  account?: string | null;
  operation?: string | null;
  aborted?: true;
}

interface Options {
  /** A program to use instead of Node. */
  interpreter?: string;
  /** Command that precedes node, to run it as another user or in a terminal. */
  prefix?: string[];
  nodeOptions?: string[];
  cwd?: string;
  /** A file or pipe that receives standard error instead. */
  stderr?: number;
  /** Whether it serves all test files of this worker. `cleanUp` leaves it running, and it ends with the worker. */
  isShared?: boolean;
}

export const MAIN = join(PACKAGE_ROOT, 'dist/gateway.mjs');
export const ADMIN = join(PACKAGE_ROOT, 'dist/admin.mjs');
/** Allows for a slow machine. Hooks and tests have more time. */
const STARTS_WITHIN_MS = 80_000;
const KEY_IN_TEXT = /gpu_live_[0-9a-f]{40}/;

const children = new Set<ChildProcess>();
const folders: string[] = [];

export function folder(): string {
  const path = scratchFolder('gateway-process-');
  folders.push(path);
  return path;
}

/**
 * Returns a data folder as the gateway's first start leaves it, with the demo, whose key is unknown, and without a
 * running server.
 */
export async function preparedFolder(path = join(folder(), 'data')): Promise<string> {
  await cp(await templateCluster(), path, { recursive: true });
  return path;
}

/** Ends everything that a failed test left running and removes its folders. Every test file calls this at its end. */
export async function cleanUp(): Promise<void> {
  for (const child of children) child.kill('SIGKILL');
  for (const path of folders.splice(0)) {
    const servers = readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('postmaster.pid'),
    );
    for (const name of servers) {
      const server = await findPostmaster(join(path, name, '..'));
      if (server !== undefined) process.kill(server.pid, 'SIGKILL');
    }
    rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
}

export function run(
  args: string[],
  env: Env,
  {
    prefix = [],
    interpreter = process.execPath,
    nodeOptions = [],
    cwd,
    stderr: errors,
    isShared = false,
  }: Options = {},
): Program {
  if (!existsSync(MAIN)) throw new Error('the tests run what `npm run build` made: build first');
  const [file, ...rest] = [...prefix, interpreter, ...nodeOptions, ...args];
  const { PATH = '/usr/bin:/bin' } = process.env;
  // Uses a separate folder, because the checkout may contain an .env file.
  const child = spawn(file!, rest, {
    cwd: cwd ?? folder(),
    env: { PATH, PORT: '0', SSH_PORT: '', ...env },
    stdio: ['pipe', 'pipe', errors ?? 'pipe'],
  }) as ChildProcessWithoutNullStreams;
  if (isShared) atEndOfWorker(() => child.kill('SIGKILL'));
  else children.add(child);
  let [stdout, stderr] = ['', ''];
  const listeners = new Set<() => void>();
  const notifyListeners = () => {
    for (const listener of listeners) listener();
  };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
    notifyListeners();
  });
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    stderr += text;
    notifyListeners();
  });
  const ended = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      children.delete(child);
      resolve({ code, stdout, stderr });
    });
  });
  ended.catch(() => {});
  const says = (pattern: RegExp) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (!pattern.test(stdout) && !pattern.test(stderr)) return;
        listeners.delete(look);
        resolve();
      };
      listeners.add(look);
      look();
      ended.then(() => reject(new Error(`ended without ${pattern}: ${stdout}${stderr}`)), reject);
    });
  return {
    pid: child.pid ?? 0,
    stdin: child.stdin,
    stdout: () => stdout,
    stderr: () => stderr,
    says,
    signal: (name) => void child.kill(name),
    ended,
  };
}

/** Starts the gateway and waits until it responds. */
export async function startProcess(env: Env, options: Options = {}): Promise<GatewayProcess> {
  const startedAt = performance.now();
  const program = run([MAIN], env, options);
  const late = setTimeout(() => program.signal('SIGKILL'), STARTS_WITHIN_MS);
  await program.says(/GraphiQL.*\n\n$/s);
  clearTimeout(late);
  const address = /REST +(http:\S+)\/v1/.exec(program.stdout())![1]!;
  const first = await firstAnswer(`${address}/v1/gpus/pricing`, startedAt);
  if (!first.ok) throw new Error(`its first answer is ${first.status}: ${await first.text()}`);
  return {
    ...program,
    address,
    demoKey: KEY_IN_TEXT.exec(program.stdout())?.[0] ?? null,
    firstAnswerMs: performance.now() - startedAt,
    log: () =>
      program
        .stderr()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as LogLine),
    end: async () => {
      const askedAt = performance.now();
      program.signal('SIGTERM');
      return { ...(await program.ended), endedMs: performance.now() - askedAt };
    },
    kill: async () => {
      program.signal('SIGKILL');
      await program.ended;
    },
  };
}

/** Repeats the request while the gateway responds with 503, as it does if its database is slow on a busy machine. */
async function firstAnswer(url: string, startedAt: number): Promise<Response> {
  for (;;) {
    const answer = await fetch(url);
    if (answer.status !== 503 || performance.now() - startedAt > STARTS_WITHIN_MS) return answer;
    await answer.text();
  }
}

/** Runs an operator command until it exits. */
export function admin(args: string[], env: Env, options: Options = {}): Promise<Exit> {
  return run([ADMIN, ...args], env, options).ended;
}

/** Returns the PostgreSQL server that runs on a data folder. */
export function serverOf(dataDir: string): Promise<Postmaster | undefined> {
  return findPostmaster(join(dataDir, 'postgres'));
}

/** Returns the address of the database in a data folder while its server is running. */
export async function embeddedUrl(dataDir: string): Promise<string> {
  const server = await serverOf(dataDir);
  if (server === undefined) throw new Error(`no server runs on ${dataDir}`);
  const password = readFileSync(join(dataDir, 'postgres/password'), 'utf8').trim();
  return `postgresql://gateway:${password}@127.0.0.1:${server.port}/gateway`;
}

export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
}

export async function query(url: string, text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = await connect(url);
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** Returns the number of rows, like `select count(*)`. */
export async function count(url: string, from: string): Promise<number> {
  return Number((await query(url, `select count(*) as n from ${from}`))[0]!.n);
}

/** Returns how many sessions wait for a lock in the database of this connection. */
export async function waiters(session: pg.Client): Promise<number> {
  const text = `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return Number((await session.query(text)).rows[0].count);
}
