// The tables that bench:partitions measures: their rows, how they can be partitioned, and the product's statements on
// them. Each statement is run with a search path that leads to one variant of the table.

/** Multiplying by this odd number modulo a power of two scatters consecutive numbers without repeating any. */
const SCATTER = 2_654_435_761n;
const ROWS_PER_ACCOUNT = 250;
const START = '2025-11-01 00:00:00Z';
const SECONDS_OF_YEAR = 365 * 86_400;
const ACCOUNT = (index) => `'acc-' || lpad(to_hex(${index} * ${SCATTER} % 1099511627776), 16, '0')`;
const INSTANCE = (index) => `'i-' || lpad(to_hex(${index} * ${SCATTER} % 4294967296), 8, '0')`;
/** A number from 0 to 1 that depends only on `n`. */
const CHANCE = (n) => `((hashint8(${n})::bigint + 2147483648) / 4294967296.0::float8)`;
const AT = (n, rows) => `timestamptz '${START}' + make_interval(secs => ${n} * ${SECONDS_OF_YEAR}.0 / ${rows})`;

const accountsOf = (rows) => Math.ceil(rows / ROWS_PER_ACCOUNT);
/** The cube gives the busiest 1% of accounts a fifth of the rows. */
const accountOfChance = (n, rows) => ACCOUNT(`floor(${accountsOf(rows)} * ${CHANCE(n)} ^ 3)::bigint`);
const scattered = (index, size) => ((BigInt(index) * SCATTER) % size).toString(16);
const accountAt = (index) => `acc-${scattered(index, 2n ** 40n).padStart(16, '0')}`;
const instanceAt = (index) => `i-${scattered(index, 2n ** 32n).padStart(8, '0')}`;
const timeAt = (part) => new Date(Date.parse('2025-11-01T00:00:00Z') + part * SECONDS_OF_YEAR * 1_000).toISOString();
/** Returns the number of account `k` of `count` that are spread over all accounts except the busiest. */
const usualAccount = (k, count, rows) => accountAt(Math.floor(((k + 0.5) / count) * accountsOf(rows)));
const someInstance = (k, count, instances) => Math.floor(((k + 0.5) / count) * instances);

const hashVariants = (column, keys) =>
  [8, 32].map((count) => ({
    name: `${count} parts`,
    by: `hash (${column})`,
    keys,
    parts: Array.from({ length: count }, (_, n) => [n, `for values with (modulus ${count}, remainder ${n})`]),
  }));
const PLAIN = { name: 'plain' };

const LEDGER_COLUMNS = 'id, account_id, kind, units, at, instance_id, reference, note';
const MONEY_MOVED = `kind in ('CREDIT', 'ADJUSTMENT', 'SERVICE_CREDIT')`;
const CHARGED = `kind in ('EARLY_EXIT', 'PREEMPTION_MINIMUM')`;
/** As in src/domain/billing/recompute.ts. */
const ENTRY_TOTALS = (where) => `
  select account_id, sum(units) filter (where ${MONEY_MOVED}) as credit, -sum(units) filter (where ${CHARGED}) as charged,
    -sum(units) filter (where ${CHARGED} and at < '2026-10-01') as charged_before_month
  from ledger_entry ${where} group by account_id`;

