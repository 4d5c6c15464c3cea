import { type Load, loadNow } from '../state/account.js';

/** Shows an instance's load: "GPU 97 % · CPU 31 %". Empty if it is unknown. */
export function LoadFigure({ id }: { id: string }) {
  const load = loadNow(id);
  if (load === null) return null;
  const shown = [
    ['GPU', busyOf(load)],
    ['CPU', load.cpuPercent],
  ] as const;
  const parts = shown.flatMap(([name, percent]) => (percent === null ? [] : `${name} ${percent.toFixed(0)} %`));
  return parts.length === 0 ? null : <span class="small quiet figure load-figure">{parts.join(' · ')}</span>;
}

/** Returns the mean load of the GPUs in percent, or null if it is unknown. */
export function busyOf({ gpus }: Load): number | null {
  const busy = gpus.flatMap(({ busyPercent }) => busyPercent ?? []);
  return busy.length === 0 ? null : busy.reduce((sum, each) => sum + each, 0) / busy.length;
}
