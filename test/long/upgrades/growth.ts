import { connect } from '../../support/process.js';

/** Number of new accounts besides the heavy one. */
const ACCOUNTS = 300;
/** Part of all entries that the heavy account gets. */
const HEAVY_PART = 0.3;
/** Number of days over which the heavy account's rentals are spread, so that a month fits into one statement. */
const HEAVY_DAYS = 280;
const HEAVY = 'acc-fff0000000000000';
const LIGHT = 'acc-8000000000000000';

export interface Grown {
  /** The account with 30% of the entries. Accounts are chained in the order of their ids, and its id is a late one. */
  heavy: Renter;
  /** One of the other new accounts. */
  light: Renter;
}

export interface Renter {
  id: string;
  key: string;
}

/**
 * Adds accounts with past rentals, credits and adjustments to a release's database until its ledger has this many
 * entries. The rows obey the rules of every release, and many entries of an account are at the same second. Triggers and
 * foreign keys are disabled in the meantime.
 */
export async function growLedger(url: string, entries: number): Promise<Grown> {
  const client = await connect(url);
  await client.query(`begin; set local session_replication_role = replica; set local time zone 'UTC'`);
  const { rows } = await client.query('select count(*)::int as present from ledger_entry');
  const added = entries - rows[0].present;
  const each = Math.floor((added - entries * HEAVY_PART) / ACCOUNTS);
  if (each < 10) throw new Error(`at least ${Math.ceil((rows[0].present + 10 * ACCOUNTS) / (1 - HEAVY_PART))} entries`);
  await client.query(`create temp table grown on commit drop as ${GROWN}`, [added, each, ACCOUNTS]);
  await client.query(`create temp table rented on commit drop as ${RENTED}`, [HEAVY_DAYS]);
  for (const text of [INSTANCES, INTERVALS, CHARGES, EARLY_EXITS, MOVEMENTS, TOTALS, KEYS]) await client.query(text);
  await client.query('commit');
  await client.query('analyze');
  await client.end();
  return { heavy: renterOf(HEAVY), light: renterOf(LIGHT) };
}

function renterOf(id: string): Renter {
  return { id, key: `gpu_live_${id.slice('acc-'.length).padStart(40, '0')}` };
}

const KEY = `'gpu_live_' || lpad(substr(id, 5), 40, '0')`;

/** A rental has two entries, and each tenth has a third. Account 0 is the heavy one. */
const GROWN = `
  select id, n = 0 as heavy, rentals, entries - 2 * rentals - rentals / 10 as movements,
    sum(rentals) over (order by n = 0, n) - rentals as before
  from (
    select n, case n when 0 then '${HEAVY}' when 1 then '${LIGHT}' else 'acc-' || left(md5('account' || n), 16) end as id, entries,
      entries * 10 / 23 as rentals
    from generate_series(0, $3::int) n, lateral (select case n when 0 then $1::int - $2::int * $3 else $2 end as entries) share
  ) accounts`;

/**
 * The light accounts fill one day after another, with a rental on each free machine, and the heavy one rents in the
 * morning of each day. Five rentals begin in the same second, in the order of their numbers, and all end on the same day.
 */
const RENTED = `
  with free as (
    select machine.*, row_number() over (order by id) - 1 as place from machine
    where state = 'LISTED' and not exists (select from instance where machine_id = machine.id)
  ), size as (select count(*) as machines, (select sum(rentals) from grown where not heavy) as light_rentals from free),
  placed as (
    select grown.id as account_id, heavy, k,
      case when heavy then (k - 1) % (rentals / $1 + 1) else (before + k - 1) % machines end as place,
      case when heavy then $1 - (k - 1) / (rentals / $1 + 1) else light_rentals / machines - (before + k - 1) / machines + 1 end as days,
      60 + k % 7 * 77 as seconds, 'i-e' || lpad(to_hex((before + k) * 2654435761 % 268435456), 7, '0') as id
    from size, grown, generate_series(1, rentals) k
  ), begun as (select placed.*, '2026-11-20'::timestamptz - make_interval(days => days::int)
      + case when heavy then interval '4 hours' else interval '10 hours' end + place / 5 * interval '61 seconds' as started_at from placed)
  select begun.id, account_id, k, free.id as machine_id, gpu, num_gpus, region, seconds, started_at,
    started_at + seconds * interval '1 second' as stopped_at,
    started_at + (seconds + case k % 3 when 0 then 30 else 0 end) * interval '1 second' as destroyed_at,
    case k % 10 when 0 then 'RESERVED' else 'ON_DEMAND' end::pricing_mode as mode, 400000::bigint * num_gpus as on_demand_rate,
    400000::bigint * num_gpus * case k % 10 when 0 then 65 else 100 end / 100 as gpu_rate, 7000::bigint as disk_rate
  from begun join free using (place)`;

