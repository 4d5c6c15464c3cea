// A bare node-postgres program that deploys and destroys with only the rows and locks that a rental needs. There is no
// HTTP, no key, no rate limit, no validation, and no check of state or balance. Each worker has one connection, on
// which it sends these prepared statements:
//   deploy   begin · lock the account · lock the machine · one statement that updates the account and inserts the instance
//            and its two usage intervals · commit
//   destroy  begin · lock the account and read the instance · one statement that updates instance, usage intervals and
//            account and inserts the two charges · commit
// The resulting rows are as consistent as the gateway's, so `admin audit` finds no mismatch.
import { randomBytes } from 'node:crypto';
import pg from 'pg';

const DISK_GB = 50;
const DISK_RATE = DISK_GB * 140;
/** PostgreSQL's error code for a unique violation. */
const TAKEN = '23505';

process.once('message', async ({ databaseUrl, rentals }) => {
  const workers = await Promise.all(rentals.map((rental) => openWorker(databaseUrl, rental)));
  process.on('message', async ({ seconds }) => {
    const startedAt = performance.now();
    const endsAt = startedAt + seconds * 1_000;
    const pairs = await Promise.all(workers.map((worker) => rentUntil(endsAt, worker)));
    process.send({ perSecond: (pairs.reduce((sum, each) => sum + each, 0) / (performance.now() - startedAt)) * 1_000 });
  });
  process.send({});
});

async function openWorker(databaseUrl, { accountId, machineId }) {
  const client = new pg.Client({ connectionString: databaseUrl, options: '-c TimeZone=UTC' });
  await client.connect();
  const { rows } = await client.query(PRICE_AND_KEY, [machineId, accountId]);
  return { client, accountId, machineId, rate: Number(rows[0].rate), keyId: rows[0].key_id };
}

/** Returns the number of completed pairs. The last pair may end slightly late. */
async function rentUntil(endsAt, worker) {
  let pairs = 0;
  while (performance.now() < endsAt) {
    await destroy(worker, await deploy(worker));
    pairs += 1;
  }
  return pairs;
}

/**
 * Deploys under a random id. Retries if the id exists, which happens at this number of rentals because there are only
 * 2^32 ids.
 */
async function deploy(worker) {
  for (;;) {
    const id = `i-${randomBytes(4).toString('hex')}`;
    try {
      await begin(worker, id);
      return id;
    } catch (error) {
      await worker.client.query('rollback');
      if (error.code !== TAKEN) throw error;
    }
  }
}

async function begin({ client, accountId, machineId, rate, keyId }, id) {
  await client.query('begin');
  const account = (await client.query({ name: 'lock-account', text: LOCK_ACCOUNT, values: [accountId] })).rows[0];
  const machine = (await client.query({ name: 'lock-machine', text: LOCK_MACHINE, values: [machineId] })).rows[0];
  const totals = changed(account, { burn: rate + DISK_RATE, live: 1, deployed: 1 });
  const values = [
    accountId,
    ...totals,
    id,
    machineId,
    machine.gpu,
    machine.num_gpus,
    machine.region,
    DISK_GB,
    rate,
    DISK_RATE,
    keyId,
  ];
  await client.query({ name: 'deploy', text: DEPLOY, values });
  await client.query('commit');
}

async function destroy({ client, accountId }, id) {
  await client.query('begin');
  const row = (await client.query({ name: 'lock-both', text: LOCK_ACCOUNT_OF_INSTANCE, values: [accountId, id] }))
    .rows[0];
  const gpuRate = Number(row.gpu_rate);
  const diskRate = Number(row.disk_rate);
  const totals = changed(row, { burn: -gpuRate - diskRate, live: -1, deployed: 0 });
  const seconds = secondsOf(totals[0]) - secondsOf(row.created_at);
  const values = [accountId, ...totals, id, seconds, -gpuRate * seconds, -diskRate * seconds];
  await client.query({ name: 'destroy', text: DESTROY, values });
  await client.query('commit');
}

/**
 * Returns the account's new column values: settled_at, spend, spend at the start of the month, burn, live, deployed and
 * due_at.
 */
function changed(account, { burn, live, deployed }) {
  const before = secondsOf(account.settled_at);
  const now = Math.max(secondsOf(new Date()), before);
  const burned = (second) => Number(account.spend_units) + Number(account.burn_rate) * (second - before);
  const monthStart = secondsOf(new Date(new Date(now * 1_000).toISOString().slice(0, 7)));
  const spend = burned(now);
  const rate = Number(account.burn_rate) + burn;
  const liveInstances = account.live_instances + live;
  const dueAt = liveInstances === 0 ? null : now + Math.ceil((Number(account.credit_units) - spend) / rate);
  return [
    instant(now),
    spend,
    monthStart <= before ? Number(account.month_start_spend_units) : burned(monthStart),
    rate,
    liveInstances,
    account.deployed_instances + deployed,
    dueAt === null ? null : instant(dueAt),
  ];
}

function secondsOf(date) {
  return Math.floor(new Date(date).getTime() / 1_000);
}

function instant(seconds) {
  return new Date(seconds * 1_000).toISOString();
}

const PRICE_AND_KEY = `
  select on_demand_rate * num_gpus as rate, (select min(id) from api_key where account_id = $2) as key_id from machine join gpu_price on gpu_price.gpu = machine.gpu
  where machine.id = $1 and snapshot_date = (select max(date) from market_snapshot)`;

const TOTALS = `credit_units, spend_units, month_start_spend_units, burn_rate, settled_at, live_instances, deployed_instances`;
const LOCK_ACCOUNT = `select ${TOTALS} from account where id = $1 for no key update`;
const LOCK_MACHINE = `select gpu, num_gpus, region from machine where id = $1 for no key update`;
const LOCK_ACCOUNT_OF_INSTANCE = `
  select ${TOTALS}, gpu_rate, disk_rate, instance.created_at from account join instance on account_id = account.id
  where account.id = $1 and instance.id = $2 for no key update of account`;

const UPDATE_ACCOUNT = `
  update account set settled_at = $2, spend_units = $3, month_start_spend_units = $4, burn_rate = $5, live_instances = $6,
    deployed_instances = $7, due_at = $8 where id = $1`;

const DEPLOY = `
  with account_totals as (${UPDATE_ACCOUNT}), begun as (
    insert into instance (id, account_id, sequence, machine_id, host_id, status, gpu, num_gpus, region, template, disk_gb, mode,
      gpu_rate, disk_rate, on_demand_rate, created_at, running_since, key_id, run_key_id)
    values ($9, $1, $7, $10, $10, 'RUNNING', $11, $12, $13, 'pytorch', $14, 'ON_DEMAND', $15, $16, $15, $2, $2, $17, $17)
  )
  insert into usage_interval (instance_id, resource, ordinal, rate, started_at, key_id)
  values ($9, 'GPU', 1, $15, $2, $17), ($9, 'DISK', 1, $16, $2, $17)`;

const DESTROY = `
  with account_totals as (${UPDATE_ACCOUNT}), ended as (
    update instance set status = 'DESTROYED', running_since = null, stopped_at = $2, destroyed_at = $2, stop_reason = 'USER',
      gpu_seconds = $10 where id = $9
  ), closed as (
    update usage_interval set ended_at = $2, stop_reason = 'USER' where instance_id = $9 and ended_at is null
  )
  insert into ledger_entry (id, account_id, kind, units, at, instance_id)
  values ($9 || '/gpu/1', $1, 'GPU_USAGE', $11, $2, $9), ($9 || '/disk/1', $1, 'DISK_USAGE', $12, $2, $9)`;
