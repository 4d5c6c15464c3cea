import { only } from '../../database/only.js';
import { formatInstant } from '../kernel/time.js';
import type { VolumeDeps } from './deps.js';
import { recount } from './reconcile.js';

/** Maximum number of passes. If the source is written during a pass, another pass copies the new objects. */
const MAX_PASSES = 20;

/**
 * Copies the source volume's repository to a new volume, with all of its data, but only the snapshot that the copy
 * starts from. Unneeded data is pruned later. Throws if the source is no longer complete.
 */
export async function copyRepository(
  deps: Pick<VolumeDeps, 'db' | 'clock' | 'volumeStore' | 'events'>,
  id: string,
): Promise<void> {
  const { db, volumeStore, clock } = deps;
  const { rows } = await db.pool.query<{ from: string; head: string }>(
    'select copy_of as "from", head_snapshot_id as head from volume where id = $1',
    [id],
  );
  const { from, head } = only(rows);
  let index = await indexOf(deps, from);
  for (let pass = 1; ; pass += 1) {
    await volumeStore.copy(from, id, 'data');
    await volumeStore.copy(from, id, 'index');
    const now = await indexOf(deps, from);
    if (now.join() === index.join()) break;
    if (pass === MAX_PASSES) throw new Error(`volume ${from} keeps changing; it will be copied later`);
    index = now;
  }
  for (const kind of ['keys', 'config'] as const) await volumeStore.copy(from, id, kind);
  await volumeStore.copy(from, id, 'snapshots', head);
  if ((await volumeStore.size(id, { kind: 'snapshots', name: head })) === null)
    throw new Error(`snapshot ${head} of volume ${from} is gone`);
  await recount(deps, id);
  await db.pool.query(
    `insert into volume_snapshot (volume_id, id, at, size_bytes)
     select $1, $2, $3::timestamptz, (select size_bytes from volume_snapshot where volume_id = $4 and id = $2)
     on conflict do nothing`,
    [id, head, formatInstant(clock.now()), from],
  );
  await db.pool.query(
    `insert into volume_index (volume_id, name, state) select $1, name, state from volume_index
     where volume_id = $2 and name = any($3::text[]) on conflict do nothing`,
    [id, from, index],
  );
  await db.pool.query('update volume set copied_at = $2::timestamptz where id = $1', [id, formatInstant(clock.now())]);
  deps.events.volumeMaintained('copied');
}

/** Returns the names of all index objects. They change whenever data is added or pruned. */
async function indexOf({ volumeStore }: Pick<VolumeDeps, 'volumeStore'>, id: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of volumeStore.list(id, 'index')) names.push(name);
  return names.sort();
}
