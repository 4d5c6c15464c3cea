import { computed } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { percent } from '../figures/number.js';
import { type Instance, type Load, loadNow } from '../state/account.js';
import { texts } from '../texts/en/instances.js';

/** The cell with an instance's load. It is drawn again only if the load differs by a percent. */
export function LoadCell({ instance: { id, runtime } }: { instance: Instance }) {
  // The first figure is drawn, and the others appear on hover.
  const text = useMemo(() => computed(() => textOf(loadNow(id))), [id]).value;
  const [, name = '', digits = ''] = /^(\w+) (\d+)/.exec(text) ?? [];
  const share = Number(digits);
  return (
    <td class="i-load">
      {text === '' ? (
        <span class="quiet" title={runtime === null ? texts.noAgent : texts.noLoad}>
          –
        </span>
      ) : (
        <span class="load-meter figure" title={text}>
          <span class="load-bar" aria-hidden="true">
            <span style={{ width: `${Math.min(100, share)}%` }} />
          </span>
          <span class={name === 'GPU' ? 'hidden' : 'quiet small'}>{name} </span>
          {percent(share)}
        </span>
      )}
    </td>
  );
}

/** Describes a load: "GPU 97% · CPU 31%". Empty if it is unknown. */
function textOf(load: Load | null): string {
  if (load === null) return '';
  const figures = [
    ['GPU', busyOf(load)],
    ['CPU', load.cpuPercent],
  ] as const;
  return figures.flatMap(([name, share]) => (share === null ? [] : `${name} ${percent(share)}`)).join(' · ');
}

/** Returns the percentage that an instance's row shows: that of its GPUs if it is known, or else of its CPUs. */
export function shownLoad(id: string): number | null {
  const load = loadNow(id);
  return load && (busyOf(load) ?? load.cpuPercent);
}

/** Returns the mean load of the GPUs in percent, or null if it is unknown. */
export function busyOf({ gpus }: Load): number | null {
  const busy = gpus.flatMap(({ busyPercent }) => busyPercent ?? []);
  return busy.length === 0 ? null : busy.reduce((sum, each) => sum + each, 0) / busy.length;
}
