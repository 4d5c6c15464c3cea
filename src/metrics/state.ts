import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Tunnels } from '../access/tunnels.js';
import { watchWaits } from '../database/watch-pool.js';
import type { Deps } from '../domain/deps.js';
import type { RateLimiter } from '../http/rate-limit/rate-limit.js';
import { ONE_DATABASE } from './database-figures.js';
import { Durations } from './durations.js';
import { Tally } from './tally.js';

const MS_PER_SECOND = 1_000;
const WAIT_SECONDS = [0.001, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5];
const LAG_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 5, 30];

export interface Watched {
  deps: Deps;
  tunnels: Tunnels;
  /** Open connections by SSH; null where there is no SSH. */
  ssh: { readonly size: number } | null;
  webPorts: { readonly size: number };
  /** Null without Redis. */
  redisState: (() => 'ok' | 'away') | null;
  /** Lines of the log that were dropped. */
  droppedLines(): number;
}

/** What is in the memory of this process, looked at when it is scraped. */
export function watchState(registry: Registry, watched: Watched): void {
  const { deps, tunnels, ssh, webPorts, redisState, droppedLines } = watched;
  const registers = [registry];
  const { pool, notices } = deps.db;
  const gauge = (name: string, help: string, read: () => number) => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  };

  new Gauge({
    name: 'gpu_rental_database_pool_connections',
    help: 'Of this process. Connections to the database by state: busy or idle.',
    labelNames: ['state'] as const,
    registers,
    collect() {
      this.set({ state: 'idle' }, pool.idleCount);
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount);
    },
  });
  gauge(
    'gpu_rental_database_pool_max_connections',
    'Of this process. Connections to the database that it may have.',
    () => pool.options.max!,
  );
  gauge(
    'gpu_rental_database_pool_waiting',
    'Of this process. Requests that wait for a connection to the database.',
    () => pool.waitingCount,
  );
  const waits = new Durations({
    name: 'gpu_rental_database_pool_wait_seconds',
    help: 'Of this process. How long a connection to the database was waited for.',
    bounds: WAIT_SECONDS,
    registry,
  });
  const wait = waits.series({});
  watchWaits(pool, (ms) => waits.observe(wait, ms / MS_PER_SECOND));

  gauge(
    'gpu_rental_change_notices_listening',
    'Of this process. 1 while change notices are received; 0: nothing is answered from memory.',
    () => (notices.isListening ? 1 : 0),
  );
  gauge(
    'gpu_rental_change_notices_lag_seconds',
    'Of this process. How long the oldest change has waited to be sent to the other gateways.',
    () => notices.lagMs / MS_PER_SECOND,
  );
  const sent = new Histogram({
    name: 'gpu_rental_change_notices_send_seconds',
    help: 'Of this process. From a commit until the other gateways were notified; they are notified every 100 ms at most.',
    buckets: LAG_SECONDS,
    registers,
  });
  notices.onSent = (ms) => sent.observe(ms / MS_PER_SECOND);

  gauge('gpu_rental_event_streams_open', 'Of this process. Open subscriptions.', () => deps.subscriptions.size);
  gauge(
    'gpu_rental_agents_waiting',
    'Of this process. Host agents that wait here for news.',
    () => deps.fleet.desired.waiting,
  );
  new Gauge({
    name: 'gpu_rental_instance_streams_open',
    help: 'Of this process. Tunnels into instances by kind: exec (SSH sessions), shell (terminals in browsers), port (web ports and forwarding), logs.',
    labelNames: ['kind'] as const,
    registers,
    collect() {
      for (const kind of ['exec', 'shell', 'port', 'logs'] as const) this.set({ kind }, tunnels.count(kind));
    },
  });
  if (ssh !== null) gauge('gpu_rental_ssh_connections_open', 'Of this process. Connections by SSH.', () => ssh.size);
  gauge(
    'gpu_rental_web_exchanges_open',
    'Of this process. Requests and WebSockets to web ports of instances under way.',
    () => webPorts.size,
  );
  if (redisState !== null) {
    gauge('gpu_rental_redis_up', 'Of this process. 0 while it counts requests for itself, since Redis is away.', () =>
      redisState() === 'ok' ? 1 : 0,
    );
  }
  new Counter({
    name: 'gpu_rental_log_lines_dropped_total',
    help: 'Of this process. Lines of the log that were dropped, since nobody read them and 8 MB waited.',
    registers,
    collect() {
      this.reset();
      this.inc(droppedLines());
    },
  });
  for (const [name, help] of [
    ['written', 'Samples of instances that were written.'],
    ['dropped', 'Samples of instances that were dropped: more than are held, or refused by the database.'],
  ] as const) {
    new Counter({
      name: `gpu_rental_samples_${name}_total`,
      help: `Of this process. ${help}`,
      registers,
      collect() {
        this.reset();
        this.inc(deps.samples[name]);
      },
    });
  }
  watchInventory(registry, deps);
}

/** Of the inventory in memory: what this process answers with. */
function watchInventory(registry: Registry, { inventory }: Deps): void {
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
  byModel('gpu_rental_offers', `${ONE_DATABASE} Machines on offer where nothing runs, by model.`, (slug) =>
    inventory.latest.offers.offersOf(slug),
  );
  byModel('gpu_rental_gpus_free', `${ONE_DATABASE} GPUs of these machines, by model.`, (slug) =>
    inventory.latest.offers.availableGpus(slug),
  );
  new Gauge({
    name: 'gpu_rental_price_sheet_timestamp_seconds',
    help: `${ONE_DATABASE} The day of the price sheet, its first second; 0 without one.`,
    registers,
    collect() {
      this.set(Date.parse(`${inventory.latest.catalogue.marketSnapshot}T00:00:00Z`) / MS_PER_SECOND);
    },
  });
}

/** The limiter, counting what it decides. */
export function countAdmissions(registry: Registry, limiter: RateLimiter): RateLimiter {
  const decisions = new Tally({
    name: 'gpu_rental_rate_limit_decisions_total',
    help: 'Of this process. Requests with a key that the rate limit admitted or refused.',
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
