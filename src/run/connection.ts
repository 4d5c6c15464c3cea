import { type ChildProcess, execFile, type StdioOptions, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { RunFailed } from './failure.js';

/** An instance's SSH address, as reported by the service. */
export interface Address {
  user: string;
  host: string;
  port: number;
  hostKey: string;
}

/** Matches values that become part of a file that ssh reads. */
const USER = /^i-[0-9a-f]{8}$/;
const HOST = /^[a-z0-9.-]{1,253}$/;
const HOST_KEY = /^[a-z0-9@.-]{1,64} [A-Za-z0-9+/=]{1,4096}$/;
const CONNECT_TIMEOUT_SECONDS = 15;
/** Keepalive interval. A connection is abandoned after three intervals without a response. */
const KEEPALIVE_SECONDS = 10;

const runFile = promisify(execFile);

/** A run's keys and ssh configuration, in a private folder. */
export class Connection {
  readonly #folder = mkdtempSync(join(tmpdir(), 'gpu-run-'));
  readonly #children = new Set<ChildProcess>();
  #target = '';

  /** Creates a dedicated key pair and resolves to its public key. */
  async makeKey(comment: string): Promise<string> {
    const file = this.#path('key');
    try {
      await runFile('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', comment, '-f', file]);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      throw new RunFailed(code === 'ENOENT' ? 'the OpenSSH client (ssh and ssh-keygen) is not installed' : message);
    }
    return readFileSync(`${file}.pub`, 'utf8').trim();
  }

  /**
   * Writes the ssh configuration for an address. The service sent the host key over HTTPS, so the user doesn't have to
   * confirm it.
   */
  use(address: Address, identity = this.#path('key')): void {
    const { user, host, port, hostKey } = address;
    if (!HOST.test(host) || !HOST_KEY.test(hostKey) || !USER.test(user) || !Number.isInteger(port))
      throw new RunFailed('the service returned an invalid SSH address');
    writeFileSync(this.#path('known_hosts'), `gpu-run ${hostKey}\n`, { mode: 0o600 });
    const options = {
      // Few resolvers can resolve subdomains of localhost.
      ...((host === 'localhost' || host.endsWith('.localhost')) && { HostName: '127.0.0.1' }),
      Port: port,
      IdentityFile: inQuotes(identity),
      IdentitiesOnly: 'yes',
      UserKnownHostsFile: inQuotes(this.#path('known_hosts')),
      GlobalKnownHostsFile: 'none',
      HostKeyAlias: 'gpu-run',
      StrictHostKeyChecking: 'yes',
      UpdateHostKeys: 'no',
      CheckHostIP: 'no',
      BatchMode: 'yes',
      LogLevel: 'ERROR',
      RequestTTY: 'no',
      ControlPath: 'none',
      ForwardAgent: 'no',
      ForwardX11: 'no',
      PermitLocalCommand: 'no',
      ClearAllForwardings: 'yes',
      ConnectTimeout: CONNECT_TIMEOUT_SECONDS,
      ServerAliveInterval: KEEPALIVE_SECONDS,
      ServerAliveCountMax: 3,
    };
    const lines = Object.entries(options).map(([name, value]) => `  ${name} ${value}`);
    // ssh uses the first value that it finds. The user's own file may configure how to get out of the network, such as
    // a proxy.
    const userConfig = join(homedir(), '.ssh', 'config');
    writeFileSync(this.#path('config'), ['Host *', ...lines, `Include ${inQuotes(userConfig)}`, ''].join('\n'), {
      mode: 0o600,
    });
    this.#target = `${user}@${host}`;
  }

  /** The ssh command that rsync uses. */
  get shell(): string {
    return `ssh -F ${inQuotes(this.#path('config'))}`;
  }

  /** Returns a remote path's address for rsync. */
  addressOf(path: string): string {
    return `${this.#target}:${path}`;
  }

  /** Runs a command line over ssh. `close` ends the process. */
  ssh(commandLine: string, stdio: StdioOptions): ChildProcess {
    return this.start('ssh', ['-F', this.#path('config'), '-T', this.#target, commandLine], stdio);
  }

  start(program: string, args: readonly string[], stdio: StdioOptions, cwd?: string): ChildProcess {
    const child = spawn(program, args, { stdio, ...(cwd !== undefined && { cwd }) });
    this.#children.add(child);
    child.once('close', () => this.#children.delete(child));
    return child;
  }

  /** Ends the processes that were started, and erases the keys. */
  close(): void {
    for (const child of this.#children) child.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }
}

/** Resolves to the exit code, or null if a signal ended the process. Rejects if the program is not installed. */
export function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', ({ code, message }: NodeJS.ErrnoException) =>
      reject(new RunFailed(code === 'ENOENT' ? `${child.spawnfile} is not installed` : message)),
    );
    child.once('close', resolve);
  });
}

function inQuotes(path: string): string {
  return `"${path.replaceAll('\\', '/')}"`;
}
