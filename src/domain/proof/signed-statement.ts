import { only } from '../../database/only.js';
import { GENERIC_PLANS, inSnapshot } from '../../database/snapshot.js';
import type { Transaction } from '../../database/transaction.js';
import { checkpointBefore, makeCheckpoints, openingOf, sizesWithin, usedSince } from '../billing/checkpoints.js';
import type { SettlingDeps } from '../billing/deps.js';
import { write } from '../billing/ledger.js';
import { settledAccount } from '../billing/settlement.js';
import { DomainError } from '../kernel/errors.js';
import type { Units } from '../kernel/money.js';
import { addMonths, earliest, formatInstant, type Instant, latest, monthStartOf, parseMonth } from '../kernel/time.js';
import type { ProofDeps, StatedDeps } from './deps.js';
import type { InclusionProof } from './documents.js';
import { inclusionProof } from './log.js';
import { type LedgerRecord, lineOf, type Period, type SignedLine } from './rules/statement-lines.js';
import { type Signed, signDocument } from './signing-keys.js';

/** A hash of an account's chain. */
interface ChainHash {
  number: number;
  hash: string;
}

interface UnsignedStatement {
  type: 'gpu-rental/statement/v1';
  service: string;
  account: string;
  pseudonym: string;
  period: { from: string; to: string };
  issuedAt: string;
  /** Balances in units. */
  opening: string;
  closing: string;
  chain: { from: ChainHash; to: ChainHash };
  links: (ChainHash & { record: LedgerRecord })[];
  open: LedgerRecord[];
  lines: SignedLine[];
  log: InclusionProof | null;
}

/** A document `gpu-rental/statement/v1` (docs/proofs.md). */
export type SignedStatement = Signed<UnsignedStatement>;

/** Seconds after the end of a month in which a write with a slower clock may still add to it. */
const FINAL_AFTER_SECONDS = 60n;
/** Seconds after which a client retries while the chain of an older account is being written. */
const RETRY_AFTER_SECONDS = 60;

/**
 * Returns the account's signed statement of a UTC month such as 2026-11, up to now if the month hasn't ended. Throws if
 * the month is in the future, if it ended before the account existed, or if it has more than `maxLines` lines.
 */
export async function signedStatement(
  deps: StatedDeps,
  accountId: string,
  month: string,
  maxLines: number = Number.MAX_SAFE_INTEGER,
): Promise<SignedStatement> {
  return (await signedMonth(deps, accountId, month, maxLines)).statement;
}

/** Credit and charges of an account before a period. Their difference is the opening balance. */
type Opening = Record<'credit' | 'spent', Units>;

/** Returns the signed statement as `signedStatement` does, and what its opening balance consists of. */
export async function signedMonth(
  deps: StatedDeps,
  accountId: string,
  month: string,
  maxLines: number,
): Promise<{ statement: SignedStatement; opening: Opening }> {
  const account = await settledAccount(deps, accountId);
  const now = latest(deps.clock.now(), account.settledAt);
  const from = await checkedMonth(deps, accountId, month, now);
  const end = addMonths(from, 1);
  const isFinal = end < now - FINAL_AFTER_SECONDS;
  const issuedAt = isFinal ? now : await afterWrites(deps, accountId);
  const period = { from, to: earliest(end, issuedAt) };
  await makeCheckpoints(deps.db.pool, account);
  const options = {
    server: isFinal ? 'replica' : 'primary',
    settings: GENERIC_PLANS,
  } as const;
  const { opening, ...content } = await inSnapshot(deps.db, options, (transaction) =>
    readContent(transaction, accountId, period, { month, maxLines }),
  );
  const { from: first, to: last } = content.chain;
  const log = await inclusionProof(deps, accountId, { from: Math.max(first.number, 1), to: last.number });
  const statement = await signDocument<UnsignedStatement>(deps, {
    type: 'gpu-rental/statement/v1',
    service: deps.settings.publicUrl,
    account: accountId,
    period: { from: formatInstant(period.from), to: formatInstant(period.to) },
    issuedAt: formatInstant(issuedAt),
    opening: balanceOf(opening).toString(),
    ...content,
    log,
  });
  return { statement, opening };
}

