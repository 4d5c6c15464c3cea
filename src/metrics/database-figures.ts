import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';
import { only } from '../database/only.js';
import { inSnapshot } from '../database/snapshot.js';
import type { KernelDeps } from '../domain/kernel/deps.js';
import { UNITS_PER_USD } from '../domain/kernel/money.js';
import type { TopUpDeps } from '../domain/top-ups/deps.js';

/** Maximum time that a scrape waits for figures that are being read. */
const WAIT_MS = 1_000;
/** Age above which figures are no longer shown. */
const MAX_AGE_MS = 60_000;
/**
 * Minimum time between two reads, followed by the multiple of the last read's duration that must also pass, so that
 * reading takes at most a twentieth of the time.
 */
const MIN_AGE_MS = 10_000;
const PAUSE_FACTOR = 20;

/** Prefix of the help text for metrics that are the same at every gateway. */
export const ONE_DATABASE = 'Database-wide, the same at every gateway: do not sum.';

interface Figures {
  running: { gpu: string; mode: string; instances: number; gpus: number }[];
  busy: { gpu: string; percent: number }[];
  machines: { state: string; machines: number }[];
  agents: { reachable: number; away: number };
  accounts: { all: number; suspended: number; exhausted: number };
  money: { credited: string; charged: string; held: string; burn: string };
  market: { succeeded: number | null; failed: number | null };
  aside: number;
  volumes: { live: number; stored: number; held: number; unsaved: number; unpruned: number };
}

/**
 * Figures that only the database has. A scrape reads them with a single statement, which never runs twice at a time,
 * and caches them for some seconds. A scrape doesn't wait long for them. It shows the cached ones unless they are too
 * old, and reports if they are missing.
 */
export class DatabaseFigures {
  readonly #deps: Pick<KernelDeps, 'db' | 'clock'>;
  readonly #gauges: Gauges;
  readonly #onFault: (error: unknown) => void;
  #figures: Figures | null = null;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #dueAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;
  #hasFailed = false;

  constructor(
    registry: Registry,
    deps: Pick<TopUpDeps, 'db' | 'clock' | 'settings' | 'payments'>,
    onFault: (error: unknown) => void,
  ) {
    this.#deps = deps;
    this.#gauges = createGauges(registry, deps);
    this.#onFault = onFault;
  }

  /** Resolves within about one second, once the newest available figures have been set. */
  async refresh(): Promise<void> {
    if (this.#reading === null && performance.now() >= this.#dueAtMs) {
      this.#reading = this.#read().finally(() => {
        this.#reading = null;
      });
    }
    if (this.#reading !== null) await Promise.race([this.#reading, sleep(WAIT_MS, undefined, { ref: false })]);
    const isOld = performance.now() - this.#readAtMs > MAX_AGE_MS;
    this.#gauges.show(isOld ? null : this.#figures, this.#readAtMs + performance.timeOrigin);
  }

  async #read(): Promise<void> {
    const startedAt = performance.now();
    try {
      const { db, clock } = this.#deps;
      const { rows } = await inSnapshot(db, { server: 'replica' }, (transaction) =>
        transaction.query<{ figures: Figures }>({
          name: 'metrics',
          text: FIGURES_SQL,
          values: [clock.now().toString()],
        }),
      );
      this.#figures = only(rows).figures;
      this.#readAtMs = startedAt;
      this.#hasFailed = false;
    } catch (error) {
      // The fault is reported only once. Later scrapes try again.
      if (!this.#hasFailed) this.#onFault(error);
      this.#hasFailed = true;
    } finally {
      const tookMs = performance.now() - startedAt;
      this.#dueAtMs = performance.now() + Math.max(MIN_AGE_MS, tookMs * PAUSE_FACTOR);
    }
  }
}

/** Registers a gauge of a database figure. */
type AddGauge = <Label extends string>(name: string, help: string, labelNames?: readonly Label[]) => Gauge<Label>;

/** Gauges that are set together. */
interface GaugeGroup {
  labelled?: readonly Gauge<string>[];
  /** Gauges without labels. */
  single?: readonly Gauge<string>[];
  set(figures: Figures): void;
}

type Gauges = ReturnType<typeof createGauges>;

