import { computed, untracked } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { percent } from '../figures/number.js';
import { type Instance, type Load, loadNow, readLoads } from '../state/account.js';
import { texts } from '../texts/en/instances.js';

/** Reads the current loads when a list appears. Later ones come with the account's events. */
export const useLoads = () => useEffect(() => void readLoads().catch(() => undefined), []);

/**
 * The cell with an instance's load, which is empty until a figure arrives. It is drawn again only if the load differs
 * by a percent.
 */
export function LoadCell({ instance: { id, status, runtime } }: { instance: Instance }) {
  const text = useMemo(() => computed(() => textOf(loadNow(id))), [id]).value;
  // The first figure is drawn, and the others appear on hover.
  const [first] = untracked(() => figuresOf(loadNow(id)));
  return (
    <td class="i-load">
      {first === undefined ? (
        status === 'RUNNING' &&
        runtime === null && (
          <span class="load-unknown quiet" title={texts.noAgent}>
            –
          </span>
        )
      ) : (
        <span class="load-meter figure" title={text}>
          <span class="load-bar" aria-hidden="true">
            <span style={{ width: `${Math.min(100, Math.round(first.share))}%` }} />
          </span>
          <span class={first.name === 'GPU' ? 'hidden' : 'quiet small'}>{first.name} </span>
          {percent(first.share)}
        </span>
      )}
    </td>
  );
}

/** Returns the known figures of a load in percent. */
function figuresOf(load: Load | null): { name: string; share: number }[] {
  if (load === null) return [];
  const figures = [
    ['GPU', busyOf(load)],
    ['CPU', load.cpuPercent],
  ] as const;
  return figures.flatMap(([name, share]) => (share === null ? [] : { name, share }));
}

/** Describes a load: "GPU 97% · CPU 31%". Empty if it is unknown. */
const textOf = (load: Load | null): string =>
  figuresOf(load)
    .map(({ name, share }) => `${name} ${percent(share)}`)
    .join(' · ');

/** Returns the percentage that an instance's row shows: that of its GPUs if it is known, or else of its CPUs. */
export const shownLoad = (id: string): number | null => figuresOf(loadNow(id))[0]?.share ?? null;

/** Returns the mean load of the GPUs in percent, or null if it is unknown. */
function busyOf({ gpus }: Load): number | null {
  const busy = gpus.flatMap(({ busyPercent }) => busyPercent ?? []);
  return busy.length === 0 ? null : busy.reduce((sum, each) => sum + each, 0) / busy.length;
}
