import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { visible } from '../std/visible.js';
import { collect } from './collect.js';
import { EXIT, Failure } from './failure.js';
import { queryGraphql } from './graphql.js';
import { idOf } from './instances.js';
import { openSession } from './session.js';
import type { Settings } from './settings.js';
import { type Column, table, text, when } from './table.js';
import { done, printLines, printText, remark } from './terminal.js';

interface SshKey {
  id: string;
  type: string;
  fingerprint: string;
  comment: string;
  createdAt: string;
}

interface Address {
  user: string;
  host: string;
  port: number;
  hostKey: string;
}

const KEY_FIELDS = 'id type fingerprint comment createdAt';
const LIST = `query { sshKeys { ${KEY_FIELDS} } }`;
const ADD = `mutation ($publicKey: String!) { addSshKey(publicKey: $publicKey) { ${KEY_FIELDS} } }`;
const REMOVE = `mutation ($id: ID!) { removeSshKey(id: $id) { ${KEY_FIELDS} } }`;
const ADDRESS = `query ($id: ID!) { instance(id: $id) { status ssh { user host port hostKey } } sshKeys { ${KEY_FIELDS} } }`;
/** ssh's own exit code for a failed connection, and a pattern for the error that it prints if no key was accepted. */
export const SSH_FAILED = 255;
export const KEY_REFUSED = /Permission denied \(|Too many authentication failures/;
/** Default public key files, in ssh's order. */
const USUAL_KEYS = ['id_ed25519.pub', 'id_ecdsa.pub', 'id_rsa.pub'];
/** Matches the address of a remote file, which starts with the instance's id. */
const REMOTE_BY_ID = /^(i-[0-9a-f]{8}):(.*)$/s;
const REMOTE_BY_NAME = /^([a-z0-9][a-z0-9-]{0,62}):(.*)$/s;
/** Patterns for values that become ssh arguments or lines in its files. */
const HOST = /^[a-z0-9.-]{1,253}$/;
const HOST_KEY = /^[a-z0-9@.-]{1,64} [A-Za-z0-9+/=]{1,4096}$/;
/** Matches the user names that the service accepts. None of them can be mistaken for an ssh option. */
const LOGIN_USER = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}$/;

const COLUMNS: readonly Column<SshKey>[] = [
  text('ID', ({ id }) => id, { style: () => 'cyan' }),
  text('TYPE', ({ type }) => type),
  text('FINGERPRINT', ({ fingerprint }) => fingerprint),
  text('COMMENT', ({ comment }) => visible(comment), { spare: 1 }),
  when('ADDED', ({ createdAt }) => createdAt, { spare: 2 }),
];

interface SshOptions {
  identity?: string | undefined;
  /** User to log in as instead of the container's user. */
  user?: string | undefined;
}

const USER_OPTION = ['--user <user>', "User to log in as, such as root (default: the container's user)"] as const;

export function addSshCommands(program: Command): void {
  program
    .command('ssh <instance>')
    .argument('[command...]', 'Command and its arguments, after --')
    .description('Open a shell in an instance, or run a command there')
    .addHelpText('after', "\nThis runs the system's ssh and exits with its exit code.")
    .option('-i, --identity <file>', 'Private key (default: the keys that ssh tries)')
    .option(...USER_OPTION)
    .option('-L, --forward <port:host:port>', 'Forward a local port to the instance, like ssh -L; repeatable', collect)
    .action((id: string, command: string[], options: SshOptions & { forward?: string[] }, itself: Command) =>
      sshInto(openSession(itself, { needsKey: true }).settings, id, command, options),
    );
  program
    .command('cp')
    .argument('<from>', 'Local path, or INSTANCE:PATH')
    .argument('<to>', 'Local path, or INSTANCE:PATH; exactly one of the two must be on an instance')
    .description('Copy files to or from an instance')
    .addHelpText('after', "\nThis runs the system's scp and exits with its exit code.")
    .option('-r, --recursive', 'Copy folders and their contents')
    .option(...USER_OPTION)
    .option('-i, --identity <file>', 'Private key (default: the keys that ssh tries)')
    .action(copy);
  const keys = program.command('ssh-key').description('Manage SSH keys for logging in to your instances');
  keys
    .command('add')
    .argument('[file]', 'Public key file (default: ~/.ssh/id_ed25519.pub, id_ecdsa.pub or id_rsa.pub)')
    .description('Add a public key for logging in to your instances')
    .action(async (file: string | undefined, _options: object, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const publicKey = readPublicKey(file);
      const { addSshKey: key } = await queryGraphql<{ addSshKey: SshKey }>(settings, ADD, { publicKey });
      printLines([done(`${key.id} ${key.fingerprint} ${visible(key.comment)} opens your instances`)]);
    });
  keys
    .command('list')
    .description('List your public keys, newest first')
    .option('--json', 'Print JSON')
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const { sshKeys } = await queryGraphql<{ sshKeys: SshKey[] }>(settings, LIST);
      if (json) return printText(JSON.stringify(sshKeys));
      if (sshKeys.length > 0) return printLines(table(sshKeys, COLUMNS));
      remark('No SSH keys. `gpu ssh-key add` adds yours.');
    });
  keys
    .command('remove <key>')
    .description('Remove a public key and close the connections that it opened')
    .action(async (id: string, _options: object, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const { removeSshKey: key } = await queryGraphql<{ removeSshKey: SshKey }>(settings, REMOVE, { id });
      printLines([done(`${key.id} ${key.fingerprint} no longer opens your instances`)]);
    });
}

