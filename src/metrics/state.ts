import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Tunnels } from '../access/tunnels.js';
import { watchWaits } from '../database/watch-pool.js';
import type { FleetDeps } from '../domain/fleet/deps.js';
import type { InventoryDeps } from '../domain/inventory/deps.js';
import type { TopUpDeps } from '../domain/top-ups/deps.js';
import type { UpdateDeps } from '../domain/updates/deps.js';
import type { RateLimiter } from '../http/rate-limit/rate-limit.js';
import { required } from '../std/required.js';
import { ONE_DATABASE } from './database-figures.js';
import { Durations } from './durations.js';
import { Tally } from './tally.js';

const MS_PER_SECOND = 1_000;
const WAIT_SECONDS = [0.001, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5];
const LAG_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 5, 30];

export interface Watched {
  deps: Pick<TopUpDeps, 'db' | 'clock' | 'settings' | 'payments'> &
    Pick<InventoryDeps, 'inventory'> &
    Pick<UpdateDeps, 'subscriptions'> &
    Pick<FleetDeps, 'fleet' | 'samples'>;
  tunnels: Tunnels;
  /** Open SSH connections. Null if SSH is disabled. */
  ssh: { readonly size: number } | null;
  webPorts: { readonly size: number };
  /** Returns the state of the Redis connection. Null if Redis isn't used. */
  redisState: (() => 'ok' | 'away') | null;
  /** Returns the number of dropped log lines. */
  droppedLines(): number;
}

/** Registers gauges for this process's in-memory state, which are read on each scrape. */
export function watchState(registry: Registry, watched: Watched): void {
  const { deps, redisState } = watched;
  watchPool(registry, deps.db);
  watchReplica(registry, deps.db);
  watchNotices(registry, deps.db);
  watchConnections(registry, watched);
  if (redisState !== null) {
    registerGauge(
      registry,
      'gpu_rental_redis_up',
      'This process only. 0 while Redis is unreachable and this process counts requests on its own.',
      () => (redisState() === 'ok' ? 1 : 0),
    );
  }
  watchLosses(registry, watched);
  watchInventory(registry, deps);
}

function registerGauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}

function watchPool(registry: Registry, { pool }: Pick<Watched['deps']['db'], 'pool'>): void {
  new Gauge({
    name: 'gpu_rental_database_pool_connections',
    help: 'This process only. Database connections by state: busy or idle.',
    labelNames: ['state'] as const,
    registers: [registry],
    collect() {
      this.set({ state: 'idle' }, pool.idleCount);
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount);
    },
  });
  registerGauge(
    registry,
    'gpu_rental_database_pool_max_connections',
    'This process only. Maximum number of database connections.',
    () => required(pool.options.max, 'size of the pool'),
  );
  registerGauge(
    registry,
    'gpu_rental_database_pool_waiting',
    'This process only. Requests waiting for a database connection.',
    () => pool.waitingCount,
  );
  const waits = new Durations({
    name: 'gpu_rental_database_pool_wait_seconds',
    help: 'This process only. Time spent waiting for a database connection.',
    bounds: WAIT_SECONDS,
    registry,
  });
  const wait = waits.series({});
  watchWaits(pool, (ms) => waits.observe(wait, ms / MS_PER_SECOND));
}

function watchReplica(registry: Registry, { replica }: Pick<Watched['deps']['db'], 'replica'>): void {
  if (replica === null) return;
  new Counter({
    name: 'gpu_rental_replica_reads_total',
    help: "This process only. Reads meant for the replica, by the server that served them: replica, or primary if the replica couldn't.",
    labelNames: ['server'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const server of ['replica', 'primary'] as const) this.inc({ server }, replica.served[server]);
    },
  });
}

function watchNotices(registry: Registry, { notices }: Pick<Watched['deps']['db'], 'notices'>): void {
  registerGauge(
    registry,
    'gpu_rental_change_notices_listening',
    'This process only. 1 while change notices are received; while it is 0, nothing is served from memory.',
    () => (notices.isListening ? 1 : 0),
  );
  registerGauge(
    registry,
    'gpu_rental_change_notices_lag_seconds',
    'This process only. Age of the oldest change not yet sent to the other gateways.',
    () => notices.lagMs / MS_PER_SECOND,
  );
  const sent = new Histogram({
    name: 'gpu_rental_change_notices_send_seconds',
    help: 'This process only. Time from a commit until the other gateways are notified, at most every 100 ms.',
    buckets: LAG_SECONDS,
    registers: [registry],
  });
  notices.onSent = (ms) => sent.observe(ms / MS_PER_SECOND);
}

