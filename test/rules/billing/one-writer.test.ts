import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const WRITERS = ['src/domain/billing/ledger.ts', 'src/domain/billing/ledger-rows.ts'];
/** The file that writes whole rows. Its type `RowTable` names the tables to which it writes. */
const ROWS = 'src/database/rows.ts';
/** Generated code, and the copy of a whole database to another server, which is audited afterwards. */
const NOT_OURS = /^src\/database\/(?:generated|move)\//;

const TABLES = '(?:account|instance|usage_interval|volume_interval|ledger_entry)';
const MODELS = '(?:account|instance|usageInterval|volumeInterval|ledgerEntry)';
const RELATIONS = '(?:account|instances?|usageIntervals|intervals|volumes?|ledgerEntries)';
const WRITES = '(?:create|update|upsert|delete)';

/** Matches a statement that names the table or inserts into one, a Prisma call, or a nested Prisma write. */
const WRITE_TO_MONEY = [
  new RegExp(`\\b(?:insert\\s+into|update|delete\\s+from|truncate)\\s+(?:only\\s+)?"?${TABLES}\\b`, 'i'),
  /\b(?:insert\s+into|delete\s+from|truncate)\s+\$\{|\bupdate\s+\$\{[^}]*\}\s+set\b/i,
  new RegExp(`\\.${MODELS}\\s*\\.\\s*${WRITES}`),
  // Other modules write what a volume stores and who holds it, but never its billing.
  /\b(?:insert\s+into|delete\s+from)\s+"?volume"?\s/i,
  /\bupdate\s+"?volume"?\s+set\b(?:(?!\bwhere\b)[^;])*?\b(?:account_id|size_gb|gb_rate|created_at|deleted_at|delete_reason)\s*=/i,
  /\.volume\s*\.\s*(?:create|upsert|delete)/,
  /\.volume\s*\.\s*update\w*\([^;]*?\b(?:accountId|sizeGb|gbRate|createdAt|deletedAt|deleteReason)\b/,
  new RegExp(`\\b${RELATIONS}\\s*:\\s*\\{\\s*(?:${WRITES}|connectOrCreate|set)\\b`),
];

const sources = ['src', 'prisma/seed'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => relative(ROOT, join(ROOT, folder, name)))
    .filter((path) => !NOT_OURS.test(path)),
);

function writesIn(text: string): string[] {
  return WRITE_TO_MONEY.flatMap((pattern) => pattern.exec(text)?.[0] ?? []);
}

describe('accounts, instances, usage intervals and ledger entries', () => {
  test('are not among the tables that are written as whole rows', () => {
    const [, tables = ''] = /type RowTable = (.*);/.exec(readFileSync(join(ROOT, ROWS), 'utf8')) ?? [];
    expect(tables).toContain(`'machine'`);
    expect(tables).not.toMatch(new RegExp(`'${TABLES}'`));
  });

  test.each(sources.filter((path) => ![...WRITERS, ROWS].includes(path)))('are not written by %s', (path) => {
    expect(writesIn(readFileSync(join(ROOT, path), 'utf8'))).toEqual([]);
  });

  test("are written only by the ledger's statements, which only the ledger imports", () => {
    expect(writesIn(readFileSync(join(ROOT, WRITERS[1]!), 'utf8'))).not.toEqual([]);
    const importers = sources.filter((path) =>
      /\b(?:writesOf|INSERT_ACCOUNT)\b/.test(readFileSync(join(ROOT, path), 'utf8')),
    );
    expect(importers.sort()).toEqual([...WRITERS].sort());
  });

  test.each([
    `'update account set credit_units = 1'`,
    'insert into\n  ledger_entry (id) values (1)',
    'DELETE FROM "usage_interval"',
    'insert into $' + '{table} (id) values (1)',
    'update $' + '{table} set units = 1',
    'prisma.account.create({ data })',
    'tx.instance.updateMany({ data })',
    'tx.ledgerEntry\n  .upsert({})',
    'data: { ledgerEntries: { create: entry } }',
    'insert into volume (id) values (1)',
    'update volume_interval set ended_at = null',
    'update volume\n  set lease = 1, deleted_at = $2 where',
    'tx.volume.update({ where: { id }, data: { sizeGb: 1 } })',
    'data: { intervals: { create: size } }',
  ])('are recognized as written by %j', (text) => {
    expect(writesIn(text)).not.toEqual([]);
  });

  test.each([
    'for no key update of machine',
    `'update machine set state = $2'`,
    'tx.machine.update({})',
    'update volume set lease = lease + 1, lease_nonce = $1 where account_id = $2 and deleted_at is null',
    'insert into volume_snapshot (volume_id) values (1)',
    'tx.volume.update({ where: { id }, data: { storedBytes: 1n } })',
    'do update set response = 1',
  ])('are not recognized as written by %j', (text) => {
    expect(writesIn(text)).toEqual([]);
  });
});
