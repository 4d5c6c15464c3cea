import type { InventoryDeps } from '../inventory/deps.js';
import type { KernelDeps } from '../kernel/deps.js';

export interface MarketDeps extends Pick<KernelDeps, 'db' | 'clock' | 'settings'>, Pick<InventoryDeps, 'inventory'> {}
