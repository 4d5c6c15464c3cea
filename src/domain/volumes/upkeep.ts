import { randomBytes } from 'node:crypto';
import { withAdvisoryLock } from '../../database/advisory-lock.js';
import { only } from '../../database/only.js';
import { deadline } from '../../std/deadline.js';
import { required } from '../../std/required.js';
import { every, type Sweep } from '../kernel/background.js';
import type { KernelDeps } from '../kernel/deps.js';
import { formatInstant } from '../kernel/time.js';
import { compareStore, type StoreComparison } from './check.js';
import { copyRepository } from './copy.js';
import type { VolumeDeps } from './deps.js';
import { markIndexes, unverifiedIndexes } from './indexes.js';
import { leaseSecret } from './lease-secret.js';
import { isLocked, removeStaleLocks } from './locks.js';
import { passwordOf } from './password.js';
import { reconcile, recount } from './reconcile.js';
import type { ResticExit } from './restic.js';
import { upkeepToken } from './rules/lease-token.js';
import { droppedSnapshots, type StoredSnapshot } from './rules/volume-keeping.js';
import { dropSnapshots } from './snapshots.js';
import { StoreFault } from './store.js';

/** Advisory lock held by the gateway that prunes. */
const UPKEEP_LOCK = 4_207_027;
/** A separate lock for erasing and copying, so that they don't wait for restic. */
const COPY_LOCK = 4_207_028;
const EVERY_MS = 60_000;
/** Interval between two prunes of the same volume. */
const PRUNE_EVERY_SECONDS = 3_600n;
const RETRY_SECONDS = 600n;
/**
 * Time limit for restic's work on one volume, because all other volumes wait for it. It is a few minutes, plus some
 * time per GB.
 */
const RESTIC_MS = 120_000;
const RESTIC_MS_PER_GB = 10_000;
const MAX_RESTIC_MS = 1_800_000;
/**
 * Number of indexes verified per run. Several are combined, because restic takes half a second per run to derive the
 * key.
 */
const VERIFY_BATCH = 8;
/** Matches errors that report a problem in the repository, as opposed to a check that could not be completed. */
const IS_VERDICT = /Fatal: (repository contains errors|LoadIndex returned errors)/;
/**
 * restic's exit code when the Go runtime aborts it, for example because an index lists a blob larger than the available
 * memory.
 */
const CRASHED = 2;
/**
 * Time limit for verifying one volume, because all other volumes wait for it. A check already in progress is completed.
 */
const VERIFY_MS = 600_000;
/** Age at which an unfinished upload is assumed to have been abandoned by a crashed gateway. */
const ABANDONED_MS = 86_400_000;

export interface UpkeepOptions {
  /** URL at which restic reaches this gateway, such as http://127.0.0.1:4000. */
  address: string;
  /** Called with the reason when a repository can't be pruned, copied or erased. */
  onFailure(volumeId: string, reason: string): void;
  /** Called with the differences between the store and the database once the gateway has started. */
  onCompared(comparison: StoreComparison): void;
  signal: AbortSignal;
}

interface PrunableVolume {
  id: string;
  accountId: string;
  sizeGb: number;
  sealedPassword: Uint8Array;
  sealingKeyId: string;
  copyOf: string | null;
  isFirst: boolean;
  /** Whether the volume has an index that was written by a host and is not verified yet. */
  isDoubted: boolean;
  leaseSinceMs: number | null;
}

/**
 * Starts volume upkeep, which erases deleted volumes, copies repositories and deletes old snapshots. Across all
 * gateways, only one volume is pruned at a time, and only one is copied or erased.
 */
export function startVolumeUpkeep(
  deps: Pick<VolumeDeps, 'db' | 'clock' | 'sealingKeys' | 'restic' | 'volumeStore' | 'events'>,
  options: Omit<UpkeepOptions, 'signal'>,
  onFault: (error: unknown) => void,
): Sweep {
  const ending = new AbortController();
  const all = { ...options, signal: ending.signal };
  const copies = () => copyVolumes(deps, all);
  const work = () => pruneVolumes(deps, all);
  // A store outage is ignored here, because it is reported when the store is next used.
  const compared = compareStore(deps).then(options.onCompared, (error: unknown) => {
    if (!(error instanceof StoreFault)) throw error;
  });
  const first = compared
    .then(() => Promise.all([copies(), work()]))
    .catch((error: unknown) => {
      if (!ending.signal.aborted) onFault(error);
    });
  const sweeps = [every(EVERY_MS, copies, onFault), every(EVERY_MS, work, onFault)];
  return {
    stop: async () => {
      ending.abort();
      await Promise.all([first, ...sweeps.map((sweep) => sweep.stop())]);
    },
  };
}

