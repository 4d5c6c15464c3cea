import type { Registry } from 'prom-client';
import { Durations, type Series } from './durations.js';

const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Request durations by method, route and status. */
export class RequestSeconds {
  readonly #durations: Durations;
  /** Series by route, then status, then method, which avoids joining them into a key. */
  readonly #series = new Map<string, Map<string, Map<string, Series>>>();

  constructor(registry: Registry) {
    this.#durations = new Durations({
      name: 'gpu_rental_http_request_duration_seconds',
      help: "This process only. Time from a request's head to the end of its response, including long-lived event streams and web ports.",
      bounds: BOUNDS,
      registry,
    });
  }

  observe(method: string, route: string, status: string, seconds: number): void {
    const series = this.#series.get(route)?.get(status)?.get(method) ?? this.#add(method, route, status);
    this.#durations.observe(series, seconds);
  }

  #add(method: string, route: string, status: string): Series {
    const byStatus = this.#series.get(route) ?? new Map<string, Map<string, Series>>();
    this.#series.set(route, byStatus);
    const byMethod = byStatus.get(status) ?? new Map<string, Series>();
    byStatus.set(status, byMethod);
    const series = this.#durations.series({ method, route, status });
    byMethod.set(method, series);
    return series;
  }
}
