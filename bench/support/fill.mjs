// Creates accounts, instances and machines with bulk SQL. The rows obey the same rules as the gateway's, so `admin
// audit` finds no mismatch. Triggers are disabled in the meantime, so foreign keys aren't checked and gateways aren't
// notified.
import { DUE_AT, recomputed } from '../../dist/src/domain/billing/recompute.js';
import { withClient } from './database.mjs';

const CREDIT_UNITS = 100_000n * 1_000_000n * 3_600n;
const DISK_MICRO_PER_GB_HOUR = 140;
/** Number of hosts for one call's stopped instances. They aren't offered, so the offers remain those of the seed. */
const STORES = 40;
const STORE_DISK_GB = 1_000_000;
const STOPPED_DISK_GB = 10;
const PAST_DISK_GB = 50;

/**
 * Odd factor for the numbers from which ids are derived. It keeps ids distinct and scatters them as if they were
 * random.
 */
const SCATTER = 2_654_435_761;
/** Number of ids reserved for each account. An account with more instances needs a number far from all others. */
const IDS_OF_ACCOUNT = 64;

/** Returns the id of account `n`, counted from 1. */
export function accountId(n) {
  return `acc-${n.toString(16).padStart(16, '0')}`;
}

export function keyOf(n) {
  return `gpu_live_${n.toString(16).padStart(40, '0')}`;
}

/**
 * Returns the id of instance `k` of account `n`, both counted from 1. Past instances are numbered before stopped ones.
 */
export function instanceId(n, k) {
  const scattered = ((BigInt(n) * BigInt(IDS_OF_ACCOUNT) + BigInt(k)) * BigInt(SCATTER)) % 2n ** 32n;
  return `i-${scattered.toString(16).padStart(8, '0')}`;
}

/**
 * Adds accounts `from` to `to`, each with a key and a credit of 100,000 USD. Each gets `past` destroyed instances, the
 * last of which ended `daysAgo`, and `stopped` instances that were stopped within the last day. Past instances from
 * different calls must be days apart, because they share machines.
 */
export function fillAccounts(url, { from, to, past, stopped, daysAgo = 2 }) {
  return withClient(url, async (client) => {
    await client.query('analyze machine, gpu_price, market_snapshot');
    await client.query(`begin; set local session_replication_role = replica; set local work_mem = '256MB'`);
    await client.query(ACCOUNTS, [from, to]);
    await client.query(CREDITS, [from, to, CREDIT_UNITS.toString()]);
    await client.query(KEYS, [from, to]);
    await client.query(STORE_MACHINES, [stopped === 0 ? 0 : STORES, STORE_DISK_GB, from]);
    await client.query(PAST_INSTANCES, [from, to, past, PAST_DISK_GB, PAST_DISK_GB * DISK_MICRO_PER_GB_HOUR, daysAgo]);
    await client.query(STOPPED_INSTANCES, [
      ...[from, to, past, stopped, STOPPED_DISK_GB, STOPPED_DISK_GB * DISK_MICRO_PER_GB_HOUR, STORES],
    ]);
    const ids = [accountId(from), accountId(to)];
    await client.query(GPU_INTERVALS, ids);
    await client.query(DISK_INTERVALS, ids);
    await client.query(CHARGES, ids);
    await client.query(TOTALS, ids);
    await client.query('commit');
  });
}

/** Adds `count` machines with the sizes, models and regions of existing ones. */
export function fillMachines(url, count) {
  return withClient(url, async (client) => {
    await client.query('begin; set local session_replication_role = replica');
    await client.query(MACHINES, [count]);
    await client.query('commit');
  });
}

/**
 * Adds `count` eight-GPU hosts that sell blocks of every size, with the models and regions of existing machines. Three
 * in four run instances, which belong to a separate account.
 */
export function fillHosts(url, count) {
  return withClient(url, async (client) => {
    await client.query('begin; set local session_replication_role = replica');
    await client.query(HOSTS, [count]);
    await client.query(HOST_BLOCKS);
    await client.query(HOST_AGENTS);
    await client.query(
      `insert into machine_heartbeat (machine_id, reachable) select id, true from machine where id like 'h-%' and host_id = id`,
    );
    await client.query(ACCOUNTS, [TENANT, TENANT]);
    await client.query(RUNNING_INSTANCES, [TENANT]);
    await client.query(
      'insert into sold_gpu select host_id, place, id from instance, generate_series(first_gpu, first_gpu + num_gpus - 1) place where host_id is not null',
    );
    await client.query('commit');
  });
}

