import { afterAll, beforeAll, expect, test } from 'vitest';
import { audit } from '../../../src/domain/billing/audit.js';
import { auditLog } from '../../../src/domain/proof/audit-log.js';
import { type VerifiedFile, verify } from '../../../src/verify/verify.js';
import { afterChange, withoutTriggers } from '../../support/after-change.js';
import type { TestDomain } from '../../support/domain.js';
import { isLong } from '../../support/long.js';
import {
  DishonestSigner,
  type FileTampering,
  fileTamperings,
  rewrittenStatements,
} from '../../support/proofs/file-tampering.js';
import {
  asFiles,
  documentsOf,
  openSigningDomain,
  type ProofFile,
  runProofHistory,
} from '../../support/proofs/history.js';
import { needsPythonVerifier, verifyInPython } from '../../support/proofs/python-verifier.js';
import { type RowTampering, rowTamperings } from '../../support/proofs/row-tampering.js';

const SEED = Number(process.env.SEED ?? 45);
/** How many tamperings are made, half of them of files and half of rows. `npm run bench:tamperings` makes 2,000. */
const COUNT = Number(process.env.TAMPERINGS ?? (isLong ? 2_000 : 300));
const NEEDS = needsPythonVerifier();
const TIMEOUT = { timeout: 1_800_000 };

let domain: TestDomain;
let accounts: string[];
/** What the accounts' owners stored. */
let documents: ProofFile[];
let signer: DishonestSigner;

beforeAll(async () => {
  domain = await openSigningDomain();
  accounts = await runProofHistory(domain);
  documents = await documentsOf(domain, accounts);
  signer = await DishonestSigner.of(domain);
});
afterAll(() => domain.close());

/** Counts what was tampered, found and agreed on, by kind, and prints it. */
class Table {
  readonly #title: string;
  readonly #rows: Record<string, Record<string, number>> = {};

  constructor(title: string) {
    this.#title = title;
  }

  count(kind: string, ...columns: string[]): void {
    this.#rows[kind] ??= {};
    for (const column of ['tampered', ...columns]) this.#rows[kind][column] = (this.#rows[kind][column] ?? 0) + 1;
  }

  print(): void {
    console.info(`${this.#title}, SEED=${SEED}`);
    console.table(this.#rows);
  }
}

/** Runs both verifiers on each tampering. Returns those that one of them doesn't report and name, or that they disagree on. */
async function faultsOfVerifiers(title: string, cases: readonly FileTampering[]): Promise<string[]> {
  const table = new Table(title);
  const python = await verifyInPython(cases.map(({ files }) => files));
  const faults = cases.flatMap(({ name, kind, changed, files }, index) => {
    const { exitCode, faults: found, unchecked } = verify(files);
    const other = python[index]!;
    const isNamed = (text: string) => text.includes(changed) || /roots|consistency|keys/.test(changed);
    const columns = {
      'gpu verify': exitCode !== 0 && [...found, ...unchecked].some(({ file, what }) => isNamed(`${file} ${what}`)),
      Python: other.exitCode !== 0 && other.findings.some(isNamed),
      agreed: exitCode === other.exitCode,
    };
    const failed = Object.entries(columns)
      .filter(([, holds]) => !holds)
      .map(([column]) => column);
    table.count(
      kind,
      ...Object.entries(columns)
        .filter(([, holds]) => holds)
        .map(([column]) => column),
    );
    const results = JSON.stringify([exitCode, found.slice(0, 2), other]).slice(0, 600);
    return failed.length === 0 ? [] : [`${name}: not ${failed.join(', ')}: ${results}`];
  });
  table.print();
  return faults;
}

async function codesOf(sets: readonly VerifiedFile[][]): Promise<[number, number][]> {
  const python = await verifyInPython(sets);
  return sets.map((files, index) => [verify(files).exitCode, python[index]!.exitCode]);
}

test('both verifiers accept the untouched documents', { ...NEEDS }, async () => {
  expect(await codesOf([asFiles(documents)])).toEqual([[0, 0]]);
});

test('both verifiers report and name each change of a document', { ...NEEDS, ...TIMEOUT }, async () => {
  const cases = fileTamperings(documents, { seed: SEED, count: Math.floor(COUNT * 0.2) });
  expect(await faultsOfVerifiers('Documents', cases)).toEqual([]);
});

test('both report a change that was signed again, given the original', {
  ...NEEDS,
  ...TIMEOUT,
}, async () => {
  const cases = fileTamperings(documents, { seed: SEED, count: Math.floor(COUNT * 0.2), signer });
  expect(await faultsOfVerifiers('Documents signed again', cases)).toEqual([]);
});

test('both report a rewritten statement only with an earlier one', { ...NEEDS, ...TIMEOUT }, async () => {
  const cases = rewrittenStatements(documents, { seed: SEED, count: Math.floor(COUNT * 0.1), signer });
  expect(await faultsOfVerifiers('Rewritten statements', cases)).toEqual([]);
  const alone = await codesOf(cases.map((each) => each.alone));
  expect(alone.filter((codes) => String(codes) !== '0,0')).toEqual([]);
});

test('the audit or stored documents name each change of a row', TIMEOUT, async () => {
  const table = new Table('Rows');
  const missed: string[] = [];
  const onlyStored: string[] = [];
  const before = await auditOf(domain.db);
  let left = Math.floor(COUNT * 0.5);
  for await (const tampering of rowTamperings(domain, SEED)) {
    if (left === 0) break;
    const result = tampering.isNeutral ? null : await resultOf(tampering, before);
    if (result === null) continue;
    left -= 1;
    table.count(tampering.kind, ...result.namedBy);
    if (!result.namedBy.includes('audit')) onlyStored.push(tampering.name);
    if (result.namedBy.length === 0) missed.push(`${tampering.name}: ${result.findings.slice(0, 3).join('; ')}`);
  }
  table.print();
  console.info(onlyStored.map((name) => `not named by the audit: ${name}`).join('\n'));
  expect(missed).toEqual([]);
});

/** Returns what names the change. Null if a constraint refuses the rows, which the owner would have to drop first. */
async function resultOf(tampering: RowTampering, before: readonly string[]) {
  const isNamed = (finding: string) => tampering.names.some((name) => finding.includes(name));
  try {
    const findings = (await afterChange(domain, tampering.apply, auditOf)).filter((each) => !before.includes(each));
    if (findings.some(isNamed)) return { namedBy: ['audit'], findings };
    const faults = await contradictionsOf(tampering);
    return { namedBy: faults.some(isNamed) ? ['stored documents'] : [], findings: [...findings, ...faults] };
  } catch (error) {
    const { code = '' } = error as { code?: string };
    if (code.startsWith('23')) return null;
    throw error;
  }
}

/** Returns how the documents of the changed database contradict the stored ones. Undoes the change. */
async function contradictionsOf({ apply, undo }: RowTampering): Promise<string[]> {
  await withoutTriggers(domain, apply);
  try {
    const now = await documentsOf(domain, accounts);
    const files = asFiles([...documents, ...now.map((file) => ({ ...file, name: `new ${file.name}` }))]);
    return verify(files).faults.map((fault) => Object.values(fault).join(' '));
  } finally {
    await withoutTriggers(domain, undo);
    await domain.db.pool.query('delete from account_checkpoint');
  }
}

async function auditOf(db: TestDomain['db']): Promise<string[]> {
  const findings = [...(await audit({ db })).findings, ...(await auditLog({ db }))];
  return findings.map(({ check, accountId, subject, detail }) => `${check}: ${accountId} ${subject} ${detail}`);
}
