import { randomBytes } from 'node:crypto';
import { withAdvisoryLock } from '../../database/advisory-lock.js';
import { deadline } from '../../deadline.js';
import { every, type Sweep } from '../background.js';
import type { Deps } from '../deps.js';
import { formatInstant } from '../rules/time.js';
import { droppedSnapshots, type KeptSnapshot } from '../rules/volume-keeping.js';
import { upkeepToken } from '../rules/volume-lease.js';
import { compareStore, type StoreComparison } from './check.js';
import { copyRepository } from './copy.js';
import { leaseSecret } from './lease-secret.js';
import { removeDeadLocks } from './locks.js';
import { passwordOf } from './password.js';
import { reconcile, recount } from './reconcile.js';
import { StoreFault } from './store.js';

/** Held by the gateway that does it. */
const UPKEEP_LOCK = 4_207_027;
/** Erasing and copying don't wait for what restic works on. */
const COPY_LOCK = 4_207_028;
const EVERY_MS = 60_000;
/** Of one volume. */
const KEEP_EVERY_SECONDS = 3_600n;
const AGAIN_SECONDS = 600n;
/** Of restic's work on one volume, which all others wait for: some minutes, and more for a larger one. */
const KEEP_MS = 120_000;
const KEEP_MS_PER_GB = 10_000;
const LONGEST_KEEP_MS = 1_800_000;
/** What arrives for so long was left by a gateway that died. */
const ABANDONED_MS = 86_400_000;

export interface UpkeepOptions {
  /** Where this gateway is reached, such as http://127.0.0.1:4000. */
  address: string;
  /** Receives why a repository could not be pruned, copied or erased. */
  onFailure(volumeId: string, reason: string): void;
  /** Receives what differed between store and database as the gateway started. */
  onCompared(comparison: StoreComparison): void;
  signal: AbortSignal;
}

interface KeptVolume {
  id: string;
  accountId: string;
  sizeGb: number;
  sealedPassword: Uint8Array;
  sealingKeyId: string;
  copyOf: string | null;
  isFirst: boolean;
  leaseSinceMs: number | null;
}

/** Erases deleted volumes, copies repositories, and drops old snapshots, one volume at a time in all gateways together. */
export function startVolumeUpkeep(
  deps: Deps,
  options: Omit<UpkeepOptions, 'signal'>,
  onFault: (error: unknown) => void,
): Sweep {
  const ending = new AbortController();
  const all = { ...options, signal: ending.signal };
  const copies = () => copyVolumes(deps, all);
  const work = () => pruneVolumes(deps, all);
  // A store that is away is told of when something is asked of it.
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

/** All that is due, unless another gateway is at it. */
export async function keepVolumes(deps: Deps, options: UpkeepOptions): Promise<void> {
  await copyVolumes(deps, options);
  await pruneVolumes(deps, options);
}

/** Erases what is deleted, and makes copies. */
async function copyVolumes(deps: Deps, options: UpkeepOptions): Promise<void> {
  await withAdvisoryLock(deps.db.pool, COPY_LOCK, async (lost) => {
    const signal = AbortSignal.any([lost, options.signal]);
    await eachOf(deps, ERASED, [], signal, options, (id) => erase(deps, id));
    await eachOf(deps, COPIED, [], signal, options, (id) => copyRepository(deps, id));
  });
}

/** Drops old snapshots. */
async function pruneVolumes(deps: Deps, options: UpkeepOptions): Promise<void> {
  await withAdvisoryLock(deps.db.pool, UPKEEP_LOCK, async (lost) => {
    const signal = AbortSignal.any([lost, options.signal]);
    // Of a gateway that died: what it left running writes no more.
    await deps.db.pool.query('update volume set upkeep_nonce = null where upkeep_nonce is not null');
    const due = formatInstant(deps.clock.now() - KEEP_EVERY_SECONDS);
    await eachOf(deps, DUE, [due], signal, options, (id) => keep(deps, id, { ...options, signal }));
  });
}

const ERASED = 'select id from volume where deleted_at is not null and erased_at is null order by id';
const COPIED = `select id from volume where copy_of is not null and copied_at is null and deleted_at is null
  order by id`;
const DUE = `select id from volume where deleted_at is null and (copy_of is null or copied_at is not null)
  and (kept_at is null or kept_at <= $1::timestamptz)
  and exists (select from volume_snapshot where volume_id = volume.id and dropped_at is null)
  order by kept_at nulls first, id`;

/** What fails for one volume keeps nobody else's from its turn. */
async function eachOf(
  deps: Deps,
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
      deps.events.volumeKept('failed');
      onFailure(id, (error as Error).message);
    }
  }
}

