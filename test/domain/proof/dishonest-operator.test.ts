import { afterAll, beforeAll, expect, test } from 'vitest';
import { creditAccount } from '../../../src/domain/accounts/accounts.js';
import { formatInstant, parseInstant } from '../../../src/domain/kernel/time.js';
import { appendToLog, consistencyProof, rootsAfter } from '../../../src/domain/proof/log.js';
import { signedStatement } from '../../../src/domain/proof/signed-statement.js';
import { keysDocument, signDocument } from '../../../src/domain/proof/signing-keys.js';
import { verify } from '../../../src/verify/verify.js';
import type { TestDomain } from '../../support/domain.js';
import { rewriteHistory } from '../../support/proofs/dishonest-operator.js';
import {
  asFiles,
  documentsOf,
  openSigningDomain,
  type ProofFile,
  runProofHistory,
} from '../../support/proofs/history.js';

let domain: TestDomain;
let account: string;
/** What clients stored before the operator rewrote the history. */
let stored: ProofFile[];

beforeAll(async () => {
  domain = await openSigningDomain();
  const accounts = await runProofHistory(domain);
  [account] = accounts;
  stored = await documentsOf(domain, accounts);
});
afterAll(() => domain.close());

const named = (files: readonly ProofFile[], pattern: RegExp) => files.filter(({ name }) => pattern.test(name));
/** Returns the document with other members, signed again by the service. */
async function forged(document: ProofFile['document'], members: object, name = 'forged'): Promise<ProofFile> {
  const { key: _key, signature: _signature, ...content } = structuredClone(document);
  return { name, document: await signDocument(domain, { ...content, ...members }) };
}

/** Returns the statement with another member in the charge of open usage, signed again by the service. */
function forgedCharge({ document }: ProofFile, index: number, member: string, value: unknown): Promise<ProofFile> {
  const { open } = structuredClone(document);
  open[index].charge[member] = value;
  return forged(document, { open });
}

const checksOf = (files: readonly ProofFile[]) => verify(asFiles(files)).faults.map(({ check }) => check);

test('a different balance in two signed statements for the same instant is reported', async () => {
  const [november, december] = named(stored, new RegExp(`${account}-2027-1[12]`));
  const opening = (BigInt(december!.document.opening) - 5n).toString();
  const closing = (BigInt(december!.document.closing) - 5n).toString();
  const other = await forged(december!.document, { opening, closing });
  expect(verify(asFiles([...named(stored, /keys/), other])).exitCode).toBe(0);
  expect(verify(asFiles([...named(stored, /keys/), november!, other])).faults).toMatchObject([
    { check: 'statements', file: 'forged', where: 'opening', by: '-5 units' },
  ]);
});

test('a signed statement whose lines do not add up to its closing balance is reported', async () => {
  const [november] = named(stored, new RegExp(`${account}-2027-11`));
  const other = await forged(november!.document, { closing: (BigInt(november!.document.closing) + 1n).toString() });
  expect(verify(asFiles([...named(stored, /keys/), other])).faults).toMatchObject([
    { check: 'balance', file: 'forged', where: 'closing' },
  ]);
});

test('open usage whose entry has another rate, start or end in a later statement is reported', async () => {
  const [october, november] = named(stored, new RegExp(`${account}-2027-1[01]`));
  const closing = new Set(november!.document.links.map(({ record }: { record: { id: string } }) => record.id));
  const index = october!.document.open.findIndex(({ id }: { id: string }) => closing.has(id));
  for (const [member, value] of [
    ['startedAt', '2027-10-30T21:00:00Z'],
    ['gpu', 'h100-sxm'],
  ] as const) {
    const other = await forgedCharge(october!, index, member, value);
    const { faults } = verify(asFiles([...named(stored, /keys/), other, november!]));
    expect(faults).toContainEqual(
      expect.objectContaining({ check: 'statements', file: 'forged', where: `open[${index}].charge.${member}` }),
    );
  }
});