function createGauges(registry: Registry, { settings, payments }: Pick<TopUpDeps, 'settings' | 'payments'>) {
  const registers = [registry];
  const gauge: AddGauge = (name, help, labelNames = []) =>
    new Gauge({ name, help: `${ONE_DATABASE} ${help}`, labelNames, registers });
  const groups: readonly GaugeGroup[] = [
    rentalGauges(gauge),
    accountGauges(gauge),
    moneyGauges(gauge),
    volumeGauges(gauge),
    ...(settings.marketSource === null ? [] : [marketGauges(gauge)]),
    ...(payments === null ? [] : [callbackGauges(gauge)]),
  ];
  const labelled = groups.flatMap((group) => group.labelled ?? []);
  const single = groups.flatMap((group) => group.single ?? []);
  const up = new Gauge({
    name: 'gpu_rental_database_figures_up',
    help: 'This process only. 0 while the database figures are missing, because it is unreachable or slow.',
    registers,
  });
  const readAt = new Gauge({
    name: 'gpu_rental_database_figures_timestamp_seconds',
    help: 'This process only. Time at which the database figures were read.',
    registers,
  });

  return {
    /** Sets the gauges. Null removes them, which means that the figures are missing. */
    show: (figures: Figures | null, readAtMs: number) => {
      // Resetting a gauge without labels would set it to 0 instead.
      for (const each of labelled) each.reset();
      up.set(figures === null ? 0 : 1);
      if (figures === null) {
        for (const each of [...single, readAt]) each.remove();
        return;
      }
      readAt.set(readAtMs / 1_000);
      for (const group of groups) group.set(figures);
    },
  };
}

function rentalGauges(gauge: AddGauge): GaugeGroup {
  const instances = gauge('gpu_rental_instances_running', 'Running instances by model and mode.', ['gpu', 'mode']);
  const rented = gauge('gpu_rental_gpus_rented', 'GPUs of running instances by model and mode.', ['gpu', 'mode']);
  const busy = gauge(
    'gpu_rental_gpus_busy_ratio',
    "GPU utilization of running instances, by model: the mean over the last minute's samples, 0 to 1.",
    ['gpu'],
  );
  const machines = gauge('gpu_rental_machines', "Machines by the operator's state.", ['state']);
  const agents = gauge('gpu_rental_agents', 'Host agents by whether they report: reachable or away.', ['state']);
  return {
    labelled: [instances, rented, busy, machines, agents],
    set: (figures) => {
      for (const { gpu, mode, instances: count, gpus } of figures.running) {
        const labels = { gpu, mode: mode.toLowerCase() };
        instances.set(labels, count);
        rented.set(labels, gpus);
      }
      for (const { gpu, percent } of figures.busy) busy.set({ gpu }, percent / 100);
      for (const { state, machines: count } of figures.machines) machines.set({ state: state.toLowerCase() }, count);
      for (const state of ['reachable', 'away'] as const) agents.set({ state }, figures.agents[state]);
    },
  };
}

function accountGauges(gauge: AddGauge): GaugeGroup {
  const all = gauge('gpu_rental_accounts', 'Accounts.');
  const suspended = gauge('gpu_rental_accounts_suspended', 'Suspended accounts.');
  const exhausted = gauge(
    'gpu_rental_accounts_exhausted',
    'Accounts whose credit is exhausted, within or after their grace period.',
  );
  return {
    single: [all, suspended, exhausted],
    set: ({ accounts }) => {
      all.set(accounts.all);
      suspended.set(accounts.suspended);
      exhausted.set(accounts.exhausted);
    },
  };
}

function moneyGauges(gauge: AddGauge): GaugeGroup {
  const credited = gauge('gpu_rental_credited_usd', 'USD credited to all accounts, including adjustments.');
  const charged = gauge(
    'gpu_rental_charged_usd',
    'USD charged to all accounts up to now, less credits for outages and slow starts.',
  );
  const held = gauge('gpu_rental_balances_usd', 'Remaining credit in USD: the sum of all balances above zero.');
  const burn = gauge('gpu_rental_burn_usd_per_hour', 'Current charges to all accounts in USD per hour.');
  return {
    single: [credited, charged, held, burn],
    set: ({ money }) => {
      credited.set(usdOf(money.credited));
      charged.set(usdOf(money.charged));
      held.set(usdOf(money.held));
      burn.set(Number(money.burn) / 1_000_000);
    },
  };
}