const ledger = {
  from: 'ledger_entry',
  variants: [
    PLAIN,
    // The ids alone can't stay unique. They keep an index, because charges are found by id.
    ...hashVariants('account_id', { ledger_entry_pkey: 'unique (account_id, id)', ledger_entry_id_idx: '(id)' }),
  ],
  /** Two in a hundred rows are payments. The others are charges, two for each instance. */
  fill: (rows) => `
    insert into ledger_entry (${LEDGER_COLUMNS})
    select case when n % 50 = 0 then 'pay-' || lpad(to_hex(n), 12, '0')
        else instance || case n % 2 when 0 then '/gpu/1' else '/disk/1' end end, account,
      (case when n % 50 = 0 then 'CREDIT' when n % 2 = 0 then 'GPU_USAGE' else 'DISK_USAGE' end)::ledger_kind,
      case when n % 50 = 0 then 36000000000 else -(n % 1000000) end, at,
      case when n % 50 <> 0 then instance end, case when n % 50 = 0 then 'cs_' || lpad(to_hex(n), 24, '0') end, null
    from (select n, ${INSTANCE('(n / 2)')} as instance, ${accountOfChance('n / 2', rows)} as account, ${AT('n', rows)} as at
      from generate_series(1, ${rows}::bigint) n) as made`,
  insert: {
    text: `with part_0 as (insert into ledger_entry (${LEDGER_COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8)) select`,
    values: (n, rows) => [
      ...[`${instanceAt(rows + n)}/gpu/1`, usualAccount(n % 9_973, 9_973, rows), 'GPU_USAGE', '-3600', timeAt(1)],
      ...[instanceAt(rows + n), null, null],
    ],
  },
  reads: (rows) => [
    {
      name: 'movements of a statement, one month',
      text: `select id, kind, at, units, instance_id, reference, note from ledger_entry
        where account_id = $1 and ${MONEY_MOVED} and at >= $2::timestamptz and at < $3::timestamptz order by at, id`,
      values: (k, count) => [usualAccount(k, count, rows), timeAt(0.75), timeAt(0.8333)],
    },
    {
      name: 'recompute one account',
      text: ENTRY_TOTALS('where account_id = $1'),
      values: (k, count) => [usualAccount(k, count, rows)],
    },
    {
      name: 'recompute the busiest account',
      text: ENTRY_TOTALS('where account_id = $1'),
      values: () => [accountAt(0)],
      times: 3,
    },
    {
      name: 'entry by id, as today',
      text: 'select units from ledger_entry where id = $1',
      values: (k, count) => [`${instanceAt(someInstance(k, count, rows / 2))}/gpu/1`],
    },
    {
      name: 'entries by reference (operator)',
      text: 'select account_id, kind, units from ledger_entry where reference = $1',
      values: (k, count) => [
        `cs_${(50 * Math.max(1, someInstance(k, count, rows / 50))).toString(16).padStart(24, '0')}`,
      ],
    },
    { name: 'audit: totals of every account', text: ENTRY_TOTALS(''), values: () => [], times: 1, wrap: true },
  ],
};

const INTERVAL_COLUMNS = 'instance_id, resource, ordinal, rate, started_at, ended_at, minimum_until, key_id';
const PAGE_PART = (resource) => `(
    select * from usage_interval where instance_id = wanted.instance and resource = '${resource}' and ordinal > 0
    order by ordinal limit 50)`;
