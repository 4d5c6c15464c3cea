import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountState, rebuildAccount, suspendAccount } from '../../../src/domain/accounts/accounts.js';
import { createApiKey } from '../../../src/domain/accounts/api-keys.js';
import { setKeyLimit } from '../../../src/domain/accounts/monthly-limits.js';
import { audit, type Finding } from '../../../src/domain/billing/audit.js';
import { readBalance } from '../../../src/domain/billing/balance.js';
import { act, deploy, operatorAct } from '../../../src/domain/instances/instances.js';
import { afterChange, type Client } from '../../support/after-change.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

let domain: TestDomain;
let account: string;

beforeAll(async () => {
  domain = await openTestDomain();
  account = await domain.account('300');
  const { id } = (await createApiKey(domain, account)).apiKey;
  await setKeyLimit(domain, { accountId: account, keyId: null }, { id, monthlyLimit: 200 });
  for (const mode of ['ON_DEMAND', 'RESERVED', 'INTERRUPTIBLE', 'ON_DEMAND'] as const) {
    const machineId = await domain.machine('l4');
    const limit = mode === 'INTERRUPTIBLE' ? { spendLimit: 50 } : {};
    const { instance } = await deploy(domain, account, { machineId, mode, diskGb: 20, ...limit }, id);
    domain.clock.advance(100);
    await act(domain, account, { id: instance.id, action: 'STOP' });
    domain.clock.advance(100);
    await act(domain, account, { id: instance.id, action: 'START' });
  }
  const { rows } = await domain.db.pool.query<{ id: string }>(`select id from instance where mode = 'RESERVED'`);
  domain.clock.advance(50);
  await act(domain, account, { id: rows[0]!.id, action: 'DESTROY' });
  domain.clock.advance(50);
});
afterAll(() => domain.close());

test('the audit finds no mismatch in correct books', async () => {
  expect(await audit(domain)).toMatchObject({ accounts: 2, instances: 4, findings: [] });
});

/** The audit's checks, by the start of their names. */
const TOTALS = 'running totals';
const CHARGED = 'every closed interval is charged once';
const GPU_ORDER = 'GPU intervals follow each other';
const AGREE = 'instances agree with their intervals';
const EARLY_EXIT = 'early exits are charged';
const SOLD_ONCE = 'no second of a GPU is sold twice';
const DEADLINE = 'no deadline is missed';
const LIMIT = 'no spend limit is missed';
const KEY_SPEND = 'spend of keys with a limit';
const MINIMUM = 'an instance that preempted another';
const LINKED = 'every entry has one link';
const NUMBERED = 'links are numbered';
const CHAINED = 'every link covers its entry';

