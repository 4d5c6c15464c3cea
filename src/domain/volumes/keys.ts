import { scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import { DomainError } from '../kernel/errors.js';
import type { VolumeFacts } from './access.js';
import type { VolumeDeps } from './deps.js';
import { volumePassword } from './password.js';
import { keyOf, openObject, type ResticKey } from './rules/restic-key.js';
import type { ObjectName } from './store.js';

/**
 * Maximum number of keys per volume, because restic tries only a limited number. All of a volume's keys open with the
 * same password.
 */
const MAX_KEYS = 8;
/** Maximum size of a key file, in bytes. restic's own key files have about 450 bytes. */
export const MAX_KEY_BYTES = 16_384;
const MAX_CONFIG_BYTES = 65_536;
/**
 * Maximum values of scrypt's N × r, because each unit takes 128 bytes of memory, and of N × r × p, because the maximum
 * already takes several seconds.
 */
const MAX_BLOCKS = 2 ** 20;
const MAX_WORK = 2 ** 23;
/** Maximum value of r × p, which determines how long scrypt's first step takes. */
const MAX_LANES = 2 ** 10;
const KEY_BYTES = 64;

const derive = promisify<string, Buffer, number, object, Buffer>(scrypt);

const base64 = z.base64().transform((text) => Buffer.from(text, 'base64'));
const keyFile = z
  .object({
    kdf: z.literal('scrypt'),
    N: z.number().int().min(2),
    r: z.number().int().min(1),
    p: z.number().int().min(1),
    salt: base64,
    data: base64,
  })
  .refine(
    ({ N, r, p }) => Math.log2(N) % 1 === 0 && N * r <= MAX_BLOCKS && r * p <= MAX_LANES && N * r * p <= MAX_WORK,
  );
const masterKey = z.object({ mac: z.object({ k: base64, r: base64 }), encrypt: base64 });

/**
 * Throws action_failed if the key doesn't open the repository with the volume's own password, because no instance could
 * then restore it. Such keys are uploaded by `restic key passwd`, and by `restic init` with a different password.
 */
export async function checkKey(
  deps: Pick<VolumeDeps, 'db' | 'sealingKeys' | 'volumeStore' | 'volumeKeys'>,
  volume: VolumeFacts,
  object: ObjectName,
  bytes: Buffer,
): Promise<void> {
  const names = await keysOf(deps, volume.id);
  if (names.length >= MAX_KEYS && object.kind === 'keys' && !names.includes(object.name))
    throw new DomainError('action_failed', `volume ${volume.id} has ${MAX_KEYS} keys, the maximum; remove one first`);
  if (await opens(deps, volume, bytes)) return;
  throw new DomainError(
    'action_failed',
    `a key for volume ${volume.id} must open it with the volume's own password, which \`gpu volume password ${volume.id}\` prints`,
  );
}

/**
 * Returns the name of another key that opens the repository with the volume's own password. Throws action_failed if
 * there is no such key, so that the last one can't be deleted.
 */
export async function keyThatRemains(
  deps: Pick<VolumeDeps, 'db' | 'sealingKeys' | 'volumeStore' | 'volumeKeys'>,
  volume: VolumeFacts,
  object: ObjectName,
): Promise<string> {
  for (const name of await keysOf(deps, volume.id)) {
    if (object.kind === 'keys' && object.name === name) continue;
    const bytes = await readSmall(deps, volume.id, { kind: 'keys', name }, MAX_KEY_BYTES);
    if (bytes !== null && (await opens(deps, volume, bytes))) return name;
  }
  throw noOtherKey(volume);
}

/**
 * Throws the same error as `keyThatRemains` if that key has been deleted in the meantime. Call it in the transaction
 * that deletes.
 */
export async function checkKeyExists(
  { volumeStore }: Pick<VolumeDeps, 'volumeStore'>,
  volume: VolumeFacts,
  name: string,
): Promise<void> {
  if ((await volumeStore.size(volume.id, { kind: 'keys', name })) === null) throw noOtherKey(volume);
}

function noOtherKey({ id }: VolumeFacts): DomainError {
  return new DomainError('action_failed', `no other key opens volume ${id} with its own password`);
}

async function opens(
  deps: Pick<VolumeDeps, 'db' | 'sealingKeys' | 'volumeKeys' | 'volumeStore'>,
  volume: VolumeFacts,
  bytes: Buffer,
): Promise<boolean> {
  const password = await volumePassword(deps, volume.accountId, volume.id);
  const master = await masterOf(deps, volume.accountId, password, bytes);
  if (master === null) return false;
  const config = await readSmall(deps, volume.id, { kind: 'config' }, MAX_CONFIG_BYTES);
  return config === null || openObject(master, config) !== null;
}

/** Returns the master key. Returns null if the file is not a key, takes too long to open or has another password. */
async function masterOf(
  { volumeKeys }: Pick<VolumeDeps, 'volumeKeys'>,
  accountId: string,
  password: string,
  bytes: Buffer,
): Promise<ResticKey | null> {
  const file = keyFile.safeParse(parse(bytes)).data;
  if (file === undefined) return null;
  const { N, r, p, salt, data } = file;
  const options = { N, r, p, maxmem: 256 * MAX_BLOCKS };
  const derived = await volumeKeys.runFor(accountId, () =>
    derive(password, salt, KEY_BYTES, options).catch(nullIfRefused),
  );
  if (derived === null) return null;
  const opened = openObject(keyOf(derived), data);
  const master = masterKey.safeParse(opened === null ? null : parse(opened)).data;
  if (master === undefined) return null;
  const { encrypt, mac } = master;
  const isWhole = encrypt.length === 32 && mac.k.length === 16 && mac.r.length === 16;
  return isWhole ? { encrypt, ...mac } : null;
}

/**
 * Returns null for parameters that scrypt rejects, because its rules for N, r and p are stricter than the key file
 * schema.
 */
function nullIfRefused(error: NodeJS.ErrnoException): null {
  if (error.code === 'ERR_CRYPTO_INVALID_SCRYPT_PARAMS') return null;
  throw error;
}

async function keysOf({ volumeStore }: Pick<VolumeDeps, 'volumeStore'>, volumeId: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of volumeStore.list(volumeId, 'keys')) names.push(name);
  return names;
}

async function readSmall(
  deps: Pick<VolumeDeps, 'volumeStore'>,
  volumeId: string,
  object: ObjectName,
  max: number,
): Promise<Buffer | null> {
  const size = await deps.volumeStore.size(volumeId, object);
  if (size === null || size > max) return null;
  const stream = await deps.volumeStore.read(volumeId, object, null);
  if (stream === null) return null;
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return null;
  }
}
