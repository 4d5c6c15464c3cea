import { only } from '../../database/only.js';
import { inSnapshot } from '../../database/snapshot.js';
import type { Transaction } from '../../database/transaction.js';
import type { KernelDeps } from '../kernel/deps.js';
import { overlapping, USED_GB } from '../kernel/machine-condition.js';
import { PREEMPTION_MINIMUM_SECONDS } from '../kernel/preemption.js';
import { CHAIN_CHECKS } from './audit-chains.js';
import { CHARGED, DUE_AT, keySpend, MOVED, recomputed } from './recompute.js';

/** One violation found by a check. */
export interface Finding {
  check: string;
  accountId: string;
  /** Id of the instance, machine or ledger entry. Empty if the violation concerns the account itself. */
  subject: string;
  detail: string;
}

export interface AuditReport {
  accounts: number;
  instances: number;
  ledgerEntries: number;
  /** Accounts whose history isn't completely chained yet. */
  unchainedAccounts: number;
  /** The violations found, limited to MAX_FINDINGS per check. */
  findings: Finding[];
}

/** Maximum number of findings listed per check. A single finding is enough to fail the audit. */
const MAX_FINDINGS = 100;
/** A long timeout, because the checks read every row of the database. */
const CHECK_TIMEOUT_MS = 3_600_000;

/**
 * Recomputes every account and checks the invariants on a single database snapshot. The database does all the counting,
 * so this process's memory use doesn't grow with the number of instances. Writes nothing. Several connections make it
 * faster if the database server is idle otherwise. They read from the primary.
 */
export function audit({ db }: Pick<KernelDeps, 'db'>, connections = 1): Promise<AuditReport> {
  const server = connections === 1 ? 'replica' : 'primary';
  return inSnapshot(db, { server, settings: SETTINGS }, async (transaction) => {
    const { entries: ledgerEntries, ...counts } = only((await transaction.query<Counts>(COUNTS_SQL)).rows);
    const waiting = [...CHECKS.entries()];
    const findings: Finding[][] = [];
    const work = async (mine: Transaction) => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [position, [check, sql]] = next;
        findings[position] = await findingsOf(mine, check, sql);
      }
    };
    const helpers = connections === 1 ? [] : await helpersOf(db, transaction, connections - 1, work);
    await Promise.all([work(transaction), ...helpers]);
    return { ...counts, ledgerEntries, findings: findings.flat() };
  });
}

interface Counts {
  accounts: number;
  instances: number;
  entries: number;
  unchainedAccounts: number;
}

const COUNTS_SQL = `select (select count(*) from account)::int as accounts, (select count(*) from instance)::int as instances,
  (select count(*) from ledger_entry)::int as entries,
  (select count(*) from account left join account_chain on account_id = id where complete is not true)::int as "unchainedAccounts"`;
/** The connection that finishes first waits for the others. */
const SETTINGS = `set local statement_timeout = ${CHECK_TIMEOUT_MS}; set local idle_in_transaction_session_timeout = 0`;

/** Starts work on further connections, which read the transaction's snapshot. */
async function helpersOf(
  db: KernelDeps['db'],
  transaction: Transaction,
  count: number,
  work: (transaction: Transaction) => Promise<void>,
): Promise<Promise<void>[]> {
  const { rows } = await transaction.query<{ snapshot: string }>('select pg_export_snapshot() as snapshot');
  const settings = `${SETTINGS}; set transaction snapshot '${only(rows).snapshot}'`;
  return Array.from({ length: count }, () => inSnapshot(db, { server: 'primary', settings }, work));
}

async function findingsOf(transaction: Transaction, check: string, sql: string): Promise<Finding[]> {
  const { rows } = await transaction.query<Omit<Finding, 'check'>>(
    `select account_id as "accountId", subject, detail from (${sql}) as found limit ${MAX_FINDINGS}`,
  );
  return rows.map((row) => ({ check, ...row }));
}

/**
 * The checks and their names. Each statement selects the violations it finds, with the columns account_id, subject and
 * detail.
 */