const INSTANCES = `
  insert into instance (id, account_id, sequence, machine_id, status, gpu, num_gpus, region, template, disk_gb, mode, gpu_rate,
    disk_rate, on_demand_rate, created_at, stopped_at, destroyed_at, stop_reason, gpu_seconds, gpu_intervals, reserved_until,
    early_exit_units)
  select id, account_id, k, machine_id, 'DESTROYED', gpu, num_gpus, region, 'pytorch', 50, mode, gpu_rate, disk_rate,
    on_demand_rate, started_at, stopped_at, destroyed_at, 'USER', seconds, 1,
    case mode when 'RESERVED' then started_at + interval '3 months' end, (on_demand_rate - gpu_rate) * seconds
  from rented`;

const INTERVALS = `
  insert into usage_interval (instance_id, resource, ordinal, rate, started_at, ended_at)
  select id, resource::usage_resource, 1, rate, started_at, ended_at from rented,
    lateral (values ('GPU', gpu_rate, stopped_at), ('DISK', disk_rate, destroyed_at)) used (resource, rate, ended_at)`;

const CHARGES = `
  insert into ledger_entry (id, account_id, kind, units, at, instance_id)
  select instance_id || '/' || lower(resource::text) || '/1', account_id, (resource || '_USAGE')::ledger_kind,
    -rate * extract(epoch from ended_at - used.started_at)::bigint, ended_at, instance_id
  from usage_interval used join rented on rented.id = instance_id`;

const EARLY_EXITS = `
  insert into ledger_entry (id, account_id, kind, units, at, instance_id)
  select id || '/early-exit', account_id, 'EARLY_EXIT', -(on_demand_rate - gpu_rate) * seconds, destroyed_at, id
  from rented where mode = 'RESERVED'`;

/** The first credit of 100,000 USD pays for everything. Ids are in another order than times. */
const MOVEMENTS = `
  insert into ledger_entry (id, account_id, kind, units, at, reference, note)
  select 'e-' || md5(id || '/' || k), id, case k % 5 when 0 then 'ADJUSTMENT' else 'CREDIT' end::ledger_kind,
    case when k = 1 then 360000000000000 when k % 5 = 0 then -k else k end,
    case k when 1 then '2026-01-01'::timestamptz else '2026-10-25'::timestamptz + k / 10 * interval '1 hour' end,
    case k % 3 when 0 then id || ' "' || k || '"' end, 'Überweisung Nº ' || k || ' 💶'
  from grown, generate_series(1, movements) k`;

const TOTALS = `
  with sums as (
    select account_id, sum(units) filter (where kind in ('CREDIT', 'ADJUSTMENT')) as credit,
      -sum(units) filter (where kind not in ('CREDIT', 'ADJUSTMENT')) as spend,
      -sum(units) filter (where kind not in ('CREDIT', 'ADJUSTMENT') and at < '2026-11-01') as spend_before_month
    from ledger_entry join grown on grown.id = account_id group by account_id
  )
  insert into account (id, name, created_at, settled_at, credit_units, spend_units, month_start_spend_units, deployed_instances)
  select id, 'Grown', '2026-01-01', '2026-11-20 12:00', credit, spend, coalesce(spend_before_month, 0), rentals
  from grown join sums on account_id = id`;

const KEYS = `
  insert into api_key (id, account_id, hash, prefix, last_four, created_at)
  select 'key-' || substr(id, 5), id, sha256(convert_to(${KEY}, 'UTF8')), 'gpu_live_', right(${KEY}, 4), '2026-01-01' from grown`;