async function erase(deps: Deps, id: string): Promise<void> {
  await deps.volumeStore.erase(id);
  await deps.db.pool.query('delete from volume_lock where volume_id = $1', [id]);
  const at = formatInstant(deps.clock.now());
  await deps.db.pool.query(
    'update volume_snapshot set dropped_at = $2::timestamptz where volume_id = $1 and dropped_at is null',
    [id, at],
  );
  await deps.db.pool.query('update volume set erased_at = $2::timestamptz, stored_bytes = 0 where id = $1', [id, at]);
  deps.events.volumeKept('erased');
}

async function keep(deps: Deps, id: string, options: UpkeepOptions): Promise<void> {
  try {
    const isThere = await reconcile(deps, id);
    if (!isThere)
      throw new Error('the store has nothing of this volume: it is older than the database, or another one');
    await deps.volumeStore.forgetArriving(id, Date.now() - ABANDONED_MS);
    await prune(deps, await keptVolume(deps, id), options);
    await recount(deps, id);
    await noteKept(deps, id, deps.clock.now(), false);
  } catch (error) {
    if (options.signal.aborted) return;
    await noteKept(deps, id, deps.clock.now() - KEEP_EVERY_SECONDS + AGAIN_SECONDS, true);
    throw error;
  }
}

/** With the gateway's own restic, as a client of its own server, whose token ends with this piece of work. */
async function prune(deps: Deps, volume: KeptVolume, { address, signal }: UpkeepOptions): Promise<void> {
  const { restic } = deps;
  const { rows } = await deps.db.pool.query<{ id: string; atMs: number }>(
    `select id, (extract(epoch from at) * 1000)::double precision as "atMs" from volume_snapshot
     where volume_id = $1 and dropped_at is null`,
    [volume.id],
  );
  const dropped: KeptSnapshot[] = droppedSnapshots(rows, volume.leaseSinceMs);
  const isCopy = volume.copyOf !== null && volume.isFirst;
  if (restic === null || (dropped.length === 0 && !isCopy)) return;
  const nonce = randomBytes(16).toString('hex');
  const [password, secret] = await Promise.all([passwordOf(deps, volume), leaseSecret(deps)]);
  const { protocol, host } = new URL(address);
  const token = upkeepToken(secret, volume.id, nonce);
  const url = `rest:${protocol}//upkeep:${token}@${host}/volumes/${volume.id}/`;
  const args = dropped.length === 0 ? ['prune'] : ['forget', '--prune', ...dropped.map(({ id }) => id)];
  await deps.db.pool.query('update volume set upkeep_nonce = $2 where id = $1 and deleted_at is null', [
    volume.id,
    nonce,
  ]);
  const limit = deadline(Math.min(KEEP_MS + volume.sizeGb * KEEP_MS_PER_GB, LONGEST_KEEP_MS), signal);
  try {
    const { code, output } = await restic({ url, password }, args, limit.signal);
    if (code !== 0) throw new Error(`restic ${args[0]}: ${lastLine(output.replaceAll(token, '…'))}`);
    deps.events.volumeKept('pruned');
  } finally {
    limit.clear();
    await deps.db.pool.query('update volume set upkeep_nonce = null where id = $1 and upkeep_nonce = $2', [
      volume.id,
      nonce,
    ]);
    await removeDeadLocks(deps, volume.id);
  }
}

async function keptVolume({ db }: Deps, id: string): Promise<KeptVolume> {
  const { rows } = await db.pool.query<KeptVolume>(
    `select id, account_id as "accountId", size_gb as "sizeGb", sealed_password as "sealedPassword", sealing_key_id as "sealingKeyId",
       copy_of as "copyOf", kept_at is null as "isFirst",
       case when lease_instance_id is null then null
         else (extract(epoch from lease_since) * 1000)::double precision end as "leaseSinceMs"
     from volume where id = $1`,
    [id],
  );
  return rows[0]!;
}

async function noteKept({ db, clock }: Deps, id: string, keptAt: bigint, hasFailed: boolean): Promise<void> {
  await db.pool.query(
    `update volume set kept_at = $2::timestamptz,
       keep_failed_at = case when $3 then coalesce(keep_failed_at, $4::timestamptz) end where id = $1`,
    [id, formatInstant(keptAt), hasFailed, formatInstant(clock.now())],
  );
}

/** What restic says last is why it ended. */
function lastLine(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return (lines.find((line) => line.startsWith('Fatal:')) ?? lines.at(-1) ?? 'it said nothing').slice(0, 500);
}
