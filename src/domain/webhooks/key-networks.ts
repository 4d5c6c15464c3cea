import { DUE_WORK } from '../../database/notices.js';
import { inTransaction } from '../../database/transaction.js';
import { required } from '../../std/required.js';
import type { KernelDeps } from '../kernel/deps.js';
import { ACCOUNT_SUBJECT } from '../kernel/events.js';
import { emit } from '../kernel/outbox.js';
import { formatInstant, type Instant } from '../kernel/time.js';

/** Maximum number of networks stored per key. Once it is reached, no more events are sent. */
const MAX_OF_KEY = 200;

/** A key, and a network that it was used from. */
export interface KeyNetwork {
  accountId: string;
  keyId: string;
  network: string;
  address: string;
  at: Instant;
}

/** Records the networks that keys were used from, and sends an event for each one except a key's first. */
export async function recordKeyNetworks(deps: Pick<KernelDeps, 'db'>, uses: readonly KeyNetwork[]): Promise<void> {
  const byKeyAndNetwork = new Map(uses.map((use) => [`${use.keyId} ${use.network}`, use]));
  const isReported = await inTransaction(deps.db.pool, async (transaction) => {
    const rows = uses.map(({ keyId, network, at }) => ({ key_id: keyId, network, seen_at: formatInstant(at) }));
    const { rows: fresh } = await transaction.query<{ keyId: string; network: string; isFirst: boolean }>(
      INSERT_NETWORKS,
      [JSON.stringify(rows), MAX_OF_KEY],
    );
    const reported = fresh
      .filter(({ isFirst }) => !isFirst)
      .map(({ keyId, network }) => required(byKeyAndNetwork.get(`${keyId} ${network}`), 'use of a key'));
    if (reported.length === 0) return false;
    transaction.later(
      emit(
        reported.map(({ accountId, keyId, network, address, at }) => ({
          accountId,
          type: 'key.new_network' as const,
          subject: ACCOUNT_SUBJECT,
          at,
          data: { key: keyId, network, address },
        })),
      ),
    );
    return true;
  });
  if (isReported) deps.db.notices.publish([DUE_WORK]);
}

const INSERT_NETWORKS = `
  with used as (select * from jsonb_to_recordset($1::jsonb) as used (key_id text, network text, seen_at timestamptz)),
  inserted as (
    insert into api_key_network (key_id, network, seen_at)
    select key_id, network, seen_at from used
    where exists (select from api_key where api_key.id = key_id)
      and (select count(*) from api_key_network seen where seen.key_id = used.key_id) < $2
    order by key_id, network on conflict do nothing returning key_id, network
  )
  select key_id as "keyId", network,
    not exists (select from api_key_network before where before.key_id = inserted.key_id) as "isFirst" from inserted`;
