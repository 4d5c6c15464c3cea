import pg from 'pg';
import { CHECK_TIMEOUT_MS, type PrimaryCheck } from './primary-check.js';

/** Maximum number of connections per gateway process. */
const MAX_CONNECTIONS = 20;
/** Maximum time that a request waits for a free connection before the gateway responds with 503. */
const ACQUIRE_TIMEOUT_MS = 5_000;
/**
 * Maximum time that a start or an operator command waits for a connection. On a slow machine, the process may be busy
 * for seconds before it reads the database's response.
 */
export const PATIENT_ACQUIRE_TIMEOUT_MS = 20_000;
const STATEMENT_TIMEOUT_MS = 15_000;
/** Maximum time that a statement waits for another transaction's lock. */
const LOCK_TIMEOUT_MS = 5_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 15_000;

const INT8 = 20;
const TIMESTAMPTZ = 1184;

/**
 * Parses int8 as bigint, and timestamptz as whole seconds since 1970 (also bigint), because the domain's rules use
 * these units.
 */
const domainTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === INT8) return BigInt;
    if (oid === TIMESTAMPTZ) return (text: string) => BigInt(Date.parse(text) / 1000);
    return pg.types.getTypeParser(oid, format as 'text');
  }) as typeof pg.types.getTypeParser,
};

/**
 * The sender of change notices for rentals: the database's triggers `within` the transaction, or this process `after`
 * it, so that commits don't wait for each other. The migration `change_notices` calls this parameter `gateway.tells`.
 */
export type NotifyMode = 'within' | 'after';

/** Makes the triggers send the notices within a single transaction, in a process whose mode is `after`. */
export const NOTIFY_IN_TRANSACTION = {
  name: 'notify-within',
  text: `select set_config('gateway.tells', '${'within' satisfies NotifyMode}', true)`,
  values: [],
};

/**
 * Creates the process's only pool. The domain's own SQL shares it with Prisma, which has its own type parsers. With
 * `primary`, it contains only connections to the primary.
 */
export function createPool(
  connectionString: string,
  notifyMode: NotifyMode,
  acquireTimeoutMs: number = ACQUIRE_TIMEOUT_MS,
  primary: PrimaryCheck | null = null,
): pg.Pool {
  // A start is as patient with the check as with the connection, because the process itself may be slow.
  const isPatient = () => pool.options.connectionTimeoutMillis === PATIENT_ACQUIRE_TIMEOUT_MS;
  const checkTimeoutMs = () => (isPatient() ? PATIENT_ACQUIRE_TIMEOUT_MS : CHECK_TIMEOUT_MS);
  const pool: pg.Pool = new pg.Pool({
    connectionString,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: acquireTimeoutMs,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    application_name: 'gpu-rental-gateway',
    options: `-c TimeZone=UTC -c lock_timeout=${LOCK_TIMEOUT_MS} -c gateway.tells=${notifyMode}`,
    types: domainTypes,
    ...(primary !== null && {
      verify: (client, done) => void primary.check(client, checkTimeoutMs()).then(() => done(), done),
    }),
  });
  // A broken idle connection is replaced when it is next used. Without a listener, its error would end the process.
  pool.on('error', () => {});
  // A connection also has no listener while the pool hands it over, and the packet that reports it as ready may also
  // report that it has ended.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** Makes a patient pool serve requests, which don't wait as long for a connection. */
export function serveRequests(pool: pg.Pool): void {
  pool.options.connectionTimeoutMillis = ACQUIRE_TIMEOUT_MS;
}
