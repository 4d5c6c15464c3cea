import { randomUUID } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { syncDirectory } from './cluster.js';

const FILE = 'move.json';

/**
 * State of a move to another server: `copying` while the built-in database remains in use, `switching` while the rest
 * is copied and checked, and `moved` once the other server has replaced it.
 */
export interface MoveMarker {
  /** The target contains the same id until the move is finished. */
  id: string;
  /** The target's address without user and password. */
  target: string;
  state: 'copying' | 'switching' | 'moved';
  /** Whether the source was audited when it was last copied while in use. */
  isAudited?: boolean;
  at: string;
}

/** Returns the marker in the data folder, or null if its database has not been moved. */
export async function readMoveMarker(dataDir: string): Promise<MoveMarker | null> {
  const path = join(dataDir, FILE);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return null;
  });
  return text === null ? null : (JSON.parse(text) as MoveMarker);
}

/** Writes the marker to disk. After a crash, either the old marker or the new one is there. */
export async function writeMoveMarker(dataDir: string, marker: Omit<MoveMarker, 'at'>): Promise<void> {
  const path = join(dataDir, FILE);
  const part = `${path}.${randomUUID()}`;
  try {
    const file = await open(part, 'wx', 0o600);
    try {
      await file.writeFile(`${JSON.stringify({ ...marker, at: new Date().toISOString() }, null, 2)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(part, path);
    await syncDirectory(dataDir);
  } finally {
    await rm(part, { force: true });
  }
}

export async function removeMoveMarker(dataDir: string): Promise<void> {
  await rm(join(dataDir, FILE), { force: true });
  await syncDirectory(dataDir);
}

/** Returns why the data folder's database must not be used, or null if it may be. */
export async function reasonNotToUse(dataDir: string): Promise<string | null> {
  const marker = await readMoveMarker(dataDir);
  if (marker === null || marker.state === 'copying') return null;
  const { target, state, at } = marker;
  const undo = 'or use this database again with: admin database move --undo';
  if (state === 'moved') return `its database was moved to ${target} at ${at}; use that one, ${undo} --to URL`;
  return `its database is being moved to ${target} since ${at}; repeat the move if it was interrupted, ${undo}`;
}
