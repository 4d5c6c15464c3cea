import type { Histogram, Registry } from 'prom-client';

/** Upper bounds, in seconds. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface Series {
  labels: { method: string; route: string; status: string };
  /** Observations up to each bound and above the one before, and at last those above all. */
  counts: number[];
  sum: number;
}

/**
 * The durations of requests. The library's own histogram finds a series by joining its labels, which takes as long as a twentieth of a
 * kept public answer; here the parts are looked up as they are.
 */
export class RequestSeconds {
  readonly name = 'gpu_rental_http_request_duration_seconds';
  readonly help =
    'Of this process. Requests from their head to the end of their answer, event streams and web ports too, which last.';
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  /** By route, then status and method. */
  readonly #series = new Map<string, Map<string, Map<string, Series>>>();

  constructor(registry: Registry) {
    // All that the registry asks of a metric is `get`.
    registry.registerMetric(this as unknown as Histogram);
  }

  observe(method: string, route: string, status: string, seconds: number): void {
    const series = this.#series.get(route)?.get(status)?.get(method) ?? this.#add(method, route, status);
    let place = 0;
    while (place < BOUNDS.length && seconds > BOUNDS[place]!) place += 1;
    series.counts[place]! += 1;
    series.sum += seconds;
  }

  async get() {
    const { name, help, type, aggregator } = this;
    const values = [...this.#series.values()]
      .flatMap((byStatus) => [...byStatus.values()])
      .flatMap((byMethod) => [...byMethod.values()])
      .flatMap(samplesOf);
    return { name, help, type, aggregator, values };

    function samplesOf({ labels, counts, sum }: Series) {
      let count = 0;
      const buckets = counts.map((each, place) => {
        count += each;
        return { metricName: `${name}_bucket`, labels: { le: BOUNDS[place] ?? '+Inf', ...labels }, value: count };
      });
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: count },
      ];
    }
  }

  #add(method: string, route: string, status: string): Series {
    const byStatus = this.#series.get(route) ?? new Map<string, Map<string, Series>>();
    this.#series.set(route, byStatus);
    const byMethod = byStatus.get(status) ?? new Map<string, Series>();
    byStatus.set(status, byMethod);
    const series = {
      labels: { method, route, status },
      counts: new Array<number>(BOUNDS.length + 1).fill(0),
      sum: 0,
    };
    byMethod.set(method, series);
    return series;
  }
}
