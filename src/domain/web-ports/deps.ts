import type { SettlingDeps } from '../billing/deps.js';
import type { KernelDeps } from '../kernel/deps.js';
import type { Visits } from './visits.js';

export interface WebPortDeps extends SettlingDeps, KernelDeps {
  /** Controls visitors' access to instances' web ports. */
  readonly visits: Visits;
}