const usage = {
  from: 'usage_interval',
  variants: [PLAIN, ...hashVariants('instance_id', {})],
  /** Each instance ran twice. One in a thousand instances is still charged. */
  fill: (rows) => `
    insert into usage_interval (${INTERVAL_COLUMNS}, stop_reason)
    select ${INSTANCE('(n / 4)')}, (case n % 2 when 0 then 'GPU' else 'DISK' end)::usage_resource, n % 4 / 2 + 1,
      100000 + n % 977, at, case when n % 4 < 2 or n < ${Math.floor(rows * 0.999)} then at + interval '10 minutes' end, null,
      'key-' || lpad(to_hex(floor(${accountsOf(rows)} * ${CHANCE('n / 4')} ^ 3)::bigint), 16, '0'),
      case when n % 4 < 2 or n < ${Math.floor(rows * 0.999)} then 'USER'::stop_reason end
    from (select n, ${AT('n', rows)} as at from generate_series(4, ${rows}::bigint + 3) n) as made`,
  insert: {
    text: `with part_0 as (insert into usage_interval (${INTERVAL_COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8)) select`,
    values: (n, rows) => [instanceAt(rows + n), 'GPU', 1, '100000', timeAt(1), null, null, 'key-0000000000000001'],
  },
  /** Closes intervals again, as the end of a run does. */
  spoil: (rows) => `
    update usage_interval set ended_at = ended_at where instance_id = any(array(
      select ${INSTANCE('n')} from generate_series(1, ${Math.floor(rows / 4)}::bigint, 100) n))`,
  reads: (rows) => [
    {
      name: 'page of one instance',
      text: `select page.* from unnest($1::text[]) as wanted (instance) cross join lateral (
          select * from (${PAGE_PART('GPU')} union all ${PAGE_PART('DISK')}) part
          order by started_at, resource, ordinal limit 50) page`,
      values: (k, count) => [[instanceAt(someInstance(k, count, rows / 4))]],
    },
    {
      name: 'statement range, 50 instances',
      text: `select sum(rate * extract(epoch from coalesce(ended_at, now()) - started_at)::bigint) from unnest($1::text[]) as used (id)
        cross join lateral (select * from usage_interval where instance_id = used.id offset 0) usage_interval`,
      values: (k, count) => [
        Array.from({ length: 50 }, (_, n) => instanceAt(someInstance(k * 50 + n, count * 50, rows / 4))),
      ],
    },
    {
      name: 'close an interval',
      text: `update usage_interval set ended_at = $1, stop_reason = 'USER'
        where instance_id = $2 and resource = $3 and ordinal = $4 and ended_at is null`,
      values: (k, count) => [timeAt(1), instanceAt(someInstance(k, count, rows / 4)), 'GPU', 2],
    },
    {
      name: 'audit: sums of every instance',
      text: `select instance_id, sum(rate * extract(epoch from ended_at - started_at)) as units, count(*) filter (where ended_at is null)
        from usage_interval group by instance_id`,
      values: () => [],
      times: 1,
      wrap: true,
    },
  ],
};