describe('the audit finds', () => {
  // Each fault must be found by its own check: a check that finds it only by chance might miss it next time.
  test.each([
    ['a wrong spend total', TOTALS, `update account set spend_units = spend_units + 1 where not demo`],
    ['a wrong credit total', TOTALS, `update account set credit_units = credit_units - 3600 where not demo`],
    ['a wrong burn rate', TOTALS, `update account set burn_rate = burn_rate + 1 where not demo`],
    [
      'wrong spend at the start of the month',
      TOTALS,
      `update account set month_start_spend_units = month_start_spend_units + 1 where not demo`,
    ],
    ['a wrong live count', TOTALS, `update account set live_instances = live_instances - 1 where not demo`],
    ['a wrong deployed count', TOTALS, `update account set deployed_instances = deployed_instances + 1 where not demo`],
    ['a wrong due time', TOTALS, `update account set due_at = due_at + interval '1 second' where not demo`],
    [
      'a deadline missing from its account',
      DEADLINE,
      `update instance set stop_at = created_at + interval '1 day' where status <> 'DESTROYED'`,
    ],
    ['a spend limit missing from its account', LIMIT, `update account set deadline_at = null where not demo`],
    [
      'an instance running after its limit was reached',
      LIMIT,
      `update instance set limit_reached_at = '2026-11-01' where status = 'RUNNING'`,
    ],
    ['too much spend recorded for a key', KEY_SPEND, `update key_limit set spend_units = spend_units + 1`],
    ['a key whose limit is not counted', KEY_SPEND, `update account set limited_keys = 0 where not demo`],
    [
      'a disk billed after its deadline',
      DEADLINE,
      `update instance set destroy_at = destroyed_at - interval '1 second' where status = 'DESTROYED'`,
    ],
    ['a changed charge', CHARGED, `update ledger_entry set units = units - 1 where kind = 'GPU_USAGE'`],
    [
      'a missing charge',
      CHARGED,
      `delete from ledger_entry where id = (select min(id) from ledger_entry where kind = 'GPU_USAGE')`,
    ],
    [
      'a duplicate charge',
      CHARGED,
      `insert into ledger_entry select id || '/2', account_id, kind, units, at, instance_id from ledger_entry where kind = 'GPU_USAGE' limit 1`,
    ],
    [
      'a charge at a time other than the end of its interval',
      CHARGED,
      `update ledger_entry set at = at + interval '1 second' where kind = 'GPU_USAGE'`,
    ],
    ['a charge of the wrong kind', CHARGED, `update ledger_entry set kind = 'DISK_USAGE' where kind = 'GPU_USAGE'`],
    [
      "a charge for another instance's interval",
      CHARGED,
      `update ledger_entry set instance_id = (select max(id) from instance where id <> instance_id) where kind = 'GPU_USAGE'`,
    ],
    ['a missing early exit charge', EARLY_EXIT, `delete from ledger_entry where kind = 'EARLY_EXIT'`],
    [
      'an early exit charge with the wrong amount',
      EARLY_EXIT,
      `update ledger_entry set units = units - 1 where kind = 'EARLY_EXIT'`,
    ],
    [
      'an early exit charged at a time other than the end',
      EARLY_EXIT,
      `update ledger_entry set at = at - interval '1 second' where kind = 'EARLY_EXIT'`,
    ],
    [
      'an instance with the wrong early exit charge',
      EARLY_EXIT,
      `update instance set early_exit_units = early_exit_units + 1 where mode = 'RESERVED'`,
    ],
    [
      'an early exit charge for an on-demand instance',
      EARLY_EXIT,
      `insert into ledger_entry select instance.id || '/early-exit', account_id, 'EARLY_EXIT', -1, created_at, id from instance where mode = 'ON_DEMAND' limit 1`,
    ],
    [
      'a gap between intervals',
      AGREE,
      `update usage_interval set started_at = started_at + interval '1 second' where ordinal = 1 and resource = 'GPU'`,
    ],
    [
      'a first interval that begins late',
      GPU_ORDER,
      `update usage_interval set started_at = started_at + interval '1 second' where ordinal = 1 and resource = 'GPU'`,
    ],
    [
      'overlapping intervals',
      GPU_ORDER,
      `update usage_interval set started_at = started_at - interval '150 seconds' where ordinal = 2 and resource = 'GPU'`,
    ],
    [
      'intervals that overlap by one second',
      GPU_ORDER,
      `update usage_interval set started_at = started_at - interval '101 seconds' where ordinal = 2 and resource = 'GPU'`,
    ],
    ['a missing interval', GPU_ORDER, `update usage_interval set ordinal = 3 where ordinal = 2 and resource = 'GPU'`],
    [
      'a changed GPU rate',
      GPU_ORDER,
      `update usage_interval set rate = rate + 1 where ordinal = 1 and resource = 'GPU'`,
    ],
    [
      'a changed disk rate',
      TOTALS,
      `update usage_interval set rate = rate + 1 where ended_at is null and resource = 'DISK'`,
    ],
    ['a disk rate other than the locked one', AGREE, `update instance set disk_rate = disk_rate + 1`],
    [
      'a disk that is no longer billed',
      AGREE,
      `delete from usage_interval where ended_at is null and resource = 'DISK'`,
    ],
    [
      'a disk whose entry would get another id',
      AGREE,
      `update usage_interval set ordinal = 2 where ended_at is null and resource = 'DISK'`,
    ],
    [
      'a disk whose billing begins one second late',
      AGREE,
      `update usage_interval set started_at = started_at + interval '1 second' where resource = 'DISK'`,
    ],
    [
      'a disk billed beyond its end',
      AGREE,
      `update usage_interval set ended_at = ended_at + interval '1 second' where ended_at is not null and resource = 'DISK'`,
    ],
    [
      'a wrong stop time',
      AGREE,
      `update instance set stopped_at = stopped_at + interval '1 second' where status <> 'RUNNING'`,
    ],
    [
      'a wrong start time',
      AGREE,
      `update instance set running_since = running_since + interval '1 second' where status = 'RUNNING'`,
    ],
    [
      'a wrong price for a mode',
      'rates match the mode',
      `update instance set on_demand_rate = on_demand_rate + 100 where mode = 'INTERRUPTIBLE'`,
    ],
    ['wrong GPU seconds', AGREE, `update instance set gpu_seconds = gpu_seconds + 1 where status = 'RUNNING'`],
    [
      'a disk for which the machine has no space',
      'remaining disks fit',
      `update machine set disk_gb = 10 where id = (select machine_id from instance where status = 'RUNNING' limit 1)`,
    ],
    [
      'two instances running on one GPU',
      'a GPU has one running instance',
      `drop index instance_running_on_machine; update instance set host_id = 'm', machine_id = (
         select min(machine_id) from instance where status = 'RUNNING') where status = 'RUNNING'`,
    ],
    ['a sold GPU without its instance', 'recorded sold GPUs', `insert into sold_gpu values ('m', 0, 'i-00000000')`],
    ['a missing record of a sold GPU', 'recorded sold GPUs', 'delete from sold_gpu'],
    [
      'a charge to the wrong account',
      'a charge belongs to',
      `insert into account (id, name, created_at, settled_at) values ('acc-0000000000000000', 'x', now(), now());
       update ledger_entry set account_id = 'acc-0000000000000000' where id = (select min(id) from ledger_entry where kind = 'GPU_USAGE')`,
    ],
    [
      'a changed text of an entry',
      CHAINED,
      `update ledger_entry set note = coalesce(note, '') || '.' where id = (select min(id) from ledger_entry)`,
    ],
    ['entries with a new account', LINKED, `update ledger_entry set account_id = (select id from account where demo)`],
    [
      'a changed rate of an interval',
      CHAINED,
      `update usage_interval set rate = rate + 1 where ended_at is not null and resource = 'GPU' and ordinal = 1`,
    ],
    [
      'a changed start of an interval',
      CHAINED,
      `update usage_interval set started_at = started_at - interval '1 second' where ended_at is not null and resource = 'DISK'`,
    ],
    ['a changed mode', CHAINED, `update instance set mode = 'RESERVED' where mode = 'ON_DEMAND'`],
    ['a changed GPU model', CHAINED, `update instance set gpu = 'h100'`],
    ['a changed number of GPUs', CHAINED, `update instance set num_gpus = 2`],
    ['a changed disk size', CHAINED, `update instance set disk_gb = 21 where status = 'DESTROYED'`],
    ['a missing entry', LINKED, `delete from ledger_entry where kind = 'CREDIT'`],
    [
      'an added entry',
      LINKED,
      `insert into ledger_entry (id, account_id, kind, units, at) select 'added', id, 'CREDIT', 1, now() from account where not demo`,
    ],
    ['a missing last link', NUMBERED, `delete from chain_link where number = (select max(number) from chain_link)`],
    ['a missing first link', NUMBERED, `delete from chain_link where number = 1`],
    ['a missing link in between', NUMBERED, `delete from chain_link where number = 3`],
    [
      'swapped entries of links',
      CHAINED,
      `drop index chain_link_entry_id_key; update chain_link set entry_id = (select entry_id from chain_link other
         where other.account_id = chain_link.account_id and other.number = 5 - chain_link.number) where number in (2, 3)`,
    ],
    ['a changed hash', CHAINED, `update chain_link set hash = sha256(hash) where number = 3`],
    [
      'a changed last hash',
      NUMBERED,
      `update chain_link set hash = sha256(hash) where number = (select max(number) from chain_link)`,
    ],
    [
      'a link of another account',
      LINKED,
      `update chain_link set account_id = (select id from account where demo), number = 1000 where number = 3`,
    ],
    ['a changed length', NUMBERED, `update account_chain set length = length - 1 where length > 0`],
    ['another hash at the end', NUMBERED, `update account_chain set head = sha256(head) where length > 0`],
    [
      'another hash at the end of no links',
      NUMBERED,
      `insert into account (id, name, created_at, settled_at) values ('acc-0000000000000000', 'x', now(), now());
       update account_chain set head = sha256(head) where length = 0`,
    ],
    ['another pseudonym', CHAINED, `update account_chain set pseudonym = sha256(pseudonym) where length > 0`],
    ['a removed chain', NUMBERED, `delete from account_chain where length > 0`],
    [
      'an entry of an interval that does not exist',
      CHAINED,
      `update ledger_entry set id = 'i-0badcafe/gpu/x' where id = (select min(id) from ledger_entry where kind = 'GPU_USAGE');
       update chain_link set entry_id = 'i-0badcafe/gpu/x' where entry_id = (select min(entry_id) from chain_link where entry_id like '%/gpu/%')`,
    ],
    [
      'an instance running after credit ran out',
      'nothing is running after',
      `update account set exhausted_at = settled_at, disk_delete_at = settled_at, due_at = settled_at where not demo`,
    ],
  ])('%s', async (_name, check, sql) => {
    expect(await checksThatFind(domain, sql)).toContainEqual(expect.stringMatching(new RegExp(`^${check}`)));
  });
});

