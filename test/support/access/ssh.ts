import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RealRenter } from '../hosts/real-fleet.js';
import { folder } from '../process.js';

/** Programs that tests of OpenSSH's clients use. */
export const OPEN_SSH = ['ssh', 'scp', 'sftp', 'ssh-keygen', 'sshd', 'rsync', 'bash', 'ldd'] as const;

export interface Done {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A key pair created by ssh-keygen. */
export class KeyPair {
  readonly path: string;

  constructor(type = 'ed25519', bits?: number) {
    this.path = join(folder(), `id_${type}`);
    const size = bits === undefined ? [] : ['-b', String(bits)];
    execFileSync('ssh-keygen', ['-q', '-t', type, ...size, '-N', '', '-C', 'renter@test', '-f', this.path]);
  }

  get publicKey(): string {
    return readFileSync(`${this.path}.pub`, 'utf8').trim();
  }
}

export async function addKey(renter: RealRenter, key: KeyPair): Promise<string> {
  const mutation = 'mutation ($key: String!) { addSshKey(publicKey: $key) { id fingerprint } }';
  const { body } = await renter.api.graphql(mutation, { key: key.publicKey });
  if (body.errors) throw new Error(JSON.stringify(body.errors));
  return body.data.addSshKey.id;
}

/** The system's own clients, connected to one gateway. */
export class SshClient {
  readonly #knownHosts: string;

  constructor(
    readonly port: number,
    readonly key: KeyPair | null,
    hostKey: string,
  ) {
    this.#knownHosts = join(folder(), 'known_hosts');
    writeFileSync(this.#knownHosts, `[127.0.0.1]:${port} ${hostKey}\n`);
  }

  get options(): string[] {
    return [
      ...['-F', '/dev/null', '-o', 'BatchMode=yes', '-o', 'StrictHostKeyChecking=yes'],
      ...['-o', `UserKnownHostsFile=${this.#knownHosts}`, '-o', 'GlobalKnownHostsFile=/dev/null'],
      ...['-o', 'IdentitiesOnly=yes', '-o', 'PreferredAuthentications=publickey', '-o', 'ConnectTimeout=30'],
      ...(this.key === null ? ['-o', 'IdentityFile=none'] : ['-i', this.key.path]),
    ];
  }

  args(user: string, ...rest: string[]): string[] {
    return [...this.options, '-p', String(this.port), `${user}@127.0.0.1`, ...rest];
  }

  ssh(user: string, ...command: string[]): Promise<Done> {
    return run('ssh', this.args(user, ...command));
  }

  spawn(user: string, more: string[], ...command: string[]): ChildProcessWithoutNullStreams {
    return spawn('ssh', [...more, ...this.args(user, ...command)]);
  }

  scp(from: string, to: string, ...more: string[]): Promise<Done> {
    return run('scp', [...this.options, '-q', '-P', String(this.port), ...more, from, to]);
  }

  sftp(user: string, ...lines: string[]): Promise<Done> {
    const batch = join(folder(), 'batch');
    writeFileSync(batch, `${lines.join('\n')}\n`);
    return run('sftp', [...this.options, '-q', '-P', String(this.port), '-b', batch, `${user}@127.0.0.1`]);
  }

  rsync(from: string, to: string): Promise<Done> {
    return run('rsync', ['-a', '-e', `ssh ${this.options.join(' ')} -p ${this.port}`, from, to]);
  }
}

/** Starts `times` commands in terminals and returns the size that each one sees when it starts. */
export async function sizesAtFirst(ssh: SshClient, id: string, times: number): Promise<string[]> {
  const sizes: string[] = [];
  for (let time = 0; time < times; time += 1) {
    const child = ssh.spawn(id, ['-tt'], 'stty size');
    sizes.push((await outcome(child)).stdout.trim());
  }
  return sizes;
}

export function run(file: string, args: string[], input?: string): Promise<Done> {
  const child = spawn(file, args);
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  return outcome(child);
}

export function outcome(child: ChildProcessWithoutNullStreams): Promise<Done> {
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })));
}
