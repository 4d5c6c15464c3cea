import { DUE_WORK } from '../../database/notices.js';
import { inTransaction } from '../../database/transaction.js';
import type { Deps } from '../deps.js';
import { emit } from '../outbox.js';
import { OF_ACCOUNT } from '../rules/events.js';
import { formatInstant, type Instant } from '../rules/time.js';

/** Maximum networks stored per key; beyond them no event is sent. */
const MAX_OF_KEY = 200;

/** A key and a network from which it was used. */
export interface KeyPlace {
  accountId: string;
  keyId: string;
  network: string;
  address: string;
  at: Instant;
}

/** Records the networks from which keys were used, and reports each one that is not the first of its key. */
export async function noteKeyPlaces(deps: Deps, places: readonly KeyPlace[]): Promise<void> {
  const byName = new Map(places.map((place) => [`${place.keyId} ${place.network}`, place]));
  const isTold = await inTransaction(deps.db.pool, async (transaction) => {
    const rows = places.map(({ keyId, network, at }) => ({ key_id: keyId, network, seen_at: formatInstant(at) }));
    const { rows: fresh } = await transaction.query<{ keyId: string; network: string; isFirst: boolean }>(NOTE, [
      JSON.stringify(rows),
      MAX_OF_KEY,
    ]);
    const told = fresh
      .filter(({ isFirst }) => !isFirst)
      .map(({ keyId, network }) => byName.get(`${keyId} ${network}`)!);
    if (told.length === 0) return false;
    transaction.later(
      emit(
        told.map(({ accountId, keyId, network, address, at }) => ({
          accountId,
          type: 'key.new_network' as const,
          subject: OF_ACCOUNT,
          at,
          data: { key: keyId, network, address },
        })),
      ),
    );
    return true;
  });
  if (isTold) deps.db.notices.publish([DUE_WORK]);
}

const NOTE = `
  with given as (select * from jsonb_to_recordset($1::jsonb) as given (key_id text, network text, seen_at timestamptz)),
  noted as (
    insert into api_key_network (key_id, network, seen_at)
    select key_id, network, seen_at from given
    where exists (select from api_key where api_key.id = key_id)
      and (select count(*) from api_key_network seen where seen.key_id = given.key_id) < $2
    order by key_id, network on conflict do nothing returning key_id, network
  )
  select key_id as "keyId", network,
    not exists (select from api_key_network before where before.key_id = noted.key_id) as "isFirst" from noted`;
