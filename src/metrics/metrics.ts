import { Registry } from 'prom-client';
import type { DomainEvents } from '../domain/kernel/domain-events.js';
import type { RateLimiter } from '../http/rate-limit/rate-limit.js';
import type { ObserveRequest } from '../http/request-log.js';
import { DatabaseFigures } from './database-figures.js';
import { countPayments, type PaymentCounts } from './payments.js';
import { processMetrics } from './process-metrics.js';
import { countRentals } from './rentals.js';
import { countRequests } from './requests.js';
import { type MetricsServer, serveMetrics } from './serve.js';
import { countAdmissions, type Watched, watchState } from './state.js';

export interface MetricsOptions {
  host: string;
  port: number;
  hasPayments: boolean;
  /** Called when background work fails. */
  onFault(error: unknown): void;
}

/** Metrics that are counted as events occur. */
export interface Metrics {
  registry: Registry;
  observeRequest: ObserveRequest;
  events: DomainEvents;
  /** Counts payments. Null if top-ups are disabled. */
  payments: PaymentCounts | null;
  countAdmissions(limiter: RateLimiter): RateLimiter;
  /** Adds the gauges that are read on each scrape, and starts serving all metrics. */
  serve(watched: Watched): Promise<MetricsServer>;
}

export function createMetrics({ host, port, hasPayments, onFault }: MetricsOptions): Metrics {
  const registry = new Registry();
  const ofProcess = processMetrics();
  return {
    registry,
    observeRequest: countRequests(registry),
    events: countRentals(registry),
    payments: hasPayments ? countPayments(registry) : null,
    countAdmissions: (limiter) => countAdmissions(registry, limiter),
    serve: (watched) => {
      watchState(registry, watched);
      const figures = new DatabaseFigures(registry, watched.deps, onFault);
      const scrape = async () => {
        await figures.refresh();
        const texts = await Promise.all([ofProcess.metrics(), registry.metrics()]);
        return { type: registry.contentType, text: texts.join('') };
      };
      let scraping: ReturnType<typeof scrape> | null = null;
      // Concurrent scrapes share one read.
      return serveMetrics({ host, port }, () => {
        scraping ??= scrape().finally(() => {
          scraping = null;
        });
        return scraping;
      });
    },
  };
}