/** Registers gauges for the streams, tunnels and connections that are open at this process. */
function watchConnections(registry: Registry, { deps, tunnels, ssh, webPorts }: Watched): void {
  registerGauge(
    registry,
    'gpu_rental_event_streams_open',
    'This process only. Open subscriptions.',
    () => deps.subscriptions.size,
  );
  registerGauge(
    registry,
    'gpu_rental_agents_waiting',
    'This process only. Host agents waiting here for a new desired state.',
    () => deps.fleet.desired.waiting,
  );
  new Gauge({
    name: 'gpu_rental_instance_streams_open',
    help: 'This process only. Tunnels into instances by kind: exec (SSH sessions), shell (terminals in browsers), port (web ports and forwarding), logs.',
    labelNames: ['kind'] as const,
    registers: [registry],
    collect() {
      for (const kind of ['exec', 'shell', 'port', 'logs'] as const) this.set({ kind }, tunnels.count(kind));
    },
  });
  if (ssh !== null)
    registerGauge(
      registry,
      'gpu_rental_ssh_connections_open',
      'This process only. Open SSH connections.',
      () => ssh.size,
    );
  registerGauge(
    registry,
    'gpu_rental_web_exchanges_open',
    "This process only. Requests and WebSockets in flight to instances' web ports.",
    () => webPorts.size,
  );
}

/** Registers counters for samples, and for the log lines and samples that were dropped. */
function watchLosses(registry: Registry, { deps, droppedLines }: Watched): void {
  new Counter({
    name: 'gpu_rental_log_lines_dropped_total',
    help: 'This process only. Log lines dropped because the log was not read and 8 MB were buffered.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(droppedLines());
    },
  });
  for (const [name, help] of [
    ['written', 'Instance samples written.'],
    ['dropped', 'Instance samples dropped because the buffer was full or the database refused them.'],
  ] as const) {
    new Counter({
      name: `gpu_rental_samples_${name}_total`,
      help: `This process only. ${help}`,
      registers: [registry],
      collect() {
        this.reset();
        this.inc(deps.samples[name]);
      },
    });
  }
}

/** Registers gauges for this process's in-memory inventory. */
function watchInventory(registry: Registry, { inventory }: Pick<InventoryDeps, 'inventory'>): void {
  const registers = [registry];
  const byModel = (name: string, help: string, read: (slug: string) => number) => {
    new Gauge({
      name,
      help,
      labelNames: ['gpu'] as const,
      registers,
      collect() {
        this.reset();
        for (const { slug } of inventory.latest.catalogue.gpuModels) this.set({ gpu: slug }, read(slug));
      },
    });
  };
  byModel('gpu_rental_offers', `${ONE_DATABASE} Machines on offer without a running instance, by model.`, (slug) =>
    inventory.latest.offers.offersOf(slug),
  );
  byModel(
    'gpu_rental_gpus_free',
    `${ONE_DATABASE} GPUs of machines on offer without a running instance, by model.`,
    (slug) => inventory.latest.offers.availableGpus(slug),
  );
  new Gauge({
    name: 'gpu_rental_price_sheet_timestamp_seconds',
    help: `${ONE_DATABASE} Start of the price sheet's day; 0 without a sheet.`,
    registers,
    collect() {
      this.set(Date.parse(`${inventory.latest.catalogue.marketSnapshot}T00:00:00Z`) / MS_PER_SECOND);
    },
  });
}

/** Wraps the rate limiter to count its decisions. */
export function countAdmissions(registry: Registry, limiter: RateLimiter): RateLimiter {
  const decisions = new Tally({
    name: 'gpu_rental_rate_limit_decisions_total',
    help: 'This process only. Requests with a key that the rate limit admitted or refused.',
    labelNames: ['decision'],
    registry,
  });
  for (const decision of ['admitted', 'refused']) decisions.add(0, decision);
  return {
    admit: async (accountId, cost, limit) => {
      const admission = await limiter.admit(accountId, cost, limit);
      decisions.add(1, admission.admitted ? 'admitted' : 'refused');
      return admission;
    },
  };
}