/** Does all the work that is due, unless another gateway is already doing it. */
export async function maintainVolumes(
  deps: Pick<VolumeDeps, 'db' | 'clock' | 'sealingKeys' | 'restic' | 'events' | 'volumeStore'>,
  options: UpkeepOptions,
): Promise<void> {
  await copyVolumes(deps, options);
  await pruneVolumes(deps, options);
}

/** Erases deleted volumes and copies repositories. */
async function copyVolumes(
  deps: Pick<VolumeDeps, 'db' | 'clock' | 'events' | 'volumeStore'>,
  options: UpkeepOptions,
): Promise<void> {
  await withAdvisoryLock(deps.db.pool, COPY_LOCK, async (lost) => {
    const signal = AbortSignal.any([lost, options.signal]);
    await eachOf(deps, ERASED, [], signal, options, (id) => erase(deps, id));
    await eachOf(deps, COPIED, [], signal, options, (id) => copyRepository(deps, id));
  });
}

/** Deletes old snapshots. */
async function pruneVolumes(
  deps: Pick<VolumeDeps, 'db' | 'clock' | 'sealingKeys' | 'restic' | 'events' | 'volumeStore'>,
  options: UpkeepOptions,
): Promise<void> {
  await withAdvisoryLock(deps.db.pool, UPKEEP_LOCK, async (lost) => {
    const signal = AbortSignal.any([lost, options.signal]);
    // These are left behind by a crashed gateway, whose processes can no longer write.
    await deps.db.pool.query(
      `update volume set upkeep_nonce = null, upkeep_indexes = '{}' where upkeep_nonce is not null`,
    );
    const due = formatInstant(deps.clock.now() - PRUNE_EVERY_SECONDS);
    await eachOf(deps, DUE, [due, String(deps.restic !== null)], signal, options, (id) =>
      maintain(deps, id, { ...options, signal }),
    );
  });
}

const ERASED = 'select id from volume where deleted_at is not null and erased_at is null order by id';
const COPIED = `select id from volume where copy_of is not null and copied_at is null and deleted_at is null
  order by id`;
/** Indexes written by a host are verified soon after its lease ends, because the owner can't prune until then. */
const DUE = `select id from volume where deleted_at is null and (copy_of is null or copied_at is not null)
  and (kept_at is null or kept_at <= $1::timestamptz or ($2::boolean and keep_failed_at is null and lease_instance_id is null
    and exists (select from volume_index where volume_id = volume.id and state = 'DOUBTED')))
  and exists (select from volume_snapshot where volume_id = volume.id and dropped_at is null)
  order by kept_at nulls first, id`;

/** Does the work for each volume. A failure for one volume doesn't stop the others. */
async function eachOf(
  deps: Pick<VolumeDeps, 'db' | 'events'>,
  text: string,
  values: readonly string[],
  signal: AbortSignal,
  { onFailure }: UpkeepOptions,
  work: (id: string) => Promise<unknown>,
): Promise<void> {
  const { rows } = await deps.db.pool.query<{ id: string }>(text, [...values]);
  for (const { id } of rows) {
    if (signal.aborted) return;
    try {
      await work(id);
    } catch (error) {
      if (signal.aborted) return;
      deps.events.volumeMaintained('failed');
      onFailure(id, (error as Error).message);
    }
  }
}

async function erase(deps: Pick<VolumeDeps, 'db' | 'clock' | 'volumeStore' | 'events'>, id: string): Promise<void> {
  await deps.volumeStore.erase(id);
  await deps.db.pool.query('delete from volume_lock where volume_id = $1', [id]);
  await deps.db.pool.query('delete from volume_index where volume_id = $1', [id]);
  const { rows } = await deps.db.pool.query<{ id: string }>('select id from volume_snapshot where volume_id = $1', [
    id,
  ]);
  await dropSnapshots(
    deps,
    deps.db.pool,
    id,
    rows.map((row) => row.id),
  );
  const at = formatInstant(deps.clock.now());
  await deps.db.pool.query('update volume set erased_at = $2::timestamptz, stored_bytes = 0 where id = $1', [id, at]);
  deps.events.volumeMaintained('erased');
}

