import { recomputed } from '../../src/domain/billing/recompute.js';
import type { Service } from './service.js';

/** Seconds from one deploy to the next. */
const EVERY = 720;

/**
 * Gives an account `count` past instances, which were deployed one after another up to now, and one stopped instance on
 * the other machine, which was started `restarts` times. Every seventh past instance ran twice, every fiftieth was
 * reserved and left early, and every hundredth lasted three days. Every 300th was followed by a credit a second later.
 * Some of these credits fall into the second of a checkpoint, which must not include them. The audit finds no mismatch.
 */
export async function addHistory(
  { sql, clock }: Service,
  account: string,
  [machine, another]: readonly [string, string],
  { count, restarts }: { count: number; restarts: number },
): Promise<void> {
  const now = Number(clock.now());
  const begun = now - (count + 1) * EVERY;
  await sql(
    `insert into instance (id, account_id, sequence, machine_id, status, gpu, num_gpus, region, template, disk_gb, mode,
       gpu_rate, disk_rate, on_demand_rate, created_at, stopped_at, destroyed_at, stop_reason, gpu_seconds, gpu_intervals,
       early_exit_units)
     select 'i-' || lpad(to_hex(k + $5::int), 8, '0'), $1, k, $2, 'DESTROYED', 'l4', 1, 'us-tx', 'pytorch', 10,
       case when k % 50 = 1 then 'RESERVED' else 'ON_DEMAND' end::pricing_mode,
       case when k % 50 = 1 then 65000 else 100000 end, 1400, 100000, at, at + interval '600 s',
       least(at + case when k % 100 = 0 then interval '3 days' else interval '660 s' end, to_timestamp($6::bigint)), 'USER',
       case when k % 7 = 0 then 500 else 600 end, case when k % 7 = 0 then 2 else 1 end,
       case when k % 50 = 1 then 35000 * case when k % 7 = 0 then 500 else 600 end else 0 end
     from generate_series(1, $3::int) k, lateral (select to_timestamp($4::bigint + k * ${EVERY}) as at) as begun`,
    [account, machine, count, begun, parseInt(account.slice(4, 11), 16), now],
  );
  await sql(
    `insert into instance (id, account_id, sequence, machine_id, status, gpu, num_gpus, region, template, disk_gb, mode,
       gpu_rate, disk_rate, on_demand_rate, created_at, stopped_at, stop_reason, gpu_seconds, gpu_intervals)
     select 'i-' || lpad(to_hex($3::int + $5::int), 8, '0'), $1, $3, $2, 'STOPPED', 'l4', 1, 'us-tx', 'pytorch', 10, 'ON_DEMAND', 100000,
       1400, 100000, to_timestamp($6::bigint - $4::int * 2), to_timestamp($6::bigint - 1), 'USER', $4::int, $4::int`,
    [account, another, count + 1, restarts, parseInt(account.slice(4, 11), 16), now],
  );
  await sql(
    `insert into usage_interval (instance_id, resource, ordinal, rate, started_at, ended_at)
     select id, 'DISK'::usage_resource, 1, disk_rate, created_at, destroyed_at from instance where account_id = $1
     union all
     select id, 'GPU', part, gpu_rate, created_at + (part - 1) * interval '300 s',
       case when part = gpu_intervals then stopped_at else created_at + interval '200 s' end
     from instance, generate_series(1, gpu_intervals) part where account_id = $1 and status = 'DESTROYED'
     union all
     select id, 'GPU', part, gpu_rate, created_at + (part - 1) * interval '2 s', created_at + (part * 2 - 1) * interval '1 s'
     from instance, generate_series(1, gpu_intervals) part where account_id = $1 and status = 'STOPPED'`,
    [account],
  );
  await sql(
    `insert into ledger_entry (id, account_id, kind, units, at, instance_id)
     select instance_id || '/' || lower(resource::text) || '/' || ordinal, account_id, (resource || '_USAGE')::ledger_kind,
       -rate * extract(epoch from ended_at - started_at)::bigint, ended_at, instance_id
     from usage_interval join instance on instance.id = instance_id where account_id = $1 and ended_at is not null
     union all
     select id || '/early-exit', account_id, 'EARLY_EXIT'::ledger_kind, -early_exit_units, destroyed_at, id
     from instance where account_id = $1 and early_exit_units > 0
     union all
     select 'credit-' || id, account_id, 'CREDIT', 7000001 * sequence::bigint,
       created_at + interval '1 second', null
     from instance where account_id = $1 and sequence % 300 = 0`,
    [account],
  );
  await sql(
    `with fresh as (${recomputed('(select * from account where id = $1)')})
     update account set credit_units = fresh.credit_units, spend_units = fresh.spend_units, burn_rate = fresh.burn_rate,
       month_start_spend_units = fresh.month_start_spend_units, live_instances = fresh.live_instances,
       deployed_instances = fresh.deployed_instances from fresh where account.id = fresh.id`,
    [account],
  );
  await sql('analyze instance, usage_interval, ledger_entry');
}
