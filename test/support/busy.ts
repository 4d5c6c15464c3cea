import { availableParallelism, loadavg } from 'node:os';

/** What takes `ms` on an idle machine, while this one is as busy as it is: others' work is not that of who is measured. */
export function whileBusy(ms: number): number {
  return ms * Math.max(1, loadavg()[0]! / availableParallelism());
}