async function maintain(
  deps: Pick<VolumeDeps, 'db' | 'clock' | 'sealingKeys' | 'volumeStore' | 'restic' | 'events'>,
  id: string,
  options: UpkeepOptions,
): Promise<void> {
  try {
    const exists = await reconcile(deps, id);
    if (!exists)
      throw new Error('the store has no data for this volume: it is older than the database, or a different store');
    await deps.volumeStore.removeAbandonedUploads(id, Date.now() - ABANDONED_MS);
    const isDone = await prune(deps, await readVolume(deps, id), options);
    await recount(deps, id);
    if (isDone) await recordPruned(deps, id, deps.clock.now(), null);
    else await postpone(deps, id);
  } catch (error) {
    if (options.signal.aborted) return;
    // If only the owner can fix the problem, the volume is checked again no more often than a sound one.
    await recordPruned(deps, id, error instanceof RepositoryFault ? deps.clock.now() : retryAt(deps), error as Error);
    throw error;
  }
}

/** A problem in a repository that its owner can fix. */
class RepositoryFault extends Error {}

/**
 * Deletes the snapshots that don't have to be kept, and the data that only they use. Returns false if it must be
 * retried later, because another client is working on the repository or an instance has taken the volume.
 */
async function prune(
  deps: Pick<VolumeDeps, 'db' | 'clock' | 'sealingKeys' | 'restic' | 'events' | 'volumeStore'>,
  volume: PrunableVolume,
  options: UpkeepOptions,
): Promise<boolean> {
  const { rows } = await deps.db.pool.query<StoredSnapshot>(
    `select id, (extract(epoch from at) * 1000)::double precision as "atMs", lease from volume_snapshot
     where volume_id = $1 and dropped_at is null`,
    [volume.id],
  );
  const dropped = droppedSnapshots(rows, volume.leaseSinceMs);
  const isCopy = volume.copyOf !== null && volume.isFirst;
  const isDue = dropped.length > 0 || isCopy;
  if (deps.restic === null || (!isDue && !volume.isDoubted)) return true;
  if (!(await verifyIndexes(deps, volume, options))) return false;
  if (!isDue) return true;
  if (await isLocked(deps, volume.id)) return false;
  const args = dropped.length === 0 ? ['prune'] : ['forget', '--prune', ...dropped.map(({ id }) => id)];
  const work = await asUpkeep(deps, volume, options, [], async (run) => {
    // From this point on, hosts can't add anything. Data added since the verification is verified next time.
    if ((await unverifiedIndexes(deps, volume.id)).length > 0) return null;
    return run(args);
  });
  if (work.result === null || (work.isTaken && work.result.code !== 0)) return false;
  if (work.result.code !== 0) throw new Error(`restic ${args[0]}: ${lastLine(work.result.output)}`);
  deps.events.volumeMaintained('pruned');
  return true;
}

/**
 * Compares each unverified index with every byte of the packs that it lists. Uses restic's own check, but shows it no
 * other indexes and no snapshots, so that each byte written is read only once. Throws if an index lists something that
 * its pack doesn't contain, because such packs must not replace those that other snapshots need. Returns false if the
 * time limit is reached, in which case the remaining indexes are verified later.
 */
async function verifyIndexes(
  deps: Pick<VolumeDeps, 'db' | 'clock' | 'sealingKeys' | 'volumeStore' | 'restic'>,
  volume: PrunableVolume,
  options: UpkeepOptions,
): Promise<boolean> {
  const began = Date.now();
  const names = await unverifiedIndexes(deps, volume.id);
  const failed: string[] = [];
  const check = async (batch: readonly string[]) => {
    const result = await asUpkeep(deps, volume, options, batch, (run) =>
      run(['check', '--no-lock', '--read-data']),
    ).then(
      (work) => work.result,
      (error: Error) => {
        if (batch.length === 1 || options.signal.aborted || error.name !== 'AbortError') throw error;
        return null;
      },
    );
    if (result?.code === 0) return markIndexes(deps, volume.id, batch, 'VERIFIED');
    if (result !== null && result.code !== CRASHED && !IS_VERDICT.test(result.output))
      throw new Error(`restic check: ${lastLine(result.output)}`);
    if (batch.length > 1) for (const name of batch) await check([name]);
    else {
      failed.push(...batch);
      await markIndexes(deps, volume.id, batch, 'FAILED');
    }
  };
  let from = 0;
  for (; from < names.length && Date.now() - began < VERIFY_MS; from += VERIFY_BATCH)
    await check(names.slice(from, from + VERIFY_BATCH));
  if (failed.length === 0) return from >= names.length;
  throw new RepositoryFault(
    `index ${failed[0]} doesn't match its packs${failed.length > 1 ? `, nor do ${failed.length - 1} others` : ''}: no snapshots are deleted until it is removed`,
  );
}