/** Gives each of the `count` machines from `addHosts` a running instance. Each account gets `perAccount` of them. */
export function fillInstancesOfAgents(url, count, perAccount) {
  return withClient(url, async (client) => {
    await client.query('begin; set local session_replication_role = replica');
    await client.query(INSTANCES_OF_AGENTS, [count, perAccount]);
    const mine = `from instance where machine_id like 'f-%'`;
    for (const [resource, rate] of [
      ['GPU', 'gpu_rate'],
      ['DISK', 'disk_rate'],
    ])
      await client.query(
        `insert into usage_interval (instance_id, resource, ordinal, rate, started_at) select id, '${resource}', 1, ${rate}, created_at ${mine}`,
      );
    await client.query(`insert into sold_gpu select host_id, 0, id ${mine}`);
    await client.query(
      `insert into container (instance_id, machine_id, image, env, ports, told_start, start, phase)
       select id, machine_id, 'busybox', '{}', '{}', 1, 1, 'RUNNING' ${mine}`,
    );
    await client.query('commit');
  });
}

/**
 * Analyzes and vacuums the tables and writes a checkpoint, so that the database resembles one that was filled over
 * months.
 */
export function settleTables(url) {
  return withClient(url, async (client) => {
    await client.query('vacuum analyze');
    await client.query('checkpoint');
  });
}

const ACCOUNT_ID = `'acc-' || lpad(to_hex(n), 16, '0')`;
const KEY = `'gpu_live_' || lpad(to_hex(n), 40, '0')`;
const NOW = `date_trunc('second', now())`;

const ACCOUNTS = `
  insert into account (id, name, created_at, settled_at)
  select ${ACCOUNT_ID}, 'Account ' || n, ${NOW} - interval '90 days', ${NOW} from generate_series($1::int, $2) n`;

const CREDITS = `
  insert into ledger_entry (id, account_id, kind, units, at, note)
  select 'credit-' || lpad(to_hex(n), 16, '0'), ${ACCOUNT_ID}, 'CREDIT', $3, ${NOW} - interval '90 days', 'first credit'
  from generate_series($1::int, $2) n`;

const KEYS = `
  insert into api_key (id, account_id, hash, prefix, last_four, created_at)
  select 'key-' || lpad(to_hex(n), 16, '0'), ${ACCOUNT_ID}, sha256(convert_to(${KEY}, 'UTF8')), 'gpu_live_', right(${KEY}, 4),
    ${NOW} - interval '90 days' from generate_series($1::int, $2) n`;

const STORE_MACHINES = `
  insert into machine (id, host_id, gpu, num_gpus, region, cpu, vcpus, ram_gb, disk_gb, net_down_mbps, net_up_mbps, ports, pcie,
    nvlink, cuda_max, reliability, state, created_at)
  select 'm-store-' || $3::int || '-' || n, 'm-store-' || $3::int || '-' || n, gpu, 1, region, cpu, vcpus, ram_gb, $2, net_down_mbps, net_up_mbps, ports, pcie, nvlink, cuda_max,
    reliability, 'DRAINED', created_at
  from generate_series(0, $1::int - 1) n, (select * from machine where num_gpus = 1 order by id limit 1) as like_this
  on conflict do nothing`;

const MACHINES = `
  with numbered as (select machine.*, row_number() over (order by id) - 1 as place from machine where state = 'LISTED')
  insert into machine (id, host_id, gpu, num_gpus, region, cpu, vcpus, ram_gb, disk_gb, net_down_mbps, net_up_mbps, ports, pcie,
    nvlink, cuda_max, reliability, state, demo, created_at)
  select 'm-' || lpad(to_hex(n * ${SCATTER} % 4294967296), 8, '0'), 'm-' || lpad(to_hex(n * ${SCATTER} % 4294967296), 8, '0'), gpu,
    num_gpus, region, cpu, vcpus, ram_gb, disk_gb,
    net_down_mbps, net_up_mbps, ports, pcie, nvlink, cuda_max, reliability, state, demo, created_at
  from generate_series(1, $1::bigint) n join numbered on place = n % (select count(*) from numbered)
  on conflict do nothing`;

