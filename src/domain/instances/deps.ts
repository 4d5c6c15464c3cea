import type { Template } from '../../database/generated/client/client.js';
import type { SettlingDeps } from '../billing/deps.js';
import type { KernelDeps } from '../kernel/deps.js';
import type { VolumeDeps } from '../volumes/deps.js';
import type { MachineLoader } from './machine-loader.js';
import type { UsageIntervalLoader } from './usage-interval-loader.js';

export interface InstanceDeps extends SettlingDeps, KernelDeps, Pick<VolumeDeps, 'fleet'> {
  /** Provides the catalogue's templates. */
  readonly inventory: { template(slug: string): Promise<Template | null> };
  /** Reads machines for previews, which take no locks. */
  readonly machineLoader: MachineLoader;
  /** Reads pages of usage intervals, in batches across instances. */
  readonly usageIntervalLoader: UsageIntervalLoader;
}