type Run = (args: readonly string[]) => Promise<ResticExit>;

/**
 * Runs the gateway's own restic as a client of the gateway's own server, with a token that is valid only during this
 * work. If `indexes` isn't empty, it sees only these index objects and can't write. Otherwise, it sees the whole
 * repository. `isTaken` in the result means that an instance took the volume, which ended the work.
 */
async function asUpkeep<T>(
  deps: Pick<VolumeDeps, 'db' | 'clock' | 'sealingKeys' | 'restic' | 'volumeStore'>,
  volume: PrunableVolume,
  { address, signal }: UpkeepOptions,
  indexes: readonly string[],
  work: (run: Run) => Promise<T>,
): Promise<{ result: T; isTaken: boolean }> {
  const restic = required(deps.restic, 'restic');
  const nonce = randomBytes(16).toString('hex');
  const [password, secret] = await Promise.all([passwordOf(deps, volume), leaseSecret(deps)]);
  const { protocol, host } = new URL(address);
  const token = upkeepToken(secret, volume.id, nonce);
  const url = `rest:${protocol}//upkeep:${token}@${host}/volumes/${volume.id}/`;
  await deps.db.pool.query(
    'update volume set upkeep_nonce = $2, upkeep_indexes = $3 where id = $1 and deleted_at is null',
    [volume.id, nonce, indexes],
  );
  const limit = deadline(Math.min(RESTIC_MS + volume.sizeGb * RESTIC_MS_PER_GB, MAX_RESTIC_MS), signal);
  let result: T;
  let isTaken = false;
  try {
    result = await work(async (args) => {
      const { code, output } = await restic({ url, password }, args, limit.signal);
      return { code, output: output.replaceAll(token, '…') };
    });
  } finally {
    limit.clear();
    const { rowCount } = await deps.db.pool.query(
      `update volume set upkeep_nonce = null, upkeep_indexes = '{}' where id = $1 and upkeep_nonce = $2`,
      [volume.id, nonce],
    );
    isTaken = rowCount === 0;
    await removeStaleLocks(deps, volume.id);
  }
  return { result, isTaken };
}

async function readVolume({ db }: Pick<KernelDeps, 'db'>, id: string): Promise<PrunableVolume> {
  const { rows } = await db.pool.query<PrunableVolume>(
    `select id, account_id as "accountId", size_gb as "sizeGb", sealed_password as "sealedPassword", sealing_key_id as "sealingKeyId",
       copy_of as "copyOf", kept_at is null as "isFirst",
       exists (select from volume_index where volume_id = volume.id and state <> 'VERIFIED') as "isDoubted",
       case when lease_instance_id is null then null
         else (extract(epoch from lease_since) * 1000)::double precision end as "leaseSinceMs"
     from volume where id = $1`,
    [id],
  );
  return only(rows);
}

async function recordPruned(
  { db, clock }: Pick<KernelDeps, 'db' | 'clock'>,
  id: string,
  keptAt: bigint,
  fault: Error | null,
): Promise<void> {
  await db.pool.query(
    `update volume set kept_at = $2::timestamptz, keep_fault = $5,
       keep_failed_at = case when $3 then coalesce(keep_failed_at, $4::timestamptz) end where id = $1`,
    [
      id,
      formatInstant(keptAt),
      fault !== null,
      formatInstant(clock.now()),
      fault instanceof RepositoryFault ? fault.message : null,
    ],
  );
}

/** Postpones the volume's next prune without changing whether the last one failed. */
async function postpone(deps: Pick<KernelDeps, 'db' | 'clock'>, id: string): Promise<void> {
  await deps.db.pool.query('update volume set kept_at = $2::timestamptz where id = $1', [
    id,
    formatInstant(retryAt(deps)),
  ]);
}

function retryAt({ clock }: Pick<KernelDeps, 'clock'>): bigint {
  return clock.now() - PRUNE_EVERY_SECONDS + RETRY_SECONDS;
}

/** Returns restic's fatal error, or its last line if there is none. */
function lastLine(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return (lines.find((line) => line.startsWith('Fatal:')) ?? lines.at(-1) ?? 'no output').slice(0, 500);
}