/** The account that rents on the eight-GPU hosts. Its number is far from all others. */
const TENANT = 2_000_000;

const HOSTS = `
  with numbered as (select machine.*, row_number() over (order by id) - 1 as place from machine where state = 'LISTED'),
    named as (select n, 'h-' || lpad(to_hex(n * ${SCATTER} % 4294967296), 8, '0') as id from generate_series(1, $1::bigint) n)
  insert into machine (id, host_id, gpu, num_gpus, region, cpu, vcpus, ram_gb, disk_gb, net_down_mbps, net_up_mbps, ports, pcie,
    nvlink, cuda_max, reliability, state, demo, created_at)
  select named.id, named.id, gpu, 8, region, cpu, vcpus * 8 / num_gpus, ram_gb * 8 / num_gpus, disk_gb * 8 / num_gpus,
    net_down_mbps, net_up_mbps, ports, pcie, nvlink, cuda_max, reliability, state, false, created_at
  from named join numbered on place = n % (select count(*) from numbered)`;

/** Computes shares as src/domain/kernel/slices.ts does. */
const HOST_BLOCKS = `
  insert into machine (id, host_id, gpu, first_gpu, num_gpus, region, cpu, vcpus, ram_gb, disk_gb, net_down_mbps, net_up_mbps,
    ports, pcie, nvlink, cuda_max, reliability, state, demo, created_at)
  select id || '.g' || first || case size when 1 then '' else '-' || (first + size - 1) end, id, gpu, first, size, region, cpu,
    vcpus * size / 8, ram_gb * size / 8, disk_gb * size / 8, net_down_mbps * size / 8, net_up_mbps * size / 8, ports * size / 8,
    pcie, nvlink and size > 1, cuda_max, reliability, state, demo, created_at
  from machine, unnest(array[1, 2, 4]) size, generate_series(0, 7, size) first where id like 'h-%'`;

const HOST_AGENTS = `
  insert into machine_host (machine_id, token_hash, joined_at, hardware, protocol, slices, gpus)
  select id, sha256(id::bytea), ${NOW}, '{}', 2, '{1,2,4,8,0}',
    (select jsonb_agg(jsonb_build_object('uuid', id || place, 'model', gpu)) from generate_series(0, 7) place)
  from machine where id like 'h-%' and host_id = id`;

const PRICED = `
  select machine.*, row_number() over (order by machine.id) - 1 as place, on_demand_rate * num_gpus as rate
  from machine join gpu_price on gpu_price.gpu = machine.gpu
  where snapshot_date = (select max(date) from market_snapshot)`;

const INSTANCE_COLUMNS = `id, account_id, sequence, machine_id, status, gpu, num_gpus, region, template, disk_gb, mode, gpu_rate,
  disk_rate, on_demand_rate, created_at, stopped_at, destroyed_at, stop_reason, gpu_seconds, gpu_intervals`;

/** SQL for the id that `instanceId` returns. */
const INSTANCE_ID = (k) =>
  `'i-' || lpad(to_hex((n::bigint * ${IDS_OF_ACCOUNT} + ${k}) * ${SCATTER} % 4294967296), 8, '0')`;

/** Each host in use has one single-GPU instance, two of them far apart, or one with four GPUs. */
const RUNNING_INSTANCES = `
  with numbered as (select id, row_number() over (order by id) as n from machine where id like 'h-%' and host_id = id),
    block as (
      select id || suffix as id, row_number() over () as k from numbered
        join (values (1, '.g0'), (2, '.g0'), (2, '.g4'), (3, '.g0-3')) as on_host (kind, suffix) on kind = n % 4)
  insert into instance (${INSTANCE_COLUMNS}, host_id, first_gpu, running_since)
  select 'i-' || lpad(to_hex(4000000000 + k), 8, '0'), 'acc-' || lpad(to_hex($1::int), 16, '0'), k, machine.id, 'RUNNING', gpu,
    num_gpus, region, 'pytorch', 50, 'ON_DEMAND', 1, 1, 1, ${NOW}, null, null, null, 0, 1, host_id, first_gpu, ${NOW}
  from block join machine using (id)
  on conflict do nothing`;

