import { afterAll, beforeAll, expect, test } from 'vitest';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

/** Rules that the database itself enforces against any faulty program. */

let domain: TestDomain;

beforeAll(async () => {
  domain = await openTestDomain();
  const account = await domain.account('300');
  const running = await domain.machine('l4');
  const stopped = await deploy(domain, account, { machineId: running, diskGb: 20 });
  domain.clock.advance(100);
  await act(domain, account, { id: stopped.instance.id, action: 'STOP' });
  domain.clock.advance(100);
  await deploy(domain, account, { machineId: running, diskGb: 20 });
  const { instance } = await deploy(domain, account, { machineId: await domain.machine('l4'), diskGb: 20 });
  domain.clock.advance(100);
  await act(domain, account, { id: instance.id, action: 'DESTROY' });
});
afterAll(() => domain.close());

const RUN_STOPPED = `update instance set status = 'RUNNING', running_since = stopped_at, stopped_at = null where status = 'STOPPED'`;
const COPY_INSTANCE = `insert into instance select (jsonb_populate_record(null::instance,
  to_jsonb(instance) || '{"id": "i-00000001"}')).* from instance where status = 'DESTROYED'`;

test.each([
  ['a second running instance on a machine', RUN_STOPPED, 'instance_running_on_machine'],
  [
    'a second open interval for a resource',
    `insert into usage_interval select instance_id, resource, ordinal + 1, rate, started_at, null
     from usage_interval where resource = 'GPU' and ended_at is null`,
    'usage_interval_open',
  ],
  [
    'an interval that ends before it begins',
    `update usage_interval set ended_at = started_at - interval '1 second' where ended_at is not null`,
    'usage_interval_order',
  ],
  ['two instances in an account with the same number', COPY_INSTANCE, 'instance_account_id_sequence_key'],
  [
    'a running instance with a stop time',
    `update instance set stopped_at = created_at where status = 'RUNNING'`,
    'instance_state',
  ],
  [
    'a running instance without a start time',
    `update instance set running_since = null where status = 'RUNNING'`,
    'state',
  ],
  ['a destroyed instance without an end time', `update instance set destroyed_at = null`, 'instance_state'],
  ['a positive charge', `insert into ledger_entry select 'x', id, 'GPU_USAGE', 1, now() from account`, 'sign'],
  ['a negative credit', `insert into ledger_entry select 'x', id, 'CREDIT', -1, now() from account`, 'sign'],
  ['an adjustment of zero', `insert into ledger_entry select 'x', id, 'ADJUSTMENT', 0, now() from account`, 'sign'],
  ['negative spend', `update account set spend_units = -1, month_start_spend_units = -1`, 'account_bounds'],
  [
    'more spend at the start of the month than in total',
    `update account set month_start_spend_units = spend_units + 1`,
    '',
  ],
  ['a negative burn rate', `update account set burn_rate = -1`, 'account_bounds'],
  ['1,001 live instances', `update account set live_instances = 1001, deployed_instances = 5000`, 'account_bounds'],
  ['more live than deployed instances', `update account set live_instances = deployed_instances + 1`, 'bounds'],
  ['a machine without GPUs', `update machine set num_gpus = 0`, 'machine_bounds'],
  ['a reliability above 1', `update machine set reliability = 1.5`, 'machine_bounds'],
  ['a price of zero', `update gpu_price set on_demand_rate = 0`, 'gpu_price_bounds'],
])('the schema rejects %s', async (_name, sql, constraint) => {
  const client = await domain.db.pool.connect();
  try {
    await client.query('begin');
    const error = await client.query(sql).then(
      ({ rowCount }) => new Error(`${rowCount} rows written`),
      (fault: Error) => fault,
    );
    expect(error.message).toMatch(/violates (unique|check) constraint|duplicate key value/);
    expect(error.message).toContain(constraint);
  } finally {
    await client.query('rollback');
    client.release();
  }
});
