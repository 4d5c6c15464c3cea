import { type FileHandle, open } from 'node:fs/promises';
import { withAdvisoryLock } from '../../database/advisory-lock.js';
import { formatInstant } from '../kernel/time.js';
import type { ProofDeps } from './deps.js';
import type { RootDocument } from './documents.js';
import { ROOT_COLUMNS, type RootRow, rootDocument } from './log.js';
import { canonical } from './rules/canonical.js';

/** Advisory lock held by the process that pushes. */
const PUSH_LOCK = 4_207_046;
const BATCH = 100;
const TIMEOUT_MS = 10_000;
/** Longer than any line, so that the last complete line is in the last bytes of the file. */
const TAIL_BYTES = 4_096;

/**
 * Writes each new root to PROOF_ROOT_FILE and sends it to PROOF_ROOT_URL, oldest first, unless another process is doing
 * so. Stops at the first failure and throws, so that the root is pushed again later. Has no effect without either
 * setting.
 */
export async function pushRoots(deps: Pick<ProofDeps, 'db' | 'clock' | 'settings'>): Promise<void> {
  const { proofRootFile: file, proofRootUrl: url } = deps.settings;
  if (file === null && url === null) return;
  await withAdvisoryLock(deps.db.pool, PUSH_LOCK, async (lost) => {
    for (let count = BATCH; count === BATCH && !lost.aborted; ) {
      const { rows } = await deps.db.pool.query<RootRow>(
        `select ${ROOT_COLUMNS} from log_root where pushed_at is null order by number limit ${BATCH}`,
      );
      count = rows.length;
      for (const root of rows.map(rootDocument)) {
        if (file !== null) await appendLine(file, root);
        if (url !== null) await post(url, root, lost);
        await deps.db.pool.query('update log_root set pushed_at = $2::timestamptz where number = $1', [
          root.number,
          formatInstant(deps.clock.now()),
        ]);
      }
    }
  });
}

/**
 * Appends the root as a line, unless the file ends with it. A line cut off by a crash is replaced. Throws if the file
 * ends with another root that isn't older: the database was restored, and others may have stored the lost roots.
 */
async function appendLine(path: string, root: RootDocument): Promise<void> {
  const file = await open(path, 'a+');
  try {
    const { size } = await file.stat();
    const tail = await tailOf(file, size);
    const cut = tail.length - (tail.lastIndexOf('\n') + 1);
    if (cut > 0) await file.truncate(size - cut);
    const last = tail
      .subarray(0, tail.length - cut)
      .toString()
      .trimEnd()
      .split('\n')
      .at(-1);
    const line = canonical(root);
    if (last === line) return;
    const { number } = JSON.parse(last || '{"number":0}');
    if (number >= root.number) throw new Error(rewritten(path, number));
    await file.write(`${line}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}

function rewritten(path: string, number: number): string {
  return `PROOF_ROOT_FILE ${path} ends with root ${number}, which was lost when the database was restored; keep the file, and set another one`;
}

async function tailOf(file: FileHandle, size: number): Promise<Buffer> {
  const length = Math.min(size, TAIL_BYTES);
  const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
  return buffer;
}

async function post(url: string, root: RootDocument, lost: AbortSignal): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: canonical(root),
    redirect: 'manual',
    signal: AbortSignal.any([lost, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`PROOF_ROOT_URL answered root ${root.number} with status ${response.status}`);
}
