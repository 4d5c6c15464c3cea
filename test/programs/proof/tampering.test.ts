import { afterAll, beforeAll, expect, test } from 'vitest';
import { verify } from '../../../src/verify/verify.js';
import type { TestDomain } from '../../support/domain.js';
import { isLong } from '../../support/long.js';
import { DishonestSigner } from '../../support/proofs/file-tampering.js';
import { documentsOf, openSigningDomain, type ProofFile, runProofHistory } from '../../support/proofs/history.js';
import { type Tampering, tamperings } from '../../support/proofs/tampering.js';

const SEED = Number(process.env.SEED ?? 45);
const COUNT = isLong ? 20_000 : 1_000;

let domain: TestDomain;
let files: ProofFile[];

beforeAll(async () => {
  domain = await openSigningDomain();
  files = await documentsOf(domain, await runProofHistory(domain));
});
afterAll(() => domain.close());

/** Returns the tamperings that aren't reported for the changed file. */
function undetected(cases: readonly Tampering[]): string[] {
  return cases
    .map((each) => ({ ...each, result: verify(each.files) }))
    .filter(({ changed, result: { exitCode, faults, unchecked } }) => {
      const isNamed = [...faults, ...unchecked].some(
        ({ file }) => file === changed || changed === 'keys.json' || /roots|consistency/.test(changed),
      );
      return exitCode === 0 || !isNamed;
    })
    .map(({ name }) => name);
}

test('every change of a document is detected, and named', { timeout: isLong ? 1_800_000 : 120_000 }, () => {
  const cases = tamperings(files, { seed: SEED, count: COUNT });
  expect(cases.length).toBeGreaterThanOrEqual(COUNT);
  expect(undetected(cases)).toEqual([]);
});

/**
 * Members of a statement that the service may change and sign again without contradicting itself. Only another
 * statement contradicts the attributes of open usage.
 */
const FREE =
  /^(?:(?:service|issuedAt|key|signature|type|log)\b|open\[\d+\]\.charge\.(?:gpu|numGpus|sizeGb|startedAt)$)/;
/** Lines and open records may be in any order. */
const REORDERED = /swap with the previous (?:open|lines)\[\d+\]$/;

test('a statement whose content was changed and signed again contradicts itself', {
  timeout: isLong ? 1_800_000 : 120_000,
}, async () => {
  const signer = await DishonestSigner.of(domain);
  const resign = (document: ProofFile['document']) => signer.sign(document);
  const statements = files.filter(({ document }) => /keys|statement/.test(document.type));
  const cases = tamperings(statements, { seed: SEED + 1, count: COUNT, resign }).filter(({ name, changed }) => {
    const [, place = ''] = / ([\w[\].]*)$/.exec(name) ?? [];
    return changed !== 'keys.json' && !FREE.test(place) && !REORDERED.test(name);
  });
  expect(cases.length).toBeGreaterThan(500);
  const untouched = cases.filter(({ files: changed }) =>
    verify(changed).faults.every(({ check }) => check === 'signature'),
  );
  expect(untouched.map(({ name }) => name)).toEqual([]);
});
