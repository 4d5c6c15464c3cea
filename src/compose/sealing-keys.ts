import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DomainError } from '../domain/kernel/errors.js';
import { SEALING_KEY_BYTES, type SealingKeys, sealingKey } from '../domain/kernel/sealing.js';
import { required } from '../std/required.js';

const FILE = 'secrets.key';
const OWNER_ONLY = 0o600;

interface Sources {
  /** Keys from the setting. Null if it is unset. */
  secretsKeys: readonly string[] | null;
  /** URL of the database. Null for the embedded PostgreSQL, whose data is in `dataDir`. */
  databaseUrl: string | null;
  dataDir: string;
}

/**
 * Returns a function that reads the sealing keys for secrets when they are first needed. They come from the setting or,
 * with the embedded database, from the file secrets.key, which is created if needed. Gateways that share a database
 * don't share a file, so they require the setting.
 */
export function sealingKeysOf({ secretsKeys, databaseUrl, dataDir }: Sources): () => Promise<SealingKeys> {
  let keys: Promise<SealingKeys> | undefined;
  const read = async (): Promise<SealingKeys> => {
    if (secretsKeys !== null) {
      const [newest, ...older] = secretsKeys.map(sealingKey);
      return [required(newest, 'sealing key'), ...older];
    }
    if (databaseUrl !== null)
      throw new DomainError(
        'action_failed',
        "this service can't store secrets or sign documents: its operator has not set SECRETS_KEY",
      );
    return [sealingKey(await keyOfFile(dataDir))];
  };
  return () => {
    keys ??= read();
    keys.catch(() => {
      keys = undefined;
    });
    return keys;
  };
}

async function keyOfFile(dataDir: string): Promise<string> {
  const path = join(dataDir, FILE);
  const known = await readFile(path, 'utf8').catch(unlessMissing);
  if (known !== null) return known.trim();
  await mkdir(dataDir, { recursive: true });
  const made = `${path}.${randomBytes(8).toString('hex')}`;
  try {
    const file = await open(made, 'wx', OWNER_ONLY);
    await file.writeFile(`${randomBytes(SEALING_KEY_BYTES).toString('hex')}\n`);
    await file.sync();
    await file.close();
    // The file is created completely or not at all. A process that loses the race uses the winner's file.
    await link(made, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(made, { force: true });
  }
  return (await readFile(path, 'utf8')).trim();
}

function unlessMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
