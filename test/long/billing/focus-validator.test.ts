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

/** The FinOps Foundation's own validator, in a version that contains the rules of FOCUS 1.2. */
const VALIDATOR = 'focus-validator==2.2.1';
/** Newer versions don't work with the version of NumPy that the validator requires. */
const PYARROW = 'pyarrow<22';
const FOLDER = join(PACKAGE_ROOT, 'node_modules/.cache', VALIDATOR);
const INSTALL_MS = 600_000;
const RUN_MS = 180_000;
/** Features of the service whose columns are conditional. */
const FEATURES = [
  'ACCOUNT_NAMING',
  'BILLING_BASED_ON_PROVISIONED_RESOURCES',
  'MULTIPLE_PRICING_CATEGORIES',
  'PUBLIC_PRICE_LIST',
  'REGION',
  'RESOURCE_TYPE_ASSIGNMENT',
  'TAGGING',
  'UNIT_PRICING',
  'USAGE_MEASUREMENT',
].map((feature) => `${feature}_SUPPORTED`);
/** Wants InvoiceId to be null in all rows. It is one of two alternatives, of which the validator reports both. */
const UNFULFILLABLE = /^- InvoiceId-C-004-C: /;

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
      await run(join(FOLDER, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', VALIDATOR, PYARROW]);
    }
    domain = await openSigningDomain();
    accounts = await runChargedHistory(domain);
  }, INSTALL_MS);
  afterAll(async () => {
    await domain?.close();
    await rm(folder, { recursive: true });
  });

  /** Returns how many rules an export fulfils, and a line for each other one. */
  async function validated(csv: string) {
    const file = join(folder, 'export.csv');
    await writeFile(file, csv);
    const options = ['--validate-version', '1.2', '--block-download', '--applicability-criteria', FEATURES.join()];
    const { stdout } = await run(join(FOLDER, 'bin/focus-validator'), ['--data-file', file, ...options], {
      // It reads its list of currencies from the current folder.
      cwd: await packages(),
      maxBuffer: 2 ** 24,
    });
    const passed = Number(/ Pass: (\d+) /.exec(stdout)?.[1]);
    return { passed, failures: (stdout.match(/^- .*$/gm) ?? []).filter((line) => !UNFULFILLABLE.test(line)) };
  }

  /** Returns an export of all months of all accounts. */
  async function exported(): Promise<string> {
    const csvs: string[] = [];
    for (const account of accounts)
      for (const month of await monthsOf(domain, account)) csvs.push(await focusExport(domain, account, month));
    return csvs.map((csv, index) => (index === 0 ? csv : csv.slice(csv.indexOf('\n') + 1))).join('');
  }

  test('accepts an export with all kinds of charges', { timeout: RUN_MS }, async () => {
    const { passed, failures } = await validated(await exported());
    expect(failures).toEqual([]);
    expect(passed).toBeGreaterThan(200);
  });

  test('rejects an export with a fault', { timeout: RUN_MS }, async () => {
    const { failures } = await validated((await exported()).replaceAll(',USD,', ',Dollar,'));
    expect(failures.join('\n')).toMatch(/BillingCurrency/);
  });
});

async function packages(): Promise<string> {
  const script = 'import sysconfig; print(sysconfig.get_path("purelib"))';
  return (await run(join(FOLDER, 'bin/python'), ['-c', script])).stdout.trim();
}

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
