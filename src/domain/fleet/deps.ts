import type { SettlingDeps } from '../billing/deps.js';
import type { KernelDeps } from '../kernel/deps.js';
import type { SampleDeps } from '../samples/deps.js';
import type { Fleet } from './fleet.js';

export interface FleetDeps extends SettlingDeps, KernelDeps, Pick<SampleDeps, 'samples'> {
  /** State of the host agents connected to this process. */
  readonly fleet: Fleet;
}
