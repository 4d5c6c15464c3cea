import { inLongTransaction, type Transaction } from '../../database/transaction.js';
import { DomainError } from '../kernel/errors.js';
import { checkOptional } from '../kernel/field.js';
import { formatInstant, type Instant, latest, SECONDS_PER_HOUR } from '../kernel/time.js';
import type { ProofDeps } from './deps.js';
import type { ConsistencyProof, InclusionProof, RootDocument, RootsDocument, UnsignedRoot } from './documents.js';
import { proofFields } from './fields.js';
import { canonical, hashOf } from './rules/canonical.js';
import { consistencyPath, inclusionPath } from './rules/tree.js';
import { NOTIFY, signerAt, signWith } from './signing-keys.js';
import { appendLeaves, hashesOf } from './tiles.js';

/** Advisory lock held by the process that appends to the log. */
export const LOG_LOCK = 4_207_045;
/** Maximum number of roots in one document. */
export const MAX_ROOTS = 1_000;

export interface RootRow {
  number: number;
  /** Instant. */
  at: string;
  size: string;
  root: Buffer;
  previous: Buffer | null;
  keyId: string;
  signature: Buffer;
}

export const ROOT_COLUMNS =
  'number, extract(epoch from at)::bigint::text as at, size::text, root, previous, key_id as "keyId", signature';

/** Returned instead of a root if there is none to make: the hour has one, or another process is appending. */
type NotAppended = 'exists' | 'busy';

/**
 * Appends to the log and signs the new root, even if no account's chain has grown. Returns null if another process is
 * appending. Throws action_failed if this service can't sign.
 */
export async function appendToLog(deps: Pick<ProofDeps, 'db' | 'clock' | 'sealingKeys'>): Promise<RootDocument | null> {
  const result = await appendIf(deps, () => true);
  return typeof result === 'string' ? null : result;
}

/** Appends to the log unless it already has a root of the current hour. Hours without a root aren't made up for. */
export function appendIfDue(
  deps: Pick<ProofDeps, 'db' | 'clock' | 'sealingKeys'>,
): Promise<RootDocument | NotAppended> {
  return appendIf(deps, (last, now) => last === null || hourOf(BigInt(last.at)) < hourOf(now));
}

export function hourOf(instant: Instant): Instant {
  return instant / SECONDS_PER_HOUR;
}

function appendIf(
  deps: Pick<ProofDeps, 'db' | 'clock' | 'sealingKeys'>,
  isDue: (last: RootRow | null, now: Instant) => boolean,
): Promise<RootDocument | NotAppended> {
  return inLongTransaction(deps.db.pool, async (transaction) => {
    const { rows } = await transaction.query<{ free: boolean }>('select pg_try_advisory_xact_lock($1) as free', [
      LOG_LOCK,
    ]);
    if (rows[0]?.free !== true) return 'busy';
    const last = await lastRoot(transaction);
    const now = deps.clock.now();
    if (!isDue(last, now)) return 'exists';
    // The clock may have been set back.
    const at = last === null ? now : latest(now, BigInt(last.at));
    const signer = await signerAt(deps, at);
    const since = await snapshotOf(transaction, last);
    const { size, snapshot } = await appendLeaves(transaction, Number(last?.size ?? 0), since);
    const [root] = await hashesOf(transaction, [{ from: 0, to: size }]);
    const unsigned: UnsignedRoot = {
      type: 'gpu-rental/root/v1',
      number: (last?.number ?? 0) + 1,
      at: formatInstant(at),
      size,
      root: hex(root as Buffer),
      previous: last && hex(documentHash(rootDocument(last))),
    };
    const document = signWith(signer, unsigned);
    await insertRoot(transaction, document, snapshot);
    return document;
  });
}

/**
 * Returns the snapshot of the chains that the root covers. Null if a version without snapshots made it, or if the
 * database has been copied to another cluster since, where transactions have other numbers.
 */
async function snapshotOf(transaction: Transaction, root: RootRow | null): Promise<string | null> {
  const { rows } = await transaction.query<{ snapshot: string | null }>(
    `select snapshot::text from log_root where number = $1 and cluster = ${CLUSTER}`,
    [root?.number],
  );
  return rows[0]?.snapshot ?? null;
}

/** SQL for the number that identifies a cluster. Standbys and physical backups have the number of their primary. */
export const CLUSTER = '(select system_identifier from pg_control_system())';

