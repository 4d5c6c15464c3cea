import type { KernelDeps } from '../kernel/deps.js';
import type { LoadWatch } from './load-watch.js';
import type { LoadLoader, MetricLoader } from './metric-points.js';
import type { SampleBuffer } from './sample-buffer.js';

export interface SampleDeps extends Pick<KernelDeps, 'db' | 'clock'> {
  /** Reads the current load of instances, in batches. */
  readonly loadLoader: LoadLoader;
  /** Notifies streams when the load of an instance changes. */
  readonly loadWatch: LoadWatch;
  /** Reads past measurements of instances, in batches. */
  readonly metricLoader: MetricLoader;
  /** Buffers the measurements of host agents before they are written to the database. */
  readonly samples: SampleBuffer;
}
