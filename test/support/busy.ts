import { availableParallelism, loadavg } from 'node:os';

/** Returns the time that takes `ms` on an idle machine, at the current load: other programs' work doesn't count. */
export function whileBusy(ms: number): number {
  return ms * Math.max(1, loadavg()[0]! / availableParallelism());
}
