import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { focusExport } from '../../../src/domain/billing/focus.js';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { runChargedHistory } from '../../support/billing/charged-history.js';
import type { TestDomain } from '../../support/domain.js';
import { monthsOf, openSigningDomain } from '../../support/proofs/history.js';
import { needsThat } from '../../support/tools.js';

/** The FinOps Foundation's own validator. This version contains the rules of FOCUS 1.2. */
const VALIDATOR = 'focus-validator==2.2.1';
const FOLDER = join(PACKAGE_ROOT, 'node_modules/.cache', VALIDATOR);
const INSTALL_MS = 600_000;

const run = promisify(execFile);
const python = await findPython();

describe('the official validator', needsThat(python !== null, 'Python 3.12', 'PYTHON, and access to PyPI'), () => {
  let domain: TestDomain;
  let accounts: string[];
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'focus-'));
    if (!existsSync(join(FOLDER, 'bin/focus-validator'))) {
      await run(python!, ['-m', 'venv', '--clear', FOLDER]);
      await run(join(FOLDER, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', VALIDATOR]);
    }
    domain = await openSigningDomain();
    accounts = await runChargedHistory(domain);
  }, INSTALL_MS);
  afterAll(async () => {
    await domain?.close();
    await rm(folder, { recursive: true });
  });

  /** Returns the numbers of passed and failed rules, and a line for each failed one. All features count as supported. */
  async function validated(csv: string) {
    const file = join(folder, 'export.csv');
    await writeFile(file, csv);
    const options = ['--validate-version', '1.2', '--block-download', '--applicability-criteria', 'ALL'];
    const { stdout } = await run(join(FOLDER, 'bin/focus-validator'), ['--data-file', file, ...options], {
      cwd: folder,
      maxBuffer: 2 ** 24,
    });
    const [, passed, failed] = /Pass: (\d+) \| Fail: (\d+)/.exec(stdout)!.map(Number);
    return { passed, failed, failures: stdout.match(/^- .*$/gm) ?? [] };
  }

  test('accepts each month of each account', { timeout: INSTALL_MS }, async () => {
    for (const account of accounts)
      for (const month of await monthsOf(domain, account)) {
        const { passed, failures } = await validated(await focusExport(domain, account, month));
        expect(failures, `${account} in ${month}`).toEqual([]);
        expect(passed).toBeGreaterThan(300);
      }
  });

  test('rejects an export with a fault', async () => {
    const csv = await focusExport(domain, accounts[0]!, '2027-11');
    const { failures } = await validated(csv.replaceAll(',USD,', ',Dollar,'));
    expect(failures.join('\n')).toMatch(/BillingCurrency/);
  });
});

/** Returns a sufficiently new Python, or null. */
async function findPython(): Promise<string | null> {
  for (const name of [process.env.PYTHON ?? 'python3', 'python3.14', 'python3.13', 'python3.12']) {
    const isNew = run(name, ['-c', 'import sys; sys.exit(sys.version_info < (3, 12))']);
    if (
      await isNew.then(
        () => true,
        () => false,
      )
    )
      return name;
  }
  return null;
}