/** Returns the month's first second. Throws if the account has no statement for the month. */
async function checkedMonth(
  { db }: Pick<ProofDeps, 'db'>,
  accountId: string,
  month: string,
  now: Instant,
): Promise<Instant> {
  const { rows } = await db.pool.query<{ createdAt: Instant }>({
    name: 'account-created',
    text: 'select created_at as "createdAt" from account where id = $1',
    values: [accountId],
  });
  const first = monthStartOf(only(rows).createdAt);
  const from = parseMonth(month);
  if (from !== null && from >= first && from <= now) return from;
  const message = `month must be from ${monthText(first)} to ${monthText(now)}; got ${month.slice(0, 20)}`;
  throw new DomainError('invalid_request', message, { field: 'month' });
}

function monthText(instant: Instant): string {
  return formatInstant(instant).slice(0, 7);
}

/**
 * Waits for the account's writes in progress, and returns the current second. All later writes take effect in this
 * second or later.
 */
function afterWrites(deps: SettlingDeps, accountId: string): Promise<Instant> {
  return write({ ...deps, activity: null }, { accountIds: [accountId] }, (current) =>
    latest(current.at, current.lockedAccount(accountId).settledAt),
  );
}

interface Content extends Pick<UnsignedStatement, 'pseudonym' | 'closing' | 'chain' | 'links' | 'open' | 'lines'> {
  opening: Opening;
}
type Limit = { month: string; maxLines: number };

async function readContent(
  transaction: Transaction,
  accountId: string,
  period: Period,
  limit: Limit,
): Promise<Content> {
  const range = await readRange(transaction, accountId, period);
  if (range.last - range.first > BigInt(limit.maxLines)) throw tooManyLines(limit);
  const to = await coveredLink(transaction, accountId, range.last, limit.maxLines);
  const links = await readLinks(transaction, accountId, range.first, to);
  const open = await readOpen(transaction, accountId, period, { first: range.first, last: to }, limit.maxLines + 1);
  const lines = [
    ...links.map(({ number, record }) => lineOf(record, number, period)),
    ...open.map((record) => lineOf(record, null, period)),
  ].filter((line) => line !== null);
  if (lines.length > limit.maxLines) throw tooManyLines(limit);
  const opening = await totalsBefore(transaction, accountId, period.from);
  const closing = balanceOf(await totalsBefore(transaction, accountId, period.to));
  const sum = lines.reduce((total, { units }) => total + BigInt(units), balanceOf(opening));
  // A statement that doesn't add up must not be signed.
  if (sum !== closing)
    throw new Error(`the statement of ${accountId} adds up to ${sum}, but its balance is ${closing}`);
  const start = { number: Number(range.first), hash: range.hash };
  const { number, hash } = links.at(-1) ?? start;
  return {
    pseudonym: range.pseudonym,
    opening,
    closing: closing.toString(),
    chain: { from: start, to: { number, hash } },
    links,
    open,
    lines,
  };
}

function tooManyLines({ month, maxLines }: Limit): DomainError {
  const message = `the statement of ${month} has more than ${maxLines} lines; only the operator can issue it`;
  return new DomainError('invalid_request', message, { field: 'month' });
}

interface Range {
  pseudonym: string;
  isComplete: boolean;
  /** Number of the link before the period's first one, and its hash. */
  first: bigint;
  hash: string;
  /** Number of the period's last link. */
  last: bigint;
}