test('the audit names the first entry that a chain does not cover', async () => {
  const { rows } = await domain.db.pool.query<{ entry_id: string }>(
    'select entry_id from chain_link where account_id = $1 and number in (2, 4) order by number',
    [account],
  );
  const second = rows[0]!.entry_id;
  const tampered = `update chain_link set hash = sha256(hash) where number in (2, 4)`;
  const found = (await findingsAfter(domain, tampered)).filter(({ check }) => check.startsWith(CHAINED));
  expect(found).toEqual([
    expect.objectContaining({ accountId: account, subject: second, detail: expect.stringMatching('^link 2 ') }),
  ]);
});

test('the audit only counts accounts that are not chained yet', async () => {
  const before = `delete from chain_link; delete from account_chain`;
  expect(await findingsAfter(domain, before)).toEqual([]);
  const half = `update account_chain set complete = false, length = 1, head = (
      select hash from chain_link where chain_link.account_id = account_chain.account_id and number = 1);
    delete from chain_link where number > 1`;
  expect(await findingsAfter(domain, half)).toEqual([]);
  expect(await audit(domain)).toMatchObject({ unchainedAccounts: 0 });
});

describe('an audit of a machine that changed hands within a second finds', () => {
  let handover: TestDomain;
  beforeAll(async () => {
    handover = await openTestDomain();
    const [ann, bob] = [await handover.account(), await handover.account()];
    const machineId = await handover.machine();
    const rent = async (who: string, mode: 'ON_DEMAND' | 'INTERRUPTIBLE') =>
      (await deploy(handover, who, { machineId, mode, diskGb: 1 })).instance.id;
    const anns = await rent(ann, 'INTERRUPTIBLE');
    handover.clock.advance(10.5);
    // Takes the machine from Ann, first for 25 seconds and later permanently.
    const bobs = await rent(bob, 'ON_DEMAND');
    handover.clock.advance(25);
    await act(handover, bob, { id: bobs, action: 'STOP' });
    await act(handover, ann, { id: anns, action: 'START' });
    handover.clock.advance(4);
    await act(handover, bob, { id: bobs, action: 'START' });
    handover.clock.advance(1);
  });
  afterAll(() => handover.close());

  test('nothing if there is no fault', async () => {
    expect((await audit(handover)).findings).toEqual([]);
  });

  const FIRST = `resource = 'GPU' and ordinal = 1 and instance_id = (select id from instance where mode = 'ON_DEMAND')`;
  const SECOND = `resource = 'GPU' and ordinal = 2 and instance_id = (select id from instance where mode = 'ON_DEMAND')`;
  test.each([
    [
      'a second sold twice',
      SOLD_ONCE,
      `update usage_interval set started_at = started_at - interval '1 second' where ${FIRST}`,
    ],
    [
      'a second sold twice, the second time to the running instance',
      SOLD_ONCE,
      `update usage_interval set started_at = started_at - interval '1 second' where ${SECOND}`,
    ],
    [
      'a second sold twice, the second time to an instance in between',
      SOLD_ONCE,
      `update usage_interval set ended_at = ended_at + interval '20 seconds'
       where ordinal = 1 and resource = 'GPU' and instance_id = (select id from instance where mode = 'INTERRUPTIBLE')`,
    ],
    [
      'a start that is not billed from the end of the sold second',
      GPU_ORDER,
      `update usage_interval set started_at = started_at + interval '1 second' where ${FIRST}`,
    ],
    ['a missing minimum charge', MINIMUM, `delete from ledger_entry where kind = 'PREEMPTION_MINIMUM'`],
    [
      'a minimum charge with the wrong amount',
      MINIMUM,
      `update ledger_entry set units = units + 1 where kind = 'PREEMPTION_MINIMUM'`,
    ],
    [
      'a minimum charged at a time other than its end',
      MINIMUM,
      `update ledger_entry set at = at + interval '1 second' where kind = 'PREEMPTION_MINIMUM'`,
    ],
    [
      'a minimum charged twice',
      MINIMUM,
      `insert into ledger_entry select id || '/2', account_id, kind, units, at, instance_id from ledger_entry where kind = 'PREEMPTION_MINIMUM'`,
    ],
    [
      'a minimum missing from the totals',
      TOTALS,
      `update ledger_entry set kind = 'DISK_USAGE' where kind = 'PREEMPTION_MINIMUM'`,
    ],
    [
      'a minimum for a start that preempted nothing',
      MINIMUM,
      `update usage_interval set minimum_until = started_at + interval '60 seconds'
       where ordinal = 1 and resource = 'GPU' and instance_id = (select id from instance where mode = 'INTERRUPTIBLE')`,
    ],
    [
      'a minimum with the wrong length',
      MINIMUM,
      `update usage_interval set minimum_until = minimum_until - interval '1 second' where ${SECOND}`,
    ],
    [
      'an instance whose minimum ends at the wrong time',
      AGREE,
      `update instance set minimum_until = minimum_until + interval '1 second' where mode = 'ON_DEMAND'`,
    ],
    [
      'an instance with the wrong minimum charge',
      AGREE,
      `update instance set minimum_units = minimum_units + 1 where mode = 'ON_DEMAND'`,
    ],
  ])('%s', async (_name, check, sql) => {
    expect(await checksThatFind(handover, sql)).toContainEqual(expect.stringMatching(new RegExp(`^${check}`)));
  });
});