/** Runs the system's ssh and exits with its exit code. */
export async function sshInto(
  settings: Settings,
  id: string,
  command: readonly string[] = [],
  { identity, user, forward = [] }: SshOptions & { forward?: string[] } = {},
): Promise<void> {
  const forwards = forward.flatMap((to) => ['-L', to]);
  const { args, keys } = await sshArguments(settings, id, { identity, user });
  await runProgram('ssh', [...forwards, ...args, ...command], () => explainRefusal(id, keys));
}

/**
 * Returns the ssh arguments that connect to a running instance, and the keys that the instance accepts. A command may
 * follow the arguments.
 */
export async function sshArguments(settings: Settings, id: string, { identity, user: as }: SshOptions) {
  const { address, keys } = await addressOf(settings, id, as);
  const { user, host, port } = address;
  // ssh reads no options after `--`, because anything that follows the address is the container's command.
  const args = [...optionsOf(settings, address, identity), '-p', String(port), '--', `${user}@${host}`];
  return { args, keys };
}

async function copy(from: string, to: string, options: SshOptions & { recursive?: boolean }, command: Command) {
  const session = openSession(command, { needsKey: true });
  const { settings } = session;
  const remote = remoteOf([from, to]);
  const id = await idOf(session, remote.instance);
  const { address, keys } = await addressOf(settings, id, options.user);
  // A local file name may look like a host or an option.
  const addressed = (path: string) => {
    if (path === remote.text) return `${address.user}@${address.host}:${remote.path}`;
    return path.startsWith('/') ? path : `./${path}`;
  };
  const recursive = options.recursive ? ['-r'] : [];
  const args = [...optionsOf(settings, address, options.identity), ...recursive, '-P', String(address.port)];
  await runProgram('scp', [...args, '--', addressed(from), addressed(to)], () => explainRefusal(id, keys));
}

/**
 * Returns whichever of the two paths is in an instance. A path with an instance id takes precedence over one with a
 * name, because names look like hosts in scp.
 */
function remoteOf(paths: readonly [string, string]): { text: string; instance: string; path: string } {
  for (const form of [REMOTE_BY_ID, REMOTE_BY_NAME]) {
    const found = paths.map((text) => form.exec(text)).filter((match) => match !== null);
    const [match, second] = found;
    if (match === undefined) continue;
    if (second !== undefined) break;
    const [text, instance, path] = match;
    if (instance !== undefined && path !== undefined) return { text, instance, path };
  }
  throw new Failure(EXIT.usage, 'exactly one of the two paths must be on an instance, such as i-31f72534:/workspace/');
}

/**
 * Returns the address for logging in as `as`, which defaults to the container's user, and the keys that the instance
 * accepts.
 */