const activity = {
  from: 'activity',
  variants: [
    PLAIN,
    ...hashVariants('account_id', {
      activity_refusals: 'unique (account_id, key_id, operation, code, slot) where code is not null',
    }),
  ],
  /** The account at a row's number wrote it. One in twenty rows is a refusal. */
  fill: (rows) => `
    insert into activity (id, account_id, at, key_id, is_session, address, operation, targets, code, times, slot)
    select n, ${accountOfChance('n', rows)}, ${AT('n', rows)}, 'key-' || lpad(to_hex(n % 977), 16, '0'), n % 3 = 0, '203.0.113.7',
      case n % 4 when 0 then 'deployInstance' when 1 then 'stopInstance' when 2 then 'startInstance' else 'destroyInstance' end,
      array[${INSTANCE('(n / 4)')}], case when n % 20 = 0 then 'INSUFFICIENT_CREDIT' end, 1, case when n % 20 = 0 then n end
    from generate_series(1, ${rows}::bigint) n`,
  insert: {
    text: `insert into activity (id, account_id, key_id, is_session, address, operation, targets, at)
      values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    values: (n, rows) => [
      ...[String(rows + n + 1), usualAccount(n % 9_973, 9_973, rows), 'key-0000000000000001', false, '203.0.113.7'],
      ...['stopInstance', [instanceAt(n)], timeAt(1)],
    ],
  },
  reads: (rows) => [
    {
      name: 'newest page of one account',
      text: 'select * from activity where account_id = $1 order by id desc limit 50',
      values: (k, count) => [usualAccount(k, count, rows)],
    },
    {
      name: 'requests about one instance, one day',
      text: `select * from activity where account_id = $1 and at >= $2::timestamptz and at <= $3::timestamptz and targets @> array[$4]
        order by at desc limit 50`,
      values: (k, count) => [usualAccount(k, count, rows), timeAt(0.8), timeAt(0.803), instanceAt(k)],
    },
  ],
  /** The oldest 1% of rows, in the product's batches of 1,000. */
  removals: () => [
    {
      name: 'delete the oldest 1%, found by time and place (ctid)',
      batch: `delete from activity where (tableoid, ctid) in (
        select tableoid, ctid from activity where at < '${timeAt(0.005)}' limit 1000 for update skip locked)`,
      atMost: 10,
    },
    {
      name: 'delete in batches of 1,000, as today',
      batch: `delete from activity where id in (
        select id from activity where at < '${timeAt(0.01)}' order by at limit 1000 for update skip locked)`,
      atMost: 3,
    },
  ],
};

const SAMPLE_STEP = 900;
const SAMPLE_DAYS = 120;
const SAMPLES_PER_INSTANCE = (SAMPLE_DAYS * 86_400) / SAMPLE_STEP;
const DAY_MS = 86_400_000;
const dayAt = (day) => new Date(Date.parse('2026-07-01T00:00:00Z') + day * DAY_MS).toISOString();
/** Partitions of `days` days. The last one also receives the measured inserts. */
const timeVariant = (name, days) => ({
  name,
  by: 'range (at)',
  keys: {},
  parts: Array.from({ length: SAMPLE_DAYS / days + 1 }, (_, n) => [
    n,
    `for values from ('${dayAt(n * days)}') to ('${dayAt((n + 1) * days)}')`,
  ]),
  days,
});
const SAMPLE_COLUMNS = `step_seconds, instance_id, at, cpu_percent, memory_used_bytes, disk_used_bytes,
  network_in_bytes_per_second, network_out_bytes_per_second, processes`;
const samples = {
  // The partition that holds the means over 900 s for 90 days.
  from: `instance_sample_${SAMPLE_STEP}`,
  as: 'instance_sample',
  variants: [PLAIN, timeVariant('months', 30), timeVariant('days', 1)],
  fill: (rows) => `
    insert into instance_sample (${SAMPLE_COLUMNS})
    select ${SAMPLE_STEP}, ${INSTANCE('instance')}, timestamptz '${dayAt(0)}' + make_interval(secs => ${SAMPLE_STEP} * step),
      (step % 100)::real, 8589934592 + step, 10737418240 + step, 1000 + step, 2000 + step, 40
    from generate_series(0, ${SAMPLES_PER_INSTANCE - 1}) step, generate_series(1, ${Math.ceil(rows / SAMPLES_PER_INSTANCE)}::bigint) instance`,
  insert: {
    text: `insert into instance_sample (${SAMPLE_COLUMNS}) values ($1, $2, $3, 5, 1, 1, 1, 1, 1) on conflict do nothing`,
    values: (n) => [SAMPLE_STEP, instanceAt(n + 1), dayAt(SAMPLE_DAYS)],
  },
  reads: (rows) => {
    const range = (name, days) => ({
      name,
      text: `select date_bin('6 hours', at, $2::timestamptz) as at, avg(cpu_percent), max(memory_used_bytes) from instance_sample
        where step_seconds = ${SAMPLE_STEP} and instance_id = any($1::text[]) and at >= $2::timestamptz and at < $3::timestamptz group by 1 order by 1`,
      values: (k, count) => [
        [instanceAt(1 + someInstance(k, count, rows / SAMPLES_PER_INSTANCE))],
        dayAt(SAMPLE_DAYS - days),
        dayAt(SAMPLE_DAYS),
      ],
    });
    return [range('points of one instance, 90 days', 90), range('points of one instance, 1 day', 1)];
  },
  /** The oldest 30 days, a quarter of the rows. */
  removals: ({ days }) => [
    days === undefined
      ? {
          name: 'remove the oldest 30 days',
          batch: `delete from instance_sample where step_seconds = ${SAMPLE_STEP} and ctid = any(array(
            select ctid from instance_sample where step_seconds = ${SAMPLE_STEP} and at < '${dayAt(30)}' limit 10000 for update skip locked))`,
        }
      : {
          name: 'remove the oldest 30 days',
          drops: Array.from({ length: 30 / days }, (_, n) => `drop table instance_sample_part_${n}`),
        },
  ],
};

export const TABLES = { ledger_entry: ledger, usage_interval: usage, activity, samples };
