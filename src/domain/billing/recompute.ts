/**
 * SQL that recomputes an account's running totals from rows that never change: ledger entries, usage intervals and
 * locked rates. It shares no code with the rules that maintain the totals, so that each can be used to check the other.
 */

/** SQL for the ledger entries that change credit, and for those charged on top of usage intervals. */
export const MOVED = `kind in ('CREDIT', 'ADJUSTMENT', 'SERVICE_CREDIT')`;
export const CHARGED = `kind in ('EARLY_EXIT', 'PREEMPTION_MINIMUM')`;

/**
 * SQL for how many seconds of a usage or volume interval fall before the instant `until`. An interval that is still
 * open counts up to `until`.
 */
export function secondsBefore(until: string): string {
  return `extract(epoch from greatest(least(coalesce(ended_at, ${until}), ${until}) - started_at, interval '0'))::bigint`;
}

/**
 * SQL for the expected totals of each account in `accounts`, a table expression with the columns of the account table.
 */
export function recomputed(accounts: string): string {
  return `
  with counted as (select *, date_trunc('month', settled_at, 'UTC') as month_start from ${accounts} as source),
  moved as (
    select account_id, sum(units) filter (where ${MOVED}) as credit,
      -sum(units) filter (where ${CHARGED}) as charged,
      -sum(units) filter (where ${CHARGED} and at < month_start) as charged_before_month
    from ledger_entry join counted on counted.id = account_id group by account_id
  ), used as (
    select account_id, sum(rate * ${secondsBefore('settled_at')}) as usage,
      sum(rate * ${secondsBefore('month_start')}) as usage_before_month,
      sum(rate) filter (where ended_at is null) as burn
    from usage_interval join instance on instance.id = instance_id join counted on counted.id = account_id
    group by account_id
  ), stored as (
    select account_id, sum(rate * ${secondsBefore('settled_at')}) as usage,
      sum(rate * ${secondsBefore('month_start')}) as usage_before_month,
      sum(rate) filter (where ended_at is null) as burn
    from volume_interval join volume on volume.id = volume_id join counted on counted.id = account_id
    group by account_id
  ), kept as (
    select account_id, count(*) filter (where deleted_at is null) as volumes
    from volume join counted on counted.id = account_id group by account_id
  ), rented as (
    select account_id, count(*) as deployed, count(*) filter (where status <> 'DESTROYED') as live
    from instance join counted on counted.id = account_id group by account_id
  )
  select counted.id, counted.settled_at, counted.exhausted_at, counted.disk_delete_at,
    coalesce(credit, 0)::bigint as credit_units,
    (coalesce(used.usage, 0) + coalesce(stored.usage, 0) + coalesce(charged, 0))::bigint as spend_units,
    (coalesce(used.burn, 0) + coalesce(stored.burn, 0))::bigint as burn_rate,
    (coalesce(used.usage_before_month, 0) + coalesce(stored.usage_before_month, 0) + coalesce(charged_before_month, 0))::bigint as month_start_spend_units,
    coalesce(live, 0)::int as live_instances, coalesce(volumes, 0)::int as live_volumes, coalesce(deployed, 0)::int as deployed_instances
  from counted left join moved on moved.account_id = counted.id left join used on used.account_id = counted.id
    left join stored on stored.account_id = counted.id
    left join rented on rented.account_id = counted.id left join kept on kept.account_id = counted.id`;
}

/**
 * SQL for an API key's spend from the start of an instant's month up to that instant, and for the key's burn.
 * `account`, `key` and `until` are SQL expressions for the ids and the instant.
 */
export function keySpend(account: string, key: string, until: string): string {
  const start = `date_trunc('month', ${until}, 'UTC')`;
  const seconds = `${secondsBefore(until)} - ${secondsBefore(start)}`;
  return `
  select (coalesce(sum(units), 0) - coalesce((
        select sum(units) from ledger_entry entry join instance on entry.id = instance.id || '/early-exit'
        where instance.account_id = ${account} and instance.key_id = ${key} and entry.at >= ${start}), 0))::bigint as "spendUnits",
    coalesce(sum(rate) filter (where ended_at is null), 0)::bigint as "burnRate"
  from (
    select used.rate, used.ended_at, used.rate * (${seconds}) - coalesce(minimum.units, 0) as units
    from usage_interval used join instance on instance.id = used.instance_id
      left join ledger_entry minimum on minimum.id = used.instance_id || '/gpu/' || used.ordinal || '/minimum'
        and used.resource = 'GPU' and minimum.at >= ${start}
    where instance.account_id = ${account} and used.key_id = ${key} and coalesce(used.ended_at >= ${start}, true)
    union all
    select size.rate, size.ended_at, size.rate * (${seconds})
    from volume_interval size join volume on volume.id = size.volume_id
    where volume.account_id = ${account} and size.key_id = ${key} and coalesce(size.ended_at >= ${start}, true)
  ) charged`;
}

/** SQL for when the next exhaustion or the end of the grace period is due, based on a recomputed row's columns. */
export const DUE_AT = `
  case when live_instances = 0 and live_volumes = 0 then null
    when exhausted_at is not null then disk_delete_at
    when credit_units <= spend_units then settled_at
    when burn_rate = 0 then null
    when (credit_units - spend_units + burn_rate - 1) / burn_rate > 253402300799 - extract(epoch from settled_at) then null
    else settled_at + make_interval(secs => ((credit_units - spend_units + burn_rate - 1) / burn_rate)::double precision) end`;