/**
 * Bypasses the triggers to plant a fault, audits in the same transaction and rolls back. Returns the names of the
 * checks that find the fault.
 */
async function checksThatFind(domain: TestDomain, sql: string): Promise<string[]> {
  return (await findingsAfter(domain, sql)).map(({ check }) => check);
}

/** Like `checksThatFind`, but returns the findings. */
function findingsAfter(domain: TestDomain, sql: string): Promise<Finding[]> {
  const change = async (client: Client) => {
    await client.query('set local session_replication_role = origin');
    await client.query('alter table ledger_entry disable trigger user; alter table chain_link disable trigger user');
    await client.query(sql);
  };
  return afterChange(domain, change, async (db) => (await audit({ ...domain, db })).findings);
}

test('a rebuild restores the running totals from the ledger', async () => {
  const before = await domain.db.prisma.account.findUniqueOrThrow({ where: { id: account } });
  await domain.db.pool.query(
    'update account set spend_units = 7, month_start_spend_units = 1, credit_units = 5, burn_rate = 3, due_at = null, live_instances = 0 where not demo',
  );
  expect((await audit(domain)).findings).not.toEqual([]);
  await rebuildAccount(domain, account);
  expect(await domain.db.prisma.account.findUniqueOrThrow({ where: { id: account } })).toEqual(before);
  expect((await audit(domain)).findings).toEqual([]);
});

test('the books stay correct when the operator suspends accounts or destroys instances', async () => {
  await suspendAccount(domain, account);
  expect((await accountState(domain, account)).suspendedAt).toBe(domain.clock.now());
  const { rows } = await domain.db.pool.query<{ id: string; status: string; stop_reason: string }>(
    `select id, status, stop_reason from instance where status <> 'DESTROYED'`,
  );
  expect(rows.map(({ status, stop_reason }) => [status, stop_reason])).toEqual(
    Array.from({ length: 3 }, () => ['STOPPED', 'ACCOUNT_SUSPENDED']),
  );
  domain.clock.advance(1_000);
  await operatorAct(domain, rows[0]!.id, 'DESTROY');
  await readBalance(domain, account);
  expect((await audit(domain)).findings).toEqual([]);
});
