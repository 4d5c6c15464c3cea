import type { KernelDeps } from '../kernel/deps.js';
import type { LoadWatch } from './load-watch.js';
import type { LoadLoader, MetricLoader } from './metric-points.js';
import type { SampleBuffer } from './sample-buffer.js';

export interface SampleDeps extends Pick<KernelDeps, 'db' | 'clock'> {
  /** Reads instances' current loads, in batches. */
  readonly loadLoader: LoadLoader;
  /** Notifies streams when an instance's load changes. */
  readonly loadWatch: LoadWatch;
  /** Reads instances' past measurements, in batches. */
  readonly metricLoader: MetricLoader;
  /** Buffers measurements from host agents until they are written to the database. */
  readonly samples: SampleBuffer;
}
