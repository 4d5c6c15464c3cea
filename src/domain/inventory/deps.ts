import type { InstanceDeps } from '../instances/deps.js';
import type { Inventory } from './inventory.js';

export interface InventoryDeps extends InstanceDeps {
  /** Public data, cached in memory. */
  readonly inventory: Inventory;
}