async function readRange(transaction: Transaction, accountId: string, { from, to }: Period): Promise<Range> {
  const { rows } = await transaction.query<Range>({
    name: 'chain-range',
    text: RANGE_SQL,
    values: [accountId, formatInstant(from), formatInstant(to)],
  });
  const [range] = rows;
  if (range?.isComplete) return range;
  throw new DomainError('unavailable', "the chain of the account's older entries isn't complete yet; retry later", {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

/** Returns the number of the first link from `last` on that is in the log, so that the log can cover the statement. */
async function coveredLink(
  transaction: Transaction,
  accountId: string,
  last: bigint,
  maxDistance: number,
): Promise<bigint> {
  const { rows } = await transaction.query<{ number: bigint }>({
    name: 'covered-link',
    text: `select number from log_leaf where account_id = $1 and number >= $2 and number - $2 <= $3 order by number limit 1`,
    values: [accountId, last, maxDistance],
  });
  return rows[0]?.number ?? last;
}

async function readLinks(transaction: Transaction, accountId: string, after: bigint, last: bigint) {
  const { rows } = await transaction.query<{ number: bigint; hash: string; record: LedgerRecord }>({
    name: 'statement-links',
    text: LINKS_SQL,
    values: [accountId, after, last],
  });
  return rows.map(({ number, hash, record }) => ({ number: Number(number), hash, record }));
}

async function readOpen(
  transaction: Transaction,
  accountId: string,
  { from, to }: Period,
  { first, last }: { first: bigint; last: bigint },
  limit: number,
): Promise<LedgerRecord[]> {
  const { openInstances, sequence, lastSequence } = await checkpointBefore(transaction, accountId, from, to);
  const bounds = [from, to].map(formatInstant);
  const { rows } = await transaction.query<{ record: LedgerRecord }>({
    name: 'statement-open-usage',
    text: OPEN_SQL,
    values: [accountId, ...bounds, openInstances, sequence, lastSequence, first, last, limit],
  });
  return rows.map(({ record }) => record);
}

async function totalsBefore(transaction: Transaction, accountId: string, instant: Instant): Promise<Opening> {
  const checkpoint = await checkpointBefore(transaction, accountId, instant, instant);
  const { creditBefore, spentBefore } = await openingOf(transaction, accountId, checkpoint, instant);
  return { credit: creditBefore, spent: spentBefore };
}

function balanceOf({ credit, spent }: Opening): Units {
  return credit - spent;
}

/** SQL for the numbers of the links of the entries made in a period, or of the last link before it. */
const RANGE_SQL = `
  with mine as (
    select min(number) - 1 as first, max(number) as last
    from ledger_entry entry join chain_link link on link.entry_id = entry.id
    where entry.account_id = $1 and at >= $2::timestamptz and at <= $3::timestamptz
  ), before as (
    select coalesce(first, (
      select number from ledger_entry entry join chain_link link on link.entry_id = entry.id
      where entry.account_id = $1 and at < $2::timestamptz order by at desc, entry.id desc limit 1
    ), 0) as first, last from mine
  )
  select encode(pseudonym, 'hex') as pseudonym, complete as "isComplete", first, coalesce(last, first) as last,
    encode(coalesce(hash, chain_start($1, pseudonym)), 'hex') as hash
  from before cross join account_chain chain
    left join chain_link link on link.account_id = chain.account_id and link.number = before.first
  where chain.account_id = $1`;

const LINKS_SQL = `
  select number, encode(hash, 'hex') as hash, chain_record(entry)::json as record
  from chain_link link join ledger_entry entry on entry.id = link.entry_id
  where link.account_id = $1 and number > $2 and number <= $3 order by number`;

/** Whether an interval has a second in the period, but no entry among the links. */
const isOpen = (id: string) => `
  started_at < $3::timestamptz and coalesce(ended_at > $2::timestamptz, true) and $2::timestamptz < $3::timestamptz
    and not exists (
      select from chain_link where entry_id = ${id} and chain_link.account_id = $1 and number > $7 and number <= $8
    )`;
const INSTANCE_CHARGE_ID = `instance_id || '/' || lower(resource::text) || '/' || ordinal`;
const VOLUME_CHARGE_ID = `volume_id || '/volume/' || ordinal`;
/** SQL for the records of open usage, whose members are those that chain_record writes for entries. */
const OPEN_SQL = `
  select json_build_object('account', $1::text, 'id', id, 'kind', kind, 'at', null, 'units', null, 'instance', instance,
    'volume', volume, 'reference', null, 'note', null, 'charge', json_build_object('rate', rate::text, 'seconds', null,
      'startedAt', json_instant(started_at)::json, 'endedAt', null, 'mode', mode, 'gpu', gpu, 'numGpus', gpus,
      'sizeGb', size_gb)) as record
  from (
    select ${INSTANCE_CHARGE_ID} as id, resource || '_USAGE' as kind, instance_id as instance, null as volume, rate,
      started_at, mode::text, gpu, num_gpus as gpus, case resource when 'DISK' then disk_gb end as size_gb
    from ${usedSince('$1', { open: '$4::text[]', sequence: '$5', lastSequence: '$6', until: '$3::timestamptz' })}
    where ${isOpen(INSTANCE_CHARGE_ID)}
    union all
    select ${VOLUME_CHARGE_ID}, 'VOLUME_USAGE', null, volume_id, rate, started_at, null, null, null, size_gb
    from ${sizesWithin('$1', '$2::timestamptz', '$3::timestamptz')}
    where ${isOpen(VOLUME_CHARGE_ID)}
  ) as usage order by id limit $9`;
