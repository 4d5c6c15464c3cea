import { required } from '../../std/required.js';
import type { KernelDeps } from '../kernel/deps.js';
import { formatInstant } from '../kernel/time.js';

/**
 * Returns a secret shared by all gateways that use the same database, creating it on first use. If two gateways create
 * it at the same time, both use the one stored first. The secret is never shown or logged, but anyone who can read the
 * database or a copy of it can read the secret.
 */
export async function gatewaySecret(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  name: string,
  make: () => string,
): Promise<string> {
  const read = async () => {
    const { rows } = await deps.db.pool.query<{ value: string }>('select value from gateway_secret where name = $1', [
      name,
    ]);
    return rows[0]?.value;
  };
  const known = await read();
  if (known !== undefined) return known;
  await deps.db.pool.query(
    'insert into gateway_secret (name, value, created_at) values ($1, $2, $3::timestamptz) on conflict do nothing',
    [name, make(), formatInstant(deps.clock.now())],
  );
  return required(await read(), 'gateway secret');
}
