import { renderSVG } from 'uqr';
import { invoiceNumber } from '../billing/rules/invoice-number.js';
import type { KernelDeps } from '../kernel/deps.js';
import { billingDetails } from './billing-details.js';
import type { StatedDeps } from './deps.js';
import { hashOf, tagged } from './rules/canonical.js';
import { invoiceLines, subjectOf } from './rules/invoice-lines.js';
import { invoicePage } from './rules/invoice-page.js';
import type { SignedLine } from './rules/statement-lines.js';
import { type SignedStatement, signedMonth } from './signed-statement.js';

/** An account's invoice for a UTC month. */
export interface Invoice {
  /** The account and the month. */
  number: string;
  /** Hash of the signed statement's figures (docs/proofs.md, "Invoices"), in hexadecimal digits. */
  statementHash: string;
  /** A complete page that can be printed. */
  html: string;
}

/**
 * Returns the account's invoice for a UTC month such as 2026-11. For the current month, it ends now and says that it is
 * interim. Throws the errors of `signedStatement`, which has at most `maxLines` lines.
 */
export async function invoice(
  deps: StatedDeps,
  accountId: string,
  month: string,
  maxLines: number = Number.MAX_SAFE_INTEGER,
): Promise<Invoice> {
  const { statement: signed, opening } = await signedMonth(deps, accountId, month, maxLines);
  const [details, subjects] = await Promise.all([
    billingDetails(deps, accountId),
    subjectsOf(deps, accountId, signed.lines),
  ]);
  const statementHash = hashOfFigures(signed);
  const number = invoiceNumber(accountId, month);
  const html = invoicePage({
    number,
    issued: signed.issuedAt.slice(0, 10),
    from: signed.period.from,
    to: signed.period.to,
    isInterim: signed.period.to === signed.issuedAt,
    operator: {
      name: deps.settings.operatorName,
      address: linesOf(deps.settings.operatorAddress ?? '', '|'),
    },
    customer: {
      account: accountId,
      name: details.name,
      address: linesOf(details.address, '\n'),
      reference: details.reference,
    },
    ...invoiceLines({ lines: signed.lines, links: signed.links, opening, subjects }),
    statementHash,
    hashPicture: renderSVG(`sha256:${statementHash}`, { border: 0 }),
  });
  return { number, statementHash, html };
}

/** Returns the same hash for every statement of a month that has ended, regardless of when it was issued. */
function hashOfFigures({ account, period, opening, closing, lines }: SignedStatement): string {
  const figures = lines
    .map(({ id, kind, seconds, units }) => ({ id, kind, seconds, units }))
    .sort((one, other) => (one.id < other.id ? -1 : 1));
  return hashOf(tagged('gpu-rental/invoice/v1', { account, closing, lines: figures, opening, period })).toString('hex');
}

function linesOf(text: string, separator: string): string[] {
  return text
    .split(separator)
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

/** Describes the instances and volumes of the lines by id, such as `i-0badcafe (2 × h100, on demand)`, oldest first. */
async function subjectsOf(
  { db }: Pick<KernelDeps, 'db'>,
  accountId: string,
  lines: readonly SignedLine[],
): Promise<Map<string, string>> {
  const { rows } = await db.pool.query<{ id: string; what: string }>({
    name: 'invoice-subjects',
    text: `select id, what from (
             select id, sequence, created_at,
               id || ' (' || num_gpus || ' × ' || gpu || ', ' || lower(replace(mode::text, '_', ' ')) || ')' as what
             from instance where account_id = $1 and id = any($2)
             union all select id, null, created_at, id || ' (' || name || ')'
             from volume where account_id = $1 and id = any($2)
           ) subject order by sequence nulls last, created_at, id`,
    values: [accountId, [...new Set(lines.map(subjectOf))]],
  });
  return new Map(rows.map(({ id, what }) => [id, what]));
}
