import { loadNow } from '../state/account.js';

/** How busy an instance is: "GPU 97 % · CPU 31 %". Nothing where that is not known. */
export function LoadFigure({ id }: { id: string }) {
  const load = loadNow(id);
  if (load === null) return null;
  const busy = load.gpus.flatMap(({ busyPercent }) => busyPercent ?? []);
  const mean = busy.length === 0 ? null : busy.reduce((sum, each) => sum + each, 0) / busy.length;
  const texts = [mean === null ? null : `GPU ${whole(mean)} %`, cpuText(load.cpuPercent)].filter(
    (text) => text !== null,
  );
  return texts.length === 0 ? null : <span class="small quiet figure load-figure">{texts.join(' · ')}</span>;
}

const whole = (percent: number) => percent.toFixed(0);

function cpuText(percent: number | null): string | null {
  return percent === null ? null : `CPU ${whole(percent)} %`;
}
