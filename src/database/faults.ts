import { QueueTimeout } from './keyed-queue.js';

/** SQLSTATE codes for a serialization failure and a deadlock. */
const CONFLICT_STATES = new Set(['40001', '40P01']);
const UNIQUE_VIOLATION = '23505';
/** Primary keys of rows that are written together. PostgreSQL reports whichever collides first. */
const ID_CONSTRAINTS = new Set(['instance_pkey', 'usage_interval_pkey']);
/**
 * SQLSTATE classes for a database that can't serve requests now: connection, resources, object in use, operator
 * intervention and system error.
 */
const UNAVAILABLE_CLASSES = ['08', '53', '55', '57', '58'];
/** SQLSTATE code for a write on a server that only accepts reads, such as a primary that has become a standby. */
const READ_ONLY = '25006';
const UNAVAILABLE_ERRNOS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOENT',
  'EHOSTUNREACH',
  'ENOTFOUND',
]);
/**
 * Prisma's codes for an unreachable or slow server, a closed connection, too few connections, or a transaction that
 * didn't start in time.
 */
const UNAVAILABLE_PRISMA_CODES = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028', 'P2037']);
/** Errors that pg identifies only by their message. */
const UNAVAILABLE_MESSAGES =
  /connection terminated|timeout exceeded when trying to connect|timeout expired|query read timeout|connection error|server closed/i;
/** The SQLSTATE code in the message of a Prisma error, which doesn't contain it anywhere else. */
const PRISMA_STATE = /Database error\. Code: `([0-9A-Z]{5})`/;
const MAX_CAUSES = 5;

export function isConflict(error: unknown): boolean {
  const code = sqlState(error);
  return code !== undefined && (CONFLICT_STATES.has(code) || isIdCollision(error));
}

/** Whether two new instances were given the same random id. */
function isIdCollision(error: unknown): boolean {
  return (
    sqlState(error) === UNIQUE_VIOLATION && ID_CONSTRAINTS.has((error as { constraint?: string }).constraint ?? '')
  );
}

/** Whether the database is unreachable or too busy, so that the caller may retry later. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof QueueTimeout) return true;
  let fault = error;
  for (let depth = 0; depth < MAX_CAUSES && fault instanceof Object; depth += 1) {
    const { code, message, cause, originalError, syscall } = fault as Record<string, unknown>;
    const named = typeof code === 'string' || typeof code === 'number' ? String(code) : '';
    // A missing socket makes the database unavailable, but a missing file is a different fault.
    if (named === 'ENOENT' && syscall !== undefined && syscall !== 'connect') return false;
    if (UNAVAILABLE_ERRNOS.has(named) || UNAVAILABLE_PRISMA_CODES.has(named)) return true;
    const text = typeof message === 'string' ? message : '';
    const state = PRISMA_STATE.exec(text)?.[1] ?? named;
    if (/^[0-9A-Z]{5}$/.test(state) && UNAVAILABLE_CLASSES.includes(state.slice(0, 2))) return true;
    if (state === READ_ONLY || UNAVAILABLE_MESSAGES.test(text)) return true;
    fault = cause ?? originalError;
  }
  return false;
}

/** Whether the server refused a write because it only accepts reads. Its connections must not be used again. */
export function isReadOnly(error: unknown): boolean {
  return sqlState(error) === READ_ONLY;
}

/** Returns a one-line reason why the database is unavailable. */
export function unavailableReason(error: unknown): string {
  // Prisma names the call in the first lines and gives the reason in the last.
  const lines = error instanceof Error ? error.message.trim().split(/\s*\n\s*/) : [];
  return lines.at(-1) || (error as NodeJS.ErrnoException).code || String(error);
}

function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}
