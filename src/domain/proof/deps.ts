import type { SettlingDeps } from '../billing/deps.js';
import type { KernelDeps } from '../kernel/deps.js';

export type ProofDeps = KernelDeps;
/** Dependencies of statements and invoices, which settle the account first. */
export type StatedDeps = ProofDeps & SettlingDeps;
