import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/package-root.js';

const MIGRATIONS = join(PACKAGE_ROOT, 'prisma/migrations');
const require = createRequire(import.meta.url);
const SQUAWK = require.resolve('squawk-cli/js/bin/squawk');
/** What was there when this check began; docs/releasing.md says how long each of them takes on a million instances. */
const BEFORE_THE_CHECK = '20261122160100_machine_notices';
/** The runner sets the time limits, and runs each migration whole or not at all; the others are matters of taste. */
const EXCLUDED = [
  'require-lock-timeout',
  'require-statement-timeout',
  'prefer-robust-stmts',
  'prefer-bigint-over-int',
  'require-enum-value-ordering',
];

/** The rules that a migration breaks. */
function faultsOf(sql: string): Promise<string[]> {
  // The runner's two ways (src/database/migrate.ts).
  const inTransaction = /^\s*create\s+(unique\s+)?index\s+concurrently/im.test(sql) ? [] : ['--assume-in-transaction'];
  const args = ['--pg-version', '15', '--reporter', 'json', '--exclude', EXCLUDED.join(','), ...inTransaction];
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, [SQUAWK, ...args], (error, stdout, stderr) => {
      const faults: { rule_name: string; line: number }[] = stdout === '' ? [] : JSON.parse(stdout);
      // 1: it found something.
      if (error !== null && (error.code !== 1 || faults.length === 0)) reject(new Error(stderr, { cause: error }));
      else resolve([...new Set(faults.map((fault) => fault.rule_name))].sort());
    });
    child.stdin!.end(sql);
  });
}

it('no migration since the check began keeps a big table locked', async () => {
  const names = readdirSync(MIGRATIONS).filter((name) => name > BEFORE_THE_CHECK && name !== 'migration_lock.toml');
  for (const name of names) {
    const faults = await faultsOf(readFileSync(join(MIGRATIONS, name, 'migration.sql'), 'utf8'));
    expect(faults, `${name}: see docs/releasing.md#migrations`).toEqual([]);
  }
});

it.each<[string, string, string[]]>([
  ['an index on a table in use', 'CREATE INDEX "i" ON "instance" ("gpu");', ['require-concurrent-index-creation']],
  ['a unique one', 'CREATE UNIQUE INDEX "i" ON "instance" ("gpu");', ['require-concurrent-index-creation']],
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
  ['another type', 'ALTER TABLE "instance" ALTER COLUMN "disk_gb" TYPE bigint;', ['changing-column-type']],
  [
    'a default that is another for each row',
    'ALTER TABLE "instance" ADD COLUMN "at" timestamptz DEFAULT clock_timestamp();',
    ['adding-field-with-default'],
  ],
  ['a column that goes', 'ALTER TABLE "instance" DROP COLUMN "region";', ['ban-drop-column']],
  ['another name', 'ALTER TABLE "instance" RENAME COLUMN "region" TO "place";', ['renaming-column']],
  ['an index beside the traffic', 'CREATE INDEX CONCURRENTLY "i" ON "instance" ("gpu");', []],
  ['an index on a new table', 'CREATE TABLE "t" ("n" bigint); CREATE INDEX "i" ON "t" ("n");', []],
  [
    'a column without a default',
    'ALTER TABLE "instance" ADD COLUMN "at" timestamptz, ADD COLUMN "n" bigint NOT NULL DEFAULT 0;',
    [],
  ],
  ['a check for new rows', 'ALTER TABLE "instance" ADD CONSTRAINT "c" CHECK ("disk_gb" > 0) NOT VALID;', []],
  ['and then for all', 'ALTER TABLE "instance" VALIDATE CONSTRAINT "c";', []],
])('%s', async (_name, sql, faults) => {
  expect(await faultsOf(sql)).toEqual(faults);
});