/**
 * Each account has one instance every twelve minutes, which ran for ten and kept its disk for one more. Only as many
 * accounts rent at a time as there are machines, and any further accounts rented earlier.
 */
const PAST_INSTANCES = `
  with priced as (${PRICED} and state = 'LISTED'), size as (select count(*) as machines from priced), begun as (
    select n, k, ((n - $1) % machines * 7919 + k) % machines as place, ${NOW} - make_interval(days => $6) -
      make_interval(mins => (($3::int - k + 1 + (n - $1) / machines * $3) * 12)::int, secs => n % 60) as at
    from size, generate_series($1::int, $2) n, generate_series(1, $3) k)
  insert into instance (${INSTANCE_COLUMNS})
  select ${INSTANCE_ID('k')}, ${ACCOUNT_ID}, k, priced.id, 'DESTROYED', gpu, num_gpus, region, 'pytorch', $4, 'ON_DEMAND', rate,
    $5, rate, at, at + interval '10 minutes', at + interval '11 minutes', 'USER', 600, 1
  from begun join priced using (place)`;

/** Each instance ran for half a minute. The accounts assigned to a store's machine used it in turn. */
const STOPPED_INSTANCES = `
  with priced as (${PRICED} and machine.id like 'm-store-' || $1::int || '-%'), begun as (
    select n, k, ${NOW} - make_interval(mins => ($4::int - k + 1) * (($2 - $1) / $7::int + 1) - (n - $1) / $7) as at
    from generate_series($1::int, $2) n, generate_series(1, $4) k)
  insert into instance (${INSTANCE_COLUMNS})
  select ${INSTANCE_ID('$3 + k')}, ${ACCOUNT_ID}, $3 + k, priced.id, 'STOPPED', gpu, num_gpus, region, 'pytorch', $5, 'ON_DEMAND', rate,
    $6, rate, at, at + interval '30 seconds', null, 'USER', 30, 1
  from begun join priced on place = (n - $1) % $7`;

/** Creates one instance on each machine from `addHosts`, running since now. Its account follows from its number. */
const INSTANCES_OF_AGENTS = `
  insert into instance (${INSTANCE_COLUMNS}, host_id, first_gpu, running_since)
  select 'i-' || lpad(to_hex(n), 8, '0'), 'acc-' || lpad(to_hex((n - 1) / $2::int + 1), 16, '0'), (n - 1) % $2 + 1, machine.id,
    'RUNNING', gpu, num_gpus, region, 'pytorch', 10, 'ON_DEMAND', 1, 1, 1, ${NOW}, null, null, null, 0, 1, machine.id, 0, ${NOW}
  from generate_series(1, $1::int) n join machine on machine.id = 'f-' || lpad(n::text, 5, '0')`;

const GPU_INTERVALS = `
  insert into usage_interval (instance_id, resource, ordinal, rate, started_at, ended_at)
  select id, 'GPU', 1, gpu_rate, created_at, stopped_at from instance where account_id between $1 and $2`;

const DISK_INTERVALS = `
  insert into usage_interval (instance_id, resource, ordinal, rate, started_at, ended_at)
  select id, 'DISK', 1, disk_rate, created_at, destroyed_at from instance where account_id between $1 and $2`;

const CHARGES = `
  insert into ledger_entry (id, account_id, kind, units, at, instance_id)
  select instance_id || '/' || lower(resource::text) || '/1', account_id, (resource || '_USAGE')::ledger_kind,
    -rate * extract(epoch from ended_at - started_at)::bigint, ended_at, instance_id
  from usage_interval join instance on instance.id = instance_id
  where ended_at is not null and account_id between $1 and $2`;

const TOTALS = `
  with fresh as (${recomputed('(select * from account where id between $1 and $2)')})
  update account set credit_units = fresh.credit_units, spend_units = fresh.spend_units, burn_rate = fresh.burn_rate,
    month_start_spend_units = fresh.month_start_spend_units, live_instances = fresh.live_instances,
    deployed_instances = fresh.deployed_instances, due_at = (select ${DUE_AT} from (select fresh.*) as due)
  from fresh where account.id = fresh.id`;
