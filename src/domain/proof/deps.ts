import type { KernelDeps } from '../kernel/deps.js';

export type ProofDeps = KernelDeps;