function volumeGauges(gauge: AddGauge): GaugeGroup {
  const gauges = {
    live: gauge('gpu_rental_volumes', 'Volumes, except deleted ones.'),
    stored: gauge('gpu_rental_volume_stored_bytes', 'Bytes of all volume snapshots in the store.'),
    held: gauge('gpu_rental_volumes_held', 'Volumes leased to an instance on a host with an agent.'),
    unsaved: gauge(
      'gpu_rental_volume_unsaved_seconds',
      'Longest time since the last snapshot, or since the lease began, of volumes leased to an instance on a host with an agent.',
    ),
    unpruned: gauge(
      'gpu_rental_volumes_unpruned',
      'Volumes whose old snapshots could not be removed at the last attempt.',
    ),
  };
  return {
    single: Object.values(gauges),
    set: ({ volumes }) => {
      for (const name of ['live', 'stored', 'held', 'unsaved', 'unpruned'] as const) gauges[name].set(volumes[name]);
    },
  };
}

function marketGauges(gauge: AddGauge): GaugeGroup {
  const succeeded = gauge(
    'gpu_rental_market_recheck_succeeded_timestamp_seconds',
    'Time at which the scheduled re-check last published a price sheet.',
  );
  const failed = gauge(
    'gpu_rental_market_recheck_failed_timestamp_seconds',
    'Time at which the scheduled re-check last failed.',
  );
  return {
    single: [succeeded, failed],
    set: ({ market }) => {
      succeeded.set(market.succeeded ?? 0);
      failed.set(market.failed ?? 0);
    },
  };
}

function callbackGauges(gauge: AddGauge): GaugeGroup {
  const aside = gauge(
    'gpu_rental_payment_callbacks_aside',
    'Payment processor callbacks that the operator must review.',
  );
  return { single: [aside], set: (figures) => aside.set(figures.aside) };
}

/** Converts units to USD. The result is accurate to 15 digits, which is enough for a chart. */
function usdOf(units: string): number {
  return Number(units) / Number(UNITS_PER_USD);
}

/** Reads all figures. `$1` is the current time in seconds since 1970. */
const FIGURES_SQL = `
  with account_now as (
    select suspended_at, exhausted_at, burn_rate, credit_units,
      spend_units + burn_rate::numeric * greatest($1::bigint - extract(epoch from settled_at)::bigint, 0) as spend
    from account
  )
  select json_build_object(
    'running', (select coalesce(json_agg(counted), '[]') from (
      select gpu, mode, count(*) as instances, sum(num_gpus) as gpus from instance where status = 'RUNNING' group by gpu, mode
    ) counted),
    'busy', (select coalesce(json_agg(counted), '[]') from (
      select gpu, avg(busy_percent) as percent from gpu_sample join instance on instance.id = instance_id
      where step_seconds = 10 and busy_percent is not null
        and at >= to_timestamp($1::bigint - 60) and at <= to_timestamp($1::bigint)
      group by gpu
    ) counted),
    'machines', (select coalesce(json_agg(counted), '[]') from (
      select state, count(*) as machines from machine where host_id = id group by state) counted),
    'agents', (select json_build_object('reachable', count(*) filter (where reachable),
        'away', count(*) filter (where reachable is not true))
      from machine_host left join machine_heartbeat using (machine_id) where revoked_at is null),
    'accounts', (select json_build_object('all', count(*), 'suspended', count(suspended_at), 'exhausted', count(exhausted_at))
      from account_now),
    'money', (select json_build_object('credited', coalesce(sum(credit_units), 0)::text, 'charged', coalesce(sum(spend), 0)::text,
        'held', coalesce(sum(greatest(credit_units - spend, 0)), 0)::text, 'burn', coalesce(sum(burn_rate), 0)::text)
      from account_now),
    'market', (select json_build_object(
        'succeeded', extract(epoch from max(finished_at) filter (where status = 'PUBLISHED')),
        'failed', extract(epoch from max(failed_at))) from market_recheck),
    'aside', (select count(*) from aside_callback),
    'volumes', (select json_build_object('live', count(*) filter (where deleted_at is null), 'stored', coalesce(sum(stored_bytes), 0),
        'held', count(lease_host_id) filter (where deleted_at is null),
        'unpruned', count(keep_failed_at) filter (where deleted_at is null),
        'unsaved', coalesce(max(greatest($1::bigint - extract(epoch from greatest(lease_since, (
          select max(at) from volume_snapshot where volume_id = volume.id)))::bigint, 0))
          filter (where deleted_at is null and lease_host_id is not null and lease_opened), 0))
      from volume where erased_at is null)
  ) as figures`;
