import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../src/compose/config.js';
import { leaseSecret } from '../../src/domain/volumes/lease-secret.js';
import { volumePassword } from '../../src/domain/volumes/password.js';
import { leaseToken } from '../../src/domain/volumes/rules/lease-token.js';
import type { UpkeepOptions } from '../../src/domain/volumes/upkeep.js';
import { createVolume } from '../../src/domain/volumes/volumes.js';
import { startGateway, type TestGateway } from './gateway.js';
import type { Exit } from './process.js';
import { emptyRepository } from './restic-repository.js';

export const SECRETS_KEY = 'ab'.repeat(32);

/** A gateway with a separate folder for volumes, which is removed when it closes. */
export interface VolumeGateway extends TestGateway {
  dataDir: string;
}

export async function startVolumeGateway(overrides: Partial<Config> = {}): Promise<VolumeGateway> {
  const dataDir = overrides.dataDir ?? (await mkdtemp(join(tmpdir(), 'volumes-')));
  const gateway = await startGateway({ secretsKeys: [SECRETS_KEY], ...overrides, dataDir });
  return {
    ...gateway,
    dataDir,
    close: async () => {
      await gateway.close();
      if (overrides.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Creates a volume of the account and returns it with its repository's password. */
export async function newVolume({ deps }: TestGateway, accountId: string, sizeGb = 1) {
  const { volume } = await createVolume(deps, { accountId, keyId: null }, { name: 'work', sizeGb });
  return { id: volume.id, password: await volumePassword(deps, accountId, volume.id) };
}

/** Starts the volume's next lease, as a start of an instance does, and returns its token. */
export async function takeLease({ deps }: TestGateway, id: string, instanceId = 'i-0000000a'): Promise<string> {
  const nonce = randomBytes(16).toString('hex');
  const { rows } = await deps.db.pool.query<{ lease: bigint }>(
    `update volume set lease = lease + 1, lease_nonce = $2, lease_instance_id = $3, lease_since = now()
     where id = $1 returning lease`,
    [id, nonce, instanceId],
  );
  return leaseToken(await leaseSecret(deps), { id, lease: rows[0]!.lease, nonce });
}

/** Ends the lease. */
export async function endLease({ deps }: TestGateway, id: string): Promise<void> {
  await deps.db.pool.query(
    'update volume set lease_nonce = null, lease_instance_id = null, lease_since = null where id = $1',
    [id],
  );
}

/** Sends a request to a repository as restic does. `secret` is a token or a key. */
export function requestVolume(
  { address }: { address: string },
  secret: string | null,
  method: string,
  path: string,
  init: { body?: Uint8Array; headers?: Record<string, string> } = {},
): Promise<Response> {
  const authorization: Record<string, string> =
    secret === null ? {} : { authorization: `Basic ${btoa(`user:${secret}`)}` };
  return fetch(`${address}/volumes/${path}`, {
    method,
    ...(init as RequestInit),
    headers: { ...authorization, ...init.headers },
  });
}

/** Creates a volume's repository as `restic init` does, but with a key that is cheap to derive. */
export async function makeRepository(
  gateway: { address: string },
  secret: string,
  { id, password }: { id: string; password: string },
): Promise<void> {
  for (const { kind, name, bytes } of emptyRepository(password).objects) {
    const path = kind === 'config' ? `${id}/config` : `${id}/${kind}/${name}`;
    const { status } = await requestVolume(gateway, secret, 'POST', path, { body: bytes });
    if (status !== 200) throw new Error(`the gateway answers ${status} to ${kind} of a new repository`);
  }
}

/** Returns options of the gateway's upkeep that ignore its reports. */
export function upkeepOptions({ address }: { address: string }): UpkeepOptions {
  return { address, onFailure: () => {}, onCompared: () => {}, signal: new AbortController().signal };
}

/** Returns the name of an object that consists of these bytes. */
export function nameOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Returns the address at which restic finds the repository. */
export function repositoryUrl({ address }: { address: string }, secret: string, id: string): string {
  const url = new URL(address);
  return `rest:${url.protocol}//user:${secret}@${url.host}/volumes/${id}/`;
}

export interface Repository {
  url: string;
  password: string;
}

const LONGEST_MS = 60_000;

/** Runs restic until it exits. */
export function restic({ url, password }: Repository, args: string[], options: { cwd?: string } = {}): Promise<Exit> {
  return new Promise((resolve, reject) => {
    const child = spawn('restic', ['--no-cache', ...args], {
      ...options,
      env: { PATH: process.env.PATH, HOME: tmpdir(), RESTIC_REPOSITORY: url, RESTIC_PASSWORD: password },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Restic would retry for a quarter of an hour.
      timeout: LONGEST_MS,
    });
    const texts = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        texts[name] += text;
      });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...texts }));
  });
}

/** Runs a restic command that must succeed and returns its output. */
export async function resticDone(repository: Repository, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await restic(repository, args);
  if (code !== 0) throw new Error(`restic ${args.join(' ')}: exit code ${code}: ${stderr}${stdout}`);
  return stdout;
}