const CHECKS: readonly (readonly [name: string, sql: string])[] = [
  [
    'running totals equal ledger and usage',
    `with fresh as (${recomputed('account')}), expected as (select fresh.*, ${DUE_AT} as due_at from fresh),
     pairs as (
       select account.id as account_id, field, kept, fresh from account join expected on expected.id = account.id,
       lateral (values
         ('credit_units', account.credit_units::text, expected.credit_units::text),
         ('spend_units', account.spend_units::text, expected.spend_units::text),
         ('burn_rate', account.burn_rate::text, expected.burn_rate::text),
         ('month_start_spend_units', account.month_start_spend_units::text, expected.month_start_spend_units::text),
         ('live_instances', account.live_instances::text, expected.live_instances::text),
         ('live_volumes', account.live_volumes::text, expected.live_volumes::text),
         ('deployed_instances', account.deployed_instances::text, expected.deployed_instances::text),
         ('due_at', account.due_at::text, expected.due_at::text)
       ) as compared (field, kept, fresh)
     )
     select account_id, '' as subject, field || ' is ' || coalesce(kept, 'null') || ', recomputed ' || coalesce(fresh, 'null') as detail
     from pairs where kept is distinct from fresh`,
  ],
  [
    'every closed interval is charged once, at its rate and seconds',
    `select coalesce(instance.account_id, entry.account_id) as account_id, coalesce(usage.charge_id, entry.id) as subject,
       'usage ' || coalesce(usage.units::text, 'missing') || ' units, charged ' || coalesce((-entry.units)::text, 'nothing') as detail
     from (
       select instance_id, instance_id || '/' || lower(resource::text) || '/' || ordinal as charge_id, ended_at,
         resource::text || '_USAGE' as kind, rate * extract(epoch from ended_at - started_at)::bigint as units
       from usage_interval where ended_at is not null
     ) usage
     join instance on instance.id = usage.instance_id
     full join (select * from ledger_entry where kind in ('GPU_USAGE', 'DISK_USAGE')) entry on entry.id = usage.charge_id
     where entry.id is null or usage.charge_id is null or usage.units <> -entry.units or usage.ended_at <> entry.at
       or usage.kind <> entry.kind::text or entry.account_id <> instance.account_id or entry.instance_id <> instance.id`,
  ],
  [
    'every past size of a volume is charged once, at its rate and seconds',
    `select coalesce(size.account_id, entry.account_id) as account_id, coalesce(size.charge_id, entry.id) as subject,
       'usage ' || coalesce(size.units::text, 'missing') || ' units, charged ' || coalesce((-entry.units)::text, 'nothing') as detail
     from (
       select account_id, volume_id || '/volume/' || ordinal as charge_id, ended_at,
         rate * extract(epoch from ended_at - started_at)::bigint as units
       from volume_interval join volume on volume.id = volume_id where ended_at is not null
     ) size
     full join (select * from ledger_entry where kind = 'VOLUME_USAGE') entry on entry.id = size.charge_id
     where entry.id is null or size.charge_id is null or size.units <> -entry.units or size.ended_at <> entry.at
       or entry.account_id <> size.account_id or entry.instance_id is not null`,
  ],
  [
    'volumes agree with their sizes, which follow each other without a gap',
    `select account_id, volume_id || '/volume/' || ordinal as subject, 'doesn''t follow the previous size, or has another rate' as detail
     from (
       select volume_interval.*, account_id, gb_rate, created_at, row_number() over each as position,
         lag(ended_at) over each as before, lag(volume_interval.size_gb) over each as smaller
       from volume_interval join volume on volume.id = volume_id
       window each as (partition by volume_id order by ordinal)
     ) numbered
     where ordinal <> position or rate <> gb_rate * size_gb or size_gb <= smaller or ended_at < started_at
       or started_at is distinct from case when position = 1 then created_at else before end
     union all
     select account_id, id, 'size or end differ from its last size'
     from volume left join lateral (
       select * from volume_interval where volume_id = volume.id order by ordinal desc limit 1
     ) last on true
     where last.volume_id is null or last.size_gb <> volume.size_gb or last.ended_at is distinct from deleted_at
       or (deleted_at is null) <> (delete_reason is null)`,
  ],
  [
    'GPU intervals follow each other without a gap in number or overlap in time, at the locked rate',
    `with numbered as (
       select usage_interval.*, account_id, gpu_rate, created_at, coalesce(host_id, machine_id) as host_id, first_gpu, num_gpus,
         row_number() over each as position, lag(ended_at) over each as before, lag(ordinal) over each is null as is_first
       from usage_interval join instance on instance.id = instance_id where resource = 'GPU'
       window each as (partition by instance_id order by ordinal)
     )
     select account_id, instance_id || '/gpu/' || ordinal as subject, 'doesn''t follow the previous interval, or has another rate' as detail
     from numbered
     where ordinal <> position or rate <> gpu_rate or (not is_first and (before is null or before > started_at))
       or (is_first and started_at < created_at)
     union all
     -- Later than its creation only if that second was already sold to the machine's previous renter. A separate select,
     -- because within an "or" each row would scan everything that its host ever rented out.
     select account_id, instance_id || '/gpu/' || ordinal, 'begins after its creation'
     from numbered
     where is_first and started_at > created_at and not exists (
       select from instance other join usage_interval sold on sold.instance_id = other.id
       where coalesce(other.host_id, other.machine_id) = numbered.host_id and ${overlapping('other', 'numbered')}
         and other.id <> numbered.instance_id and sold.resource = 'GPU' and sold.ended_at = numbered.started_at)`,
  ],
  [
    'no deadline is missed',
    `select account.id as account_id, instance.id as subject, 'its deadline is before ' || coalesce(deadline_at::text, 'never') as detail
     from account join instance on account_id = account.id
     where status <> 'DESTROYED' and least(stop_at, destroy_at) < coalesce(deadline_at, 'infinity')
     union all
     select account_id, instance_id || '/' || lower(resource::text) || '/' || ordinal, 'is billed after its deadline'
     from usage_interval join instance on instance.id = instance_id
     where ended_at > destroy_at and ended_at > started_at`,
  ],
  [
    'no spend limit is missed',
    `with next as (select *, greatest(coalesce(deadline_at, settled_at + interval '10 years') - settled_at, interval '0') as until from account)
     select next.id as account_id, '' as subject, 'is above its monthly limit before ' || coalesce(deadline_at::text, 'ever') as detail
     from next
     where coalesce(limit_reached_at < date_trunc('month', settled_at, 'UTC'), true) and until > interval '0'
       and spend_units - month_start_spend_units + burn_rate * extract(epoch from
         least(until, date_trunc('month', settled_at, 'UTC') + interval '1 month' - settled_at)) > monthly_limit * 3600
     union all
     select account_id, instance.id, 'is above its spend limit before ' || coalesce(deadline_at::text, 'ever')
     from instance join next on next.id = account_id
     where status = 'RUNNING' and until > interval '0' and minimum_units + gpu_rate * gpu_seconds
       + gpu_rate * extract(epoch from settled_at + until - running_since)
       + disk_rate * extract(epoch from settled_at + until - instance.created_at) > spend_limit * 3600
     union all
     select instance.account_id, instance.id, 'runs although a limit was reached'
     from instance join account on account.id = instance.account_id left join key_limit on key_limit.id = run_key_id
     where status = 'RUNNING' and (instance.limit_reached_at is not null
       or account.limit_reached_at >= date_trunc('month', account.settled_at, 'UTC')
       or key_limit.limit_reached_at >= date_trunc('month', account.settled_at, 'UTC'))`,
  ],
  [
    'spend of keys with a limit equals the sum of their intervals and charges',
    `select account_id, key_limit.id as subject, 'spent ' || spend_units - month_start_spend_units || ' of the month and burns '
       || burn_rate || ', recomputed ' || fresh."spendUnits" || ' and ' || fresh."burnRate" as detail
     from key_limit, lateral (${keySpend('key_limit.account_id', 'key_limit.id', 'key_limit.settled_at')}) fresh
     where monthly_limit is not null
       and (spend_units - month_start_spend_units <> fresh."spendUnits" or burn_rate <> fresh."burnRate")
     union all
     select id, '', 'counts ' || limited_keys || ' keys with a limit'
     from account where limited_keys <> (select count(*) from key_limit where account_id = account.id and monthly_limit is not null)`,
  ],
  [
    'no second of a GPU is sold twice',
    `select distinct account_id, instance_id || '/gpu/' || ordinal as subject,
       'begins before ' || sold_until || ', when GPU ' || gpu || ' of host ' || host_id || ' is free' as detail
     from (
       select usage_interval.*, account_id, placed.host_id, gpu, max(coalesce(ended_at, 'infinity')) over (
         partition by placed.host_id, gpu order by started_at, ended_at rows between unbounded preceding and 1 preceding) as sold_until
       from (
         select id, account_id, coalesce(host_id, machine_id) as host_id, first_gpu, num_gpus from instance
       ) placed left join (select distinct host_id from machine where id <> host_id) sliced on sliced.host_id = placed.host_id
         -- On a host that is rented as a whole, one GPU represents all.
         cross join generate_series(first_gpu, case when sliced.host_id is null then first_gpu else first_gpu + num_gpus - 1 end) as gpu
         join usage_interval on instance_id = placed.id
       where resource = 'GPU' and ended_at is distinct from started_at
     ) sold where sold_until > started_at`,
  ],
  [
    'an instance that preempted another is charged the rest of the minimum once',
    `select coalesce(minimum.account_id, entry.account_id) as account_id, coalesce(minimum.charge_id, entry.id) as subject,
       'minimum of ' || coalesce(minimum.units, 0) || ' units, charged ' || coalesce(-entry.units, 0) as detail
     from (
       select instance.id, account_id, instance.id || '/gpu/' || ordinal || '/minimum' as charge_id, ended_at,
         rate * extract(epoch from used.minimum_until - ended_at)::bigint as units
       from usage_interval used join instance on instance.id = instance_id
       where ended_at < used.minimum_until
     ) minimum
     full join (select * from ledger_entry where kind = 'PREEMPTION_MINIMUM') entry on entry.id = minimum.charge_id
     where entry.id is null or minimum.charge_id is null or minimum.units <> -entry.units or minimum.ended_at <> entry.at
       or entry.account_id <> minimum.account_id or entry.instance_id <> minimum.id
     union all
     select account_id, instance.id || '/gpu/' || ordinal, 'has a minimum although it preempted no instance, or one other than 60 s'
     from usage_interval used join instance on instance.id = instance_id
     where used.minimum_until is not null and (resource <> 'GPU' or mode = 'INTERRUPTIBLE'
       or used.minimum_until <> started_at + interval '${PREEMPTION_MINIMUM_SECONDS} seconds'
       or not exists (
         select from instance other join usage_interval before on before.instance_id = other.id
         where coalesce(other.host_id, other.machine_id) = coalesce(instance.host_id, instance.machine_id)
           and ${overlapping('other', 'instance')} and other.mode = 'INTERRUPTIBLE' and before.resource = 'GPU'
           and before.ended_at = used.started_at))`,
  ],
  [
    'instances agree with their intervals',
    `select account_id, id as subject, 'state, seconds or times differ from its intervals' as detail
     from instance left join (
       select instance_id,
         count(*) filter (where resource = 'GPU') as gpu_intervals,
         coalesce(sum(extract(epoch from ended_at - started_at)) filter (where resource = 'GPU'), 0)::bigint as gpu_seconds,
         max(started_at) filter (where resource = 'GPU' and ended_at is null) as running_since,
         max(ended_at) filter (where resource = 'GPU') as last_stop,
         count(*) filter (where resource = 'DISK') as disks,
         min(started_at) filter (where resource = 'DISK') as disk_from,
         max(ended_at) filter (where resource = 'DISK') as disk_to,
         min(rate) filter (where resource = 'DISK') as disk_rate,
        min(ordinal) filter (where resource = 'DISK') as disk_ordinal,
         max(usage_interval.minimum_until) filter (where ended_at is null) as minimum_until,
         coalesce(sum(rate * extract(epoch from usage_interval.minimum_until - ended_at))
           filter (where ended_at < usage_interval.minimum_until), 0)::bigint as minimum_units
       from usage_interval group by instance_id
     ) used on used.instance_id = instance.id
     where used.instance_id is null or used.gpu_intervals <> instance.gpu_intervals or used.gpu_seconds <> instance.gpu_seconds
       or used.running_since is distinct from instance.running_since or used.disks <> 1 or used.disk_from <> created_at
       or used.disk_to is distinct from destroyed_at or used.disk_rate <> instance.disk_rate or used.disk_ordinal <> 1
       or (status <> 'RUNNING' and used.last_stop is distinct from stopped_at)
       or used.minimum_until is distinct from instance.minimum_until or used.minimum_units <> instance.minimum_units`,
  ],
  [
    'rates match the mode',
    `select account_id, id as subject, 'the locked rate is not its share of the on-demand rate' as detail from instance
     where gpu_rate <> on_demand_rate * case mode when 'ON_DEMAND' then 100 when 'INTERRUPTIBLE' then 50 else 65 end / 100`,
  ],
  [
    'early exits are charged only if a reserved term was left early',
    `select instance.account_id, instance.id as subject,
       'early exit of ' || expected || ' units, charged ' || coalesce(-entry.units, 0) as detail
     from (
       select instance.*, case
         when mode = 'RESERVED' and status = 'DESTROYED'
           and gpu_seconds < extract(epoch from ((created_at at time zone 'UTC') + interval '3 months') at time zone 'UTC' - created_at)
         then (on_demand_rate - gpu_rate) * gpu_seconds else 0 end as expected
       from instance
     ) instance left join ledger_entry entry on entry.id = instance.id || '/early-exit'
     where expected <> coalesce(-entry.units, 0) or early_exit_units <> expected
       or (entry.id is not null and (entry.kind <> 'EARLY_EXIT' or entry.at <> destroyed_at))`,
  ],
  [
    'a charge belongs to the account of its instance',
    `select ledger_entry.account_id, ledger_entry.id as subject, 'is charged to another account than its instance belongs to' as detail
     from ledger_entry left join instance on instance.id = instance_id
     where kind not in ('CREDIT', 'ADJUSTMENT', 'VOLUME_USAGE') and instance.account_id is distinct from ledger_entry.account_id`,
  ],
  [
    'service credits refund charged seconds once, at their rate',
    `select coalesce(instance.account_id, entry.account_id) as account_id, coalesce(gap.credit_id, entry.id) as subject,
       'gap of ' || coalesce(gap.units::text, 'no') || ' units, credited ' || coalesce(entry.units::text, 'nothing') as detail
     from (
       select *, instance_id || '/service/' || ordinal as credit_id,
         rate * extract(epoch from ended_at - started_at)::bigint as units
       from service_gap
     ) gap
     join instance on instance.id = gap.instance_id
     full join (select * from ledger_entry where kind = 'SERVICE_CREDIT') entry on entry.id = gap.credit_id
     where entry.id is null or gap.credit_id is null or gap.units <> entry.units
       or entry.account_id <> instance.account_id or entry.instance_id <> instance.id
       or not exists (
         select from usage_interval used where used.instance_id = gap.instance_id and used.resource = gap.resource
           and used.rate = gap.rate and used.started_at <= gap.started_at and coalesce(used.ended_at >= gap.ended_at, true))`,
  ],
  [
    'no second is credited twice',
    `select account_id, instance_id || '/service/' || ordinal as subject, 'overlaps the previous one' as detail
     from (
       select service_gap.*, account_id,
         lag(ended_at) over (partition by instance_id, resource order by started_at) as before
       from service_gap join instance on instance.id = instance_id
     ) gap where before > started_at`,
  ],
  [
    'a slow start is credited at most 600 s and its running time, a template 600 s per day',
    `select account_id, used.instance_id || '/gpu/' || used.ordinal as subject, 'credits ' || sum(gap.ended_at - gap.started_at) || ' of a slow start' as detail
     from service_gap gap join instance on instance.id = gap.instance_id
       join usage_interval used on used.instance_id = gap.instance_id and used.resource = 'GPU'
         and used.started_at <= gap.started_at and coalesce(used.ended_at >= gap.ended_at, true)
       join container_start s on s.instance_id = used.instance_id and s.ordinal = used.ordinal
     where gap.reason = 'SLOW_START' and gap.resource = 'GPU'
     group by account_id, used.instance_id, used.ordinal, used.ended_at, s.running_at
     having sum(gap.ended_at - gap.started_at) > least(interval '600 seconds', coalesce(used.ended_at - s.running_at, interval '600 seconds'))
     union all
     select account_id, day::text, 'credits ' || seconds || ' s of templates, recorded ' || coalesce(recorded, 0)
     from (
       select account_id, ((used.ended_at - interval '1 second') at time zone 'UTC')::date as day,
         sum(extract(epoch from gap.ended_at - gap.started_at)) as seconds
       from service_gap gap join instance on instance.id = gap.instance_id
         join usage_interval used on used.instance_id = gap.instance_id and used.resource = 'GPU'
           and used.started_at <= gap.started_at and used.ended_at >= gap.ended_at
       where gap.reason = 'TEMPLATE_START'
       group by 1, 2
     ) credited left join (select account_id as recorded_of, day as recorded_day, seconds as recorded from template_start_credit) recorded
       on recorded_of = account_id and recorded_day = day
     where seconds > coalesce(recorded, 0)`,
  ],
  [
    'nothing is running after credit ran out',
    `select account.id as account_id, instance.id as subject, 'runs although credit ran out at ' || exhausted_at as detail
     from account join instance on instance.account_id = account.id
     where exhausted_at is not null and instance.status = 'RUNNING'`,
  ],
  [
    'remaining disks fit their host',
    `select '' as account_id, host.id as subject, sum(${USED_GB}) || ' GB on ' || host.disk_gb || ' GB' as detail
     from machine host join machine on machine.host_id = host.id join instance on machine_id = machine.id where status <> 'DESTROYED'
     group by host.id having sum(${USED_GB}) > host.disk_gb`,
  ],
  [
    'a GPU has one running instance at a time',
    `select min(account_id) as account_id, host_id as subject, count(*) || ' instances run on GPU ' || gpu as detail
     from (select account_id, coalesce(host_id, machine_id) as host_id, generate_series(first_gpu, first_gpu + num_gpus - 1) as gpu
       from instance where status = 'RUNNING') running
     group by host_id, gpu having count(*) > 1`,
  ],
  [
    'recorded sold GPUs equal those of running instances',
    `select '' as account_id, coalesce(sold_gpu.instance_id, instance.id) as subject, 'its GPUs differ from the recorded ones' as detail
     from sold_gpu full join (
       select id, coalesce(host_id, machine_id) as host_id, generate_series(first_gpu, first_gpu + num_gpus - 1) as gpu
       from instance where status = 'RUNNING'
     ) instance on instance.id = instance_id and instance.host_id = sold_gpu.host_id and instance.gpu = sold_gpu.gpu
     where instance.id is null or instance_id is null`,
  ],
  [
    'checkpoints equal the sums of ledger and usage before them',
    `with moves as (
       select account_id, at, 0 as place, 0 as rate, 0 as rate_seconds, 0 as charged, 0 as credit, spend_units, credit_units
       from account_checkpoint
       union all
       select account_id, boundary, 1, sign * rate, sign * rate * extract(epoch from boundary), 0, 0, null, null
       from usage_interval join instance on instance.id = instance_id,
         lateral (values (started_at, 1), (ended_at, -1)) as part (boundary, sign)
       where account_id in (select account_id from account_checkpoint) and boundary is not null
       union all
       select account_id, boundary, 1, sign * rate, sign * rate * extract(epoch from boundary), 0, 0, null, null
       from volume_interval join volume on volume.id = volume_id,
         lateral (values (started_at, 1), (ended_at, -1)) as part (boundary, sign)
       where account_id in (select account_id from account_checkpoint) and boundary is not null
       union all
       select account_id, at, 1, 0, 0, case when ${CHARGED} then -units else 0 end, case when ${MOVED} then units else 0 end, null, null
       from ledger_entry where account_id in (select account_id from account_checkpoint)
     ), summed as (
       select account_id, at, spend_units, credit_units, sum(credit) over earlier as credit,
         sum(rate) over earlier * extract(epoch from at) - sum(rate_seconds) over earlier + sum(charged) over earlier as spend
       from moves window earlier as (partition by account_id order by at, place rows unbounded preceding)
     )
     select account_id, at::text as subject, 'spend ' || spend_units || ' and credit ' || credit_units || ', recomputed '
       || round(spend) || ' and ' || credit as detail
     from summed where spend_units is not null and (spend_units <> spend or credit_units <> credit)`,
  ],
  [
    'checkpoints list the open instances',
    `select checkpoint.account_id, checkpoint.at::text as subject, 'its instances differ from those open then' as detail
     from account_checkpoint checkpoint left join lateral (
       select sequence, open_instances from account_checkpoint
       where account_id = checkpoint.account_id and at < checkpoint.at order by at desc limit 1
     ) previous on true
     where exists (
       select from instance where account_id = checkpoint.account_id and created_at < checkpoint.at
         and sequence > checkpoint.sequence and sequence <= checkpoint.sequence + 1000
     ) or array(select unnest(checkpoint.open_instances) order by 1) <> array(
       select id from instance where account_id = checkpoint.account_id and sequence <= checkpoint.sequence
         and (sequence > coalesce(previous.sequence, 0) or id = any(previous.open_instances))
         and coalesce(destroyed_at >= checkpoint.at, true) order by id
     )`,
  ],
  ...CHAIN_CHECKS,
];
