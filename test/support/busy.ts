import { availableParallelism, loadavg } from 'node:os';

/** Returns how long something that takes `ms` on an idle machine may take at the current load. */
export function whileBusy(ms: number): number {
  return ms * Math.max(1, loadavg()[0]! / availableParallelism());
}
