import { computed } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { percent } from '../figures/number.js';
import { type Instance, type Load, loadNow } from '../state/account.js';
import { texts } from '../texts/en/instances.js';

/** The cell with an instance's load. It is drawn again only if the load differs by a percent. */
export function LoadCell({ instance: { id, runtime } }: { instance: Instance }) {
  const text = useMemo(() => computed(() => textOf(loadNow(id))), [id]).value;
  // The first figure is drawn, and the others appear on hover.
  const [first = ''] = text.split(' · ');
  const name = first.slice(0, 3);
  const figure = first.slice(4);
  return (
    <td class="i-load">
      {text === '' ? (
        <span class="quiet" title={runtime === null ? texts.noAgent : texts.noLoad}>
          –
        </span>
      ) : (
        <span class="load-meter figure" title={text}>
          <span class="load-bar" aria-hidden="true">
            <span style={{ width: `${Math.min(100, Number.parseInt(figure, 10))}%` }} />
          </span>
          <span class={name === 'GPU' ? 'hidden' : 'quiet small'}>{name} </span>
          {figure}
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
  return figures.flatMap(([name, value]) => (value === null ? [] : `${name} ${percent(value)}`)).join(' · ');
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
