import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { inSnapshot } from '../../database/snapshot.js';
import type { Transaction } from '../../database/transaction.js';
import type { Finding } from '../billing/audit.js';
import { parseInstant } from '../kernel/time.js';
import type { ProofDeps } from './deps.js';
import type { RootDocument } from './documents.js';
import { CLUSTER, documentHash, ROOT_COLUMNS, type RootRow, rootDocument } from './log.js';
import { hashOf, tagged } from './rules/canonical.js';
import { HASH_BYTES, leafHash, nodeHash, rootOfHashes, TILE_HASHES } from './rules/tree.js';
import { type KeysDocument, keyIdOf, type PublishedKey, readKeys } from './signing-keys.js';

const CHECK_TIMEOUT_MS = 3_600_000;
/** Maximum number of findings listed per check. */
const MAX_FINDINGS = 100;
const LEAVES_PER_READ = 10_000;

type Report = (check: string, subject: string, detail: string, accountId?: string) => void;

/**
 * Rebuilds the public log from the accounts' chains, at the size of every root, and checks it against the tiles and
 * roots, and checks that the newest root leaves out no chain. Verifies the signature of each root and the endorsement of each key. Writes nothing.
 */
export async function auditLog({ db }: Pick<ProofDeps, 'db'>): Promise<Finding[]> {
  const findings: Finding[] = [];
  const counts = new Map<string, number>();
  const report: Report = (check, subject, detail, accountId = '') => {
    const count = (counts.get(check) ?? 0) + 1;
    counts.set(check, count);
    if (count <= MAX_FINDINGS) findings.push({ check, accountId, subject, detail });
  };
  await inSnapshot(db, { server: 'primary', settings: SETTINGS }, async (transaction) => {
    const { keys } = await readKeys(transaction);
    checkKeys(keys, report);
    const { rows } = await transaction.query<RootRow>(`select ${ROOT_COLUMNS} from log_root order by number`);
    const roots = rows.map(rootDocument);
    checkRoots(roots, keys, report);
    await checkTree(transaction, roots, report);
    await checkChains(transaction, report);
  });
  return findings;
}

const SETTINGS = `set local statement_timeout = ${CHECK_TIMEOUT_MS}; set local idle_in_transaction_session_timeout = 0`;

function checkKeys(keys: KeysDocument['keys'], report: Report): void {
  const check = 'signing keys endorse each other';
  for (const [index, key] of keys.entries()) {
    const before = keys[index - 1];
    const { from, id, previous, publicKey, endorsement } = key;
    if (id !== keyIdOf(Buffer.from(publicKey, 'base64'))) report(check, id, 'the id is not that of its public key');
    if (before === undefined) {
      if (endorsement !== null) report(check, id, 'the first key has an endorsement');
      continue;
    }
    if (before.from >= from) report(check, id, `begins at ${from}, not after the previous key, ${before.from}`);
    if (!isSigned(before, 'gpu-rental/key/v1', { from, id, previous, publicKey }, endorsement ?? ''))
      report(check, id, `the previous key, ${before.id}, doesn't endorse it`);
  }
}

function checkRoots(roots: readonly RootDocument[], keys: readonly PublishedKey[], report: Report): void {
  const check = 'roots are signed and follow each other';
  const byId = new Map(keys.map((key) => [key.id, key]));
  for (const [index, root] of roots.entries()) {
    const subject = `root ${root.number}`;
    const before = roots[index - 1];
    const { signature, ...unsigned } = root;
    const key = byId.get(root.key);
    if (key === undefined) report(check, subject, `its key ${root.key} doesn't exist`);
    else {
      if (!isSigned(key, root.type, unsigned, signature)) report(check, subject, "the signature doesn't verify");
      if (root.at < key.from || (key.until !== null && root.at >= key.until))
        report(check, subject, `${root.at} is outside the period of its key ${key.id}`);
    }
    if (root.number !== index + 1) report(check, subject, `is number ${index + 1} in order`);
    if (root.previous !== (before === undefined ? null : documentHash(before).toString('hex')))
      report(check, subject, 'previous is not the hash of the previous root');
    if (before !== undefined && (root.size < before.size || root.at < before.at))
      report(check, subject, 'is smaller or earlier than the previous root');
    if (parseInstant(root.at) === null) report(check, subject, 'has no valid time');
  }
}

