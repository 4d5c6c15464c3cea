import { beforeAll, expect, test } from 'vitest';
import { sealingKey } from '../../../src/domain/kernel/sealing.js';
import { auditLog } from '../../../src/domain/proof/audit-log.js';
import { appendToLog } from '../../../src/domain/proof/log.js';
import { rotateSigningKey } from '../../../src/domain/proof/signing-keys.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

let domain: TestDomain;

beforeAll(async () => {
  domain = { ...(await openTestDomain()), sealingKeys: async () => [sealingKey('5e'.repeat(32))] };
  await appendToLog(domain);
  for (let n = 0; n < 3; n += 1) {
    await domain.account('10');
    await rotateSigningKey(domain);
    domain.clock.advance(3_600);
    await appendToLog(domain);
  }
  return () => domain.close();
});

/** Audits with a change that only a superuser could make, and undoes it. */
async function auditAfter(change: string): Promise<string[]> {
  const client = await domain.db.pool.connect();
  try {
    await client.query('create table copies as select 1');
    const [, table] = / (log_leaf|log_tile|log_root|signing_key|chain_link|account_chain) /.exec(change)!;
    await client.query(`drop table copies; create table copies as select * from ${table}`);
    await client.query(`begin; set local session_replication_role = replica; ${change}; commit`);
    const findings = await auditLog(domain);
    await client.query(
      `begin; set local session_replication_role = replica; delete from ${table}; insert into ${table} select * from copies;
       drop table copies; commit`,
    );
    return findings.map(({ check, subject }) => `${check}: ${subject}`);
  } finally {
    client.release();
  }
}

const FLIP = (column: string) => `${column} = set_byte(${column}, 5, get_byte(${column}, 5) # 1)`;

test('finds nothing in an intact log', async () => {
  expect(await auditLog(domain)).toEqual([]);
});

test.each([
  [
    `update log_root set ${FLIP('root')} where number = 2`,
    ['roots are signed and follow each other: root 2', 'roots match the tree: size 2'],
  ],
  [`update log_root set ${FLIP('signature')} where number = 4`, ['roots are signed and follow each other: root 4']],
  [
    `update log_root set at = at + interval '1 hour' where number = 1`,
    ['roots are signed and follow each other: root 1', 'roots are signed and follow each other: root 2'],
  ],
  [`delete from log_root where number = 2`, ['roots are signed and follow each other: root 3']],
  [`update log_tile set ${FLIP('hashes')} where level = 0`, ['tiles match the leaves: tile 0/0']],
  [`delete from log_tile where level = 0`, ['tiles match the leaves: tile 0/0']],
  [`update log_leaf set index = 9 where index = 3`, ['leaves are numbered without a gap: leaf 9']],
  [
    `update chain_link set ${FLIP('hash')} where account_id = (select account_id from log_leaf where index = 2)`,
    ['roots match the tree: size 3', 'tiles match the leaves: tile 0/0'],
  ],
  [`update account_chain set length = 7 where length = 1`, ['chains are in the log: link 7']],
  [`update signing_key set ${FLIP('endorsement')} where ordinal = 3`, ['signing keys endorse each other: ']],
])('finds the effect of %s', async (change, expected) => {
  const found = (await auditAfter(change)).join('\n');
  for (const each of expected) expect(found).toContain(each);
});