async function lastRoot(reader: Pick<Transaction, 'query'>): Promise<RootRow | null> {
  const { rows } = await reader.query<RootRow>(`select ${ROOT_COLUMNS} from log_root order by number desc limit 1`);
  return rows[0] ?? null;
}

async function insertRoot(transaction: Transaction, document: RootDocument, snapshot: string): Promise<void> {
  const { number, at, size, root, previous, key, signature } = document;
  await transaction.query(
    `insert into log_root (number, at, size, root, previous, key_id, signature, snapshot, cluster)
     values ($1, $2::timestamptz, $3, decode($4, 'hex'), decode($5, 'hex'), $6, decode($7, 'base64'), $8, ${CLUSTER})`,
    [number, at, size, root, previous, key, signature, snapshot],
  );
  // Cached public responses include the newest root.
  await transaction.query(NOTIFY);
}

export function rootDocument(row: RootRow): RootDocument {
  return {
    type: 'gpu-rental/root/v1',
    number: row.number,
    at: formatInstant(BigInt(row.at)),
    size: Number(row.size),
    root: hex(row.root),
    previous: row.previous && hex(row.previous),
    key: row.keyId,
    signature: row.signature.toString('base64'),
  };
}

/** Returns the hash by which the next root refers to this one. */
export function documentHash(root: RootDocument): Buffer {
  return hashOf(canonical(root));
}

/** Returns up to 1,000 roots whose number is greater than `after`, oldest first. Throws invalid_request. */
export async function rootsAfter(
  { db }: Pick<ProofDeps, 'db'>,
  after: number | null | undefined,
): Promise<RootsDocument> {
  const number = checkOptional('after', proofFields.after, after);
  const { rows } = await db.pool.query<RootRow>(
    `select ${ROOT_COLUMNS} from log_root where number > $1 order by number limit ${MAX_ROOTS}`,
    [number],
  );
  return { type: 'gpu-rental/roots/v1', roots: rows.map(rootDocument) };
}

/**
 * Returns the proof that the tree with `second` leaves extends the one with `first` leaves. Throws invalid_request if
 * the tree never had these sizes.
 */
export async function consistencyProof(
  { db }: Pick<ProofDeps, 'db'>,
  first: number,
  second: number,
): Promise<ConsistencyProof> {
  const size = Number((await lastRoot(db.pool))?.size ?? 0);
  checkSize('second', second, size);
  checkSize('first', first, second);
  const path = await hashesOf(db.pool, consistencyPath(first, second));
  return { type: 'gpu-rental/consistency/v1', first, second, path: path.map(hex) };
}

/**
 * Returns the proof that the newest root covers the account's chain, for the last of its links that is in the log. With
 * `from` and `to`, only links with these numbers count, both included. Returns null if no such link is in the log.
 */
export async function inclusionProof(
  { db }: Pick<ProofDeps, 'db'>,
  accountId: string,
  { from = 1, to = Number.MAX_SAFE_INTEGER }: { from?: number; to?: number } = {},
): Promise<InclusionProof | null> {
  const { rows } = await db.pool.query<{ number: string; index: string; head: Buffer; pseudonym: Buffer }>(
    `select leaf.number, leaf.index, link.hash as head, chain.pseudonym
     from log_leaf leaf join chain_link link using (account_id, number) join account_chain chain using (account_id)
     where leaf.account_id = $1 and leaf.number between $2 and $3 order by leaf.number desc limit 1`,
    [accountId, from, to],
  );
  const [leaf] = rows;
  // Read after the leaf, so that it covers the leaf.
  const root = leaf && (await lastRoot(db.pool));
  if (leaf === undefined || !root) return null;
  const index = Number(leaf.index);
  const path = await hashesOf(db.pool, inclusionPath(index, Number(root.size)));
  return {
    type: 'gpu-rental/inclusion/v1',
    pseudonym: hex(leaf.pseudonym),
    number: Number(leaf.number),
    head: hex(leaf.head),
    index,
    path: path.map(hex),
    root: rootDocument(root),
  };
}

function checkSize(field: string, size: number, most: number): void {
  if (Number.isInteger(size) && size >= 0 && size <= most) return;
  const bounds =
    field === 'first' ? `a tree size from 0 to second, ${most}` : `a tree size from 0 to ${most}, the newest root's`;
  throw new DomainError('invalid_request', `${field} must be ${bounds}; got ${size}`, { field });
}

function hex(bytes: Buffer): string {
  return bytes.toString('hex');
}