/** Reads the leaves in order, keeping only the complete subtrees on the right edge. */
async function checkTree(transaction: Transaction, roots: readonly RootDocument[], report: Report): Promise<void> {
  const expected = new Map(roots.map((root) => [root.size, root.root]));
  const size = roots.at(-1)?.size ?? 0;
  /** Complete subtrees, largest first. */
  const edge: { leaves: number; hash: Buffer }[] = [];
  const tiles = new TileCheck(transaction, report);
  const compare = (at: number) => {
    const root = expected.get(at);
    if (root === undefined) return;
    const found =
      edge.length === 0 ? hashOf('') : edge.map(({ hash }) => hash).reduceRight((right, left) => nodeHash(left, right));
    if (found.toString('hex') !== root)
      report('roots match the tree', `size ${at}`, `is ${root}, recomputed ${found.toString('hex')}`);
  };
  let count = 0;
  compare(0);
  for await (const leaf of leavesOf(transaction)) {
    const { accountId, number, index, head, pseudonym } = leaf;
    const subject = `leaf ${index}`;
    if (Number(index) !== count)
      report('leaves are numbered without a gap', subject, `is number ${count} in order`, accountId);
    if (head === null) report('leaves match the chains', subject, `link ${number} doesn't exist`, accountId);
    const hash = leafHash(
      tagged('gpu-rental/leaf/v1', {
        head: (head ?? Buffer.alloc(0)).toString('hex'),
        number: Number(number),
        pseudonym: pseudonym.toString('hex'),
      }),
    );
    await tiles.add(0, hash);
    edge.push({ leaves: 1, hash });
    for (
      let [left, right] = edge.slice(-2);
      left && right && left.leaves === right.leaves;
      [left, right] = edge.slice(-2)
    )
      edge.splice(-2, 2, { leaves: left.leaves * 2, hash: nodeHash(left.hash, right.hash) });
    count += 1;
    compare(count);
  }
  await tiles.end();
  if (count !== size) report('roots match the tree', `size ${size}`, `the log has ${count} leaves`);
}

/** Checks that the newest root covers every chain that its snapshot shows. */
async function checkChains(transaction: Transaction, report: Report): Promise<void> {
  const { rows } = await transaction.query<{ accountId: string; length: string }>(
    `select account_id as "accountId", length::text from account_chain chain
     where complete and length > 0 and pg_visible_in_snapshot(changed_in, (
         select snapshot from log_root where cluster = ${CLUSTER} and number = (select max(number) from log_root)
       )) and not exists (
         select from log_leaf leaf where leaf.account_id = chain.account_id and leaf.number = chain.length
       )
     order by 1 limit ${MAX_FINDINGS}`,
  );
  for (const { accountId, length } of rows)
    report('chains are in the log', `link ${length}`, 'the newest root lacks it', accountId);
}

interface LeafRow {
  accountId: string;
  number: string;
  index: string;
  head: Buffer | null;
  pseudonym: Buffer;
}

async function* leavesOf(transaction: Transaction): AsyncGenerator<LeafRow> {
  await transaction.query(
    `declare leaves no scroll cursor for
     select leaf.account_id as "accountId", leaf.number::text, leaf.index::text, link.hash as head, chain.pseudonym
     from log_leaf leaf left join chain_link link using (account_id, number)
       join account_chain chain on chain.account_id = leaf.account_id
     order by leaf.index`,
  );
  for (let count = LEAVES_PER_READ; count === LEAVES_PER_READ; ) {
    const { rows } = await transaction.query<LeafRow>(`fetch ${LEAVES_PER_READ} from leaves`);
    count = rows.length;
    yield* rows;
  }
  await transaction.query('close leaves');
}

/** Compares the stored tiles with hashes that are added in order. */
class TileCheck {
  readonly #transaction: Transaction;
  readonly #report: Report;
  /** Hashes of the last tile of each level. */
  readonly #open: { index: number; hashes: Buffer[] }[] = [];

  constructor(transaction: Transaction, report: Report) {
    this.#transaction = transaction;
    this.#report = report;
  }

  async add(level: number, hash: Buffer): Promise<void> {
    this.#open[level] ??= { index: 0, hashes: [] };
    const tile = this.#open[level];
    tile.hashes.push(hash);
    if (tile.hashes.length < TILE_HASHES) return;
    await this.#compare(level);
    const root = rootOfHashes(Buffer.concat(tile.hashes));
    this.#open[level] = { index: tile.index + 1, hashes: [] };
    await this.add(level + 1, root);
  }

  async end(): Promise<void> {
    for (const level of this.#open.keys()) if (this.#open[level]!.hashes.length > 0) await this.#compare(level);
    const { rows } = await this.#transaction.query<{ count: string }>('select count(*)::text as count from log_tile');
    const count = this.#open.reduce((sum, { index, hashes }) => sum + index + (hashes.length > 0 ? 1 : 0), 0);
    if (Number(rows[0]!.count) !== count)
      this.#report('tiles match the leaves', '', `the log has ${rows[0]!.count} tiles, recomputed ${count}`);
  }

  async #compare(level: number): Promise<void> {
    const { index, hashes } = this.#open[level]!;
    const { rows } = await this.#transaction.query<{ hashes: Buffer }>(
      'select hashes from log_tile where level = $1 and index = $2',
      [level, index],
    );
    const stored = rows[0]?.hashes;
    if (stored?.equals(Buffer.concat(hashes))) return;
    const what =
      stored === undefined ? 'is missing' : `has ${stored.length / HASH_BYTES} hashes, not all as recomputed`;
    this.#report('tiles match the leaves', `tile ${level}/${index}`, what);
  }
}

function isSigned(key: PublishedKey, tag: string, value: unknown, signature: string): boolean {
  const publicKey = keyOf(key);
  return (
    publicKey !== null && verify(null, Buffer.from(tagged(tag, value)), publicKey, Buffer.from(signature, 'base64'))
  );
}

function keyOf({ publicKey }: PublishedKey): KeyObject | null {
  const x = Buffer.from(publicKey, 'base64').toString('base64url');
  try {
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  } catch {
    return null;
  }
}