async function addressOf(
  settings: Settings,
  id: string,
  as: string | undefined,
): Promise<{ address: Address; keys: SshKey[] }> {
  if (as !== undefined && !LOGIN_USER.test(as))
    throw new Failure(EXIT.usage, `--user must be root, or a user name or number in the container; got ${visible(as)}`);
  type Answer = { instance: { status: string; ssh: Address | null } | null; sshKeys: SshKey[] };
  const { instance, sshKeys } = await queryGraphql<Answer>(settings, ADDRESS, { id });
  if (instance === null) throw new Failure(EXIT.refused, `no such instance: ${visible(id)}`);
  const { ssh, status } = instance;
  if (ssh === null) throw new Failure(EXIT.refused, "this service doesn't offer SSH");
  if (status !== 'RUNNING') throw new Failure(EXIT.refused, `${id} is ${status.toLowerCase()}`);
  if (sshKeys.length === 0) throw new Failure(EXIT.refused, 'the account has no SSH key; `gpu ssh-key add` adds one');
  if (!HOST.test(ssh.host) || !HOST_KEY.test(ssh.hostKey) || !/^i-[0-9a-f]{8}$/.test(ssh.user)) {
    throw new Failure(EXIT.noConnection, 'the service returned an invalid SSH address');
  }
  return { address: as === undefined ? ssh : { ...ssh, user: `${as}@${ssh.user}` }, keys: sshKeys };
}

/** Returns the ssh options. The host key needs no confirmation, because the service sent it over TLS. */
function optionsOf(settings: Settings, { host, port, hostKey }: Address, identity: string | undefined): string[] {
  const file = join(dirname(settings.file), 'known_hosts');
  const name = `gpu-${host}-${port}`;
  keepHostKey(file, name, hostKey);
  // Few resolvers support subdomains of localhost.
  const here = host === 'localhost' || host.endsWith('.localhost') ? ['-o', 'HostName=127.0.0.1'] : [];
  return [
    ...['-o', `UserKnownHostsFile="${file}"`, '-o', 'GlobalKnownHostsFile=none', '-o', `HostKeyAlias=${name}`],
    ...['-o', 'StrictHostKeyChecking=yes', '-o', 'UpdateHostKeys=no', '-o', 'CheckHostIP=no'],
    ...here,
    ...(identity === undefined ? [] : ['-i', identity, '-o', 'IdentitiesOnly=yes']),
  ];
}

function keepHostKey(file: string, name: string, hostKey: string): void {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  const kept = lines.filter((line) => line !== '' && !line.startsWith(`${name} `));
  const next = `${[...kept, `${name} ${hostKey}`].join('\n')}\n`;
  if (next === `${lines.join('\n')}`) return;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, next, { mode: 0o600 });
  renameSync(draft, file);
}

function readPublicKey(file: string | undefined): string {
  const usual = USUAL_KEYS.map((name) => join(homedir(), '.ssh', name));
  const path = file ?? usual.find((known) => existsSync(known));
  if (path === undefined)
    throw new Failure(EXIT.usage, 'no public key in ~/.ssh; create one with `ssh-keygen -t ed25519`');
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Failure(EXIT.usage, `can't read ${path}: ${(error as Error).message}`);
  }
}

/** Explains that ssh offered none of the account's keys, and lists those keys. */
function explainRefusal(id: string, keys: readonly SshKey[]): void {
  const known = keys.map(({ fingerprint, comment }) => `  ${fingerprint} ${visible(comment)}`.trimEnd());
  const lines = [
    `gpu: ${id} accepts the keys of your account, but ssh offered none of them:`,
    ...known,
    `\`gpu ssh -i FILE ${id}\` offers another key, and \`gpu ssh-key add FILE.pub\` adds one. The rental continues and is billed.`,
  ];
  process.stderr.write(lines.map((line) => `${line}\n`).join(''));
}

/** Runs a program and exits with its exit code. `onRefused` is called if it could not log in. */
async function runProgram(name: string, args: readonly string[], onRefused: () => void): Promise<void> {
  // Ctrl-C is meant for the program.
  const ignore = () => {};
  process.on('SIGINT', ignore);
  try {
    process.exitCode = await new Promise<number>((resolve, reject) => {
      // Prompts use the terminal directly, so standard error contains only messages.
      const child = spawn(name, args, { stdio: ['inherit', 'inherit', 'pipe'] });
      let isRefused = false;
      child.stderr.on('data', (chunk: Buffer) => {
        isRefused ||= KEY_REFUSED.test(chunk.toString('latin1'));
        process.stderr.write(chunk);
      });
      child.once('error', ({ code, message }: NodeJS.ErrnoException) =>
        reject(new Failure(EXIT.usage, code === 'ENOENT' ? `the OpenSSH client (${name}) is not installed` : message)),
      );
      child.once('close', (code) => {
        if (isRefused && code === SSH_FAILED) onRefused();
        resolve(code ?? EXIT.interrupted);
      });
    });
  } finally {
    process.off('SIGINT', ignore);
  }
}