test('different records of usage that is open in two statements are reported', async () => {
  const october = named(stored, new RegExp(`${account}-2027-10`))[0]!;
  const other = await forgedCharge(october, 0, 'numGpus', october.document.open[0].charge.numGpus + 1);
  expect(checksOf([...named(stored, /keys/), other])).toEqual([]);
  expect(verify(asFiles([...named(stored, /keys/), october, other])).faults).toMatchObject([
    { check: 'statements', file: 'forged', where: 'open[0].charge.numGpus' },
  ]);
});

test('members of a charge that do not fit its kind are reported', async () => {
  const october = named(stored, new RegExp(`${account}-2027-10`))[0]!;
  for (const [member, value] of [
    ['mode', null],
    ['sizeGb', 7],
  ] as const) {
    const index = october.document.open.findIndex(({ kind }: { kind: string }) => kind === 'GPU_USAGE');
    const other = await forgedCharge(october, index, member, value);
    expect(verify(asFiles([...named(stored, /keys/), other])).faults).toContainEqual(
      expect.objectContaining({ check: 'format', where: `open[${index}].charge.${member}` }),
    );
  }
});

test('two different roots with one number, or a false root of no leaves, are reported', async () => {
  const root = named(stored, /roots/)[0]!.document.roots.at(-1);
  const other = await forged(root, { at: formatInstant(parseInstant(root.at)! + 1n) });
  expect(checksOf([...named(stored, /keys/), other])).toEqual([]);
  expect(verify(asFiles([...named(stored, /keys|roots/), other])).faults).toMatchObject([
    {
      check: 'roots',
      where: expect.stringMatching(/at$/),
      what: expect.stringMatching(/^differs from that of root 5/),
    },
  ]);
  const later = await forged(root, { number: 261 }, 'later');
  expect(verify(asFiles([...named(stored, /keys|roots/), later])).faults).toMatchObject([
    { check: 'roots', file: 'later', where: 'previous', what: 'is the hash of root 4, but precedes root 261' },
  ]);
  const empty = await forged(root, { size: 0 }, 'empty');
  expect(verify(asFiles([...named(stored, /keys/), empty])).faults).toMatchObject([{ check: 'roots', where: 'root' }]);
});

test('a rewritten history is consistent by itself, but not with a stored root or statement', async () => {
  const ended = stored
    .flatMap(({ document }) => document.links ?? [])
    .find(({ record }) => record.account === account && record.kind === 'GPU_USAGE');
  await rewriteHistory(domain, ended.record.instance);
  await domain.db.pool.query('delete from account_checkpoint');
  await appendToLog(domain);
  await appendToLog(domain);
  const statement = await signedStatement(domain, account, '2027-12');
  const now: ProofFile[] = [
    { name: 'keys-now', document: await keysDocument(domain) },
    { name: 'statement-now', document: statement },
  ];
  // Its own documents have no fault: the chain, the roots and the signatures were all made again.
  expect(verify(asFiles(now))).toMatchObject({ exitCode: 0 });
  const later = await documentsOf(domain, [account]);
  expect(checksOf(later)).toEqual([]);

  expect(checksOf([...later, ...named(stored, /roots/)])).toContain('roots');
  expect(checksOf([...now, ...named(stored, new RegExp(`${account}-2027-11`))])).toContain('statements');
  const lastRoot = { name: 'stored-root', document: named(stored, /roots/)[0]!.document.roots.at(-1) };
  expect(checksOf([...later, lastRoot])).toContain('roots');

  // A root of another size has no counterpart to compare with. The consistency proof shows the difference.
  await creditAccount(domain, account, { amountMicro: 1n });
  await appendToLog(domain);
  const newest = (await rootsAfter(domain, 0)).roots.at(-1)!;
  const older = named(stored, /roots/)[0]!.document.roots.find(({ size }: { size: number }) => size < newest.size);
  const proof = await consistencyProof(domain, older.size, newest.size);
  const three = [
    { name: 'older', document: older },
    { name: 'newest', document: newest },
    { name: 'proof', document: proof },
  ];
  expect(checksOf([...named(later, /keys/), ...three])).toContain('consistency');
});
