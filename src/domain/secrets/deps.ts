import type { LedgerDeps } from '../billing/deps.js';
import type { KernelDeps } from '../kernel/deps.js';

export type SecretDeps = KernelDeps & Pick<LedgerDeps, 'activity'>;
