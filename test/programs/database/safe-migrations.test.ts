import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { scratchFolder } from '../../support/scratch.js';

const MIGRATIONS = join(PACKAGE_ROOT, 'prisma/migrations');
const require = createRequire(import.meta.url);
const SQUAWK = require.resolve('squawk-cli/js/bin/squawk');
/** Migrations that predate this check. docs/releasing.md lists how long each takes with a million instances. */
const BEFORE_THE_CHECK = '20261122160100_machine_notices';
/** The runner sets time limits and applies each migration atomically. The other excluded rules are matters of taste. */
const EXCLUDED = [
  'require-lock-timeout',
  'require-statement-timeout',
  'prefer-robust-stmts',
  'prefer-bigint-over-int',
  'require-enum-value-ordering',
];

/** Returns the rules that each of these files breaks, by path. */
async function faultsOf(paths: readonly string[]): Promise<Map<string, string[]>> {
  // The runner applies migrations in one of two ways (src/database/migrate.ts).
  const isConcurrent = (path: string) =>
    /^\s*create\s+(unique\s+)?index\s+concurrently/im.test(readFileSync(path, 'utf8'));
  const found = [
    ...(await squawk(['--assume-in-transaction', ...paths.filter((path) => !isConcurrent(path))])),
    ...(await squawk(paths.filter(isConcurrent))),
  ];
  const rulesOf = (path: string) => found.filter(({ file }) => file === path).map(({ rule_name: rule }) => rule);
  return new Map(paths.map((path) => [path, [...new Set(rulesOf(path))].sort()]));
}

interface Fault {
  file: string;
  rule_name: string;
}

function squawk(more: readonly string[]): Promise<Fault[]> {
  const args = ['--pg-version', '15', '--reporter', 'json', '--exclude', EXCLUDED.join(','), ...more];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [SQUAWK, ...args], (error, stdout, stderr) => {
      const faults: Fault[] = stdout === '' ? [] : JSON.parse(stdout);
      // Exit code 1 means that it found something.
      if (error !== null && (error.code !== 1 || faults.length === 0)) reject(new Error(stderr, { cause: error }));
      else resolve(faults);
    });
  });
}

it('no migration keeps a big table locked', async () => {
  const names = readdirSync(MIGRATIONS).filter((name) => name > BEFORE_THE_CHECK && name !== 'migration_lock.toml');
  const found = await faultsOf(names.map((name) => join(MIGRATIONS, name, 'migration.sql')));
  for (const [path, faults] of found) expect(faults, `${path}: see docs/releasing.md#migrations`).toEqual([]);
  expect(found.size).toBeGreaterThan(10);
});

const CASES: [string, string, string[]][] = [
  ['an index on a table in use', 'CREATE INDEX "i" ON "instance" ("gpu");', ['require-concurrent-index-creation']],
  ['a unique index', 'CREATE UNIQUE INDEX "i" ON "instance" ("gpu");', ['require-concurrent-index-creation']],
  [
    'a check that reads all rows',
    'ALTER TABLE "instance" ADD CONSTRAINT "c" CHECK ("disk_gb" > 0);',
    ['constraint-missing-not-valid'],
  ],
  [
    'a check that is validated under the same lock',
    'ALTER TABLE "instance" ADD CONSTRAINT "c" CHECK ("disk_gb" > 0) NOT VALID; ALTER TABLE "instance" VALIDATE CONSTRAINT "c";',
    ['constraint-missing-not-valid'],
  ],
  [
    'a foreign key that reads all rows',
    'ALTER TABLE "instance" ADD CONSTRAINT "f" FOREIGN KEY ("gpu") REFERENCES "gpu_model" ("slug");',
    ['adding-foreign-key-constraint', 'constraint-missing-not-valid'],
  ],
  ['NOT NULL', 'ALTER TABLE "instance" ALTER COLUMN "stop_reason" SET NOT NULL;', ['adding-not-nullable-field']],
  ['a changed column type', 'ALTER TABLE "instance" ALTER COLUMN "disk_gb" TYPE bigint;', ['changing-column-type']],
  [
    'a default that differs for each row',
    'ALTER TABLE "instance" ADD COLUMN "at" timestamptz DEFAULT clock_timestamp();',
    ['adding-field-with-default'],
  ],
  ['a dropped column', 'ALTER TABLE "instance" DROP COLUMN "region";', ['ban-drop-column']],
  ['a renamed column', 'ALTER TABLE "instance" RENAME COLUMN "region" TO "place";', ['renaming-column']],
  ['an index built concurrently', 'CREATE INDEX CONCURRENTLY "i" ON "instance" ("gpu");', []],
  ['an index on a new table', 'CREATE TABLE "t" ("n" bigint); CREATE INDEX "i" ON "t" ("n");', []],
  [
    'a column without a default',
    'ALTER TABLE "instance" ADD COLUMN "at" timestamptz, ADD COLUMN "n" bigint NOT NULL DEFAULT 0;',
    [],
  ],
  ['a check of new rows only', 'ALTER TABLE "instance" ADD CONSTRAINT "c" CHECK ("disk_gb" > 0) NOT VALID;', []],
  ['a later validation of a check', 'ALTER TABLE "instance" VALIDATE CONSTRAINT "c";', []],
];

describe('the migration check', () => {
  const folder = scratchFolder('migrations-');
  const pathOf = (name: string) => join(folder, `${name.replaceAll(' ', '-')}.sql`);
  let found: Map<string, string[]>;

  beforeAll(async () => {
    for (const [name, sql] of CASES) writeFileSync(pathOf(name), sql);
    found = await faultsOf(CASES.map(([name]) => pathOf(name)));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(CASES)('recognizes %s', (name, _sql, faults) => {
    expect(found.get(pathOf(name))).toEqual(faults);
  });
});
