import { number } from '../figures/number.js';
import { FreeByRegion } from '../graph/documents.js';
import { marketChanges, models, useSheet } from '../state/market.js';
import { useRead } from '../state/read.js';
import { texts } from '../texts/en/first-sight.js';

/** The machines that are free now. */
export interface FreeNow {
  /** Number of free GPUs by region. */
  regions: ReadonlyMap<string, number>;
  machines: number;
}

/** Reads the machines that are free now. They are kept current on a screen that follows the market. */
export function useFreeNow(): FreeNow {
  useSheet();
  const read = useRead(FreeByRegion, {}, marketChanges).data.value?.offerSearch;
  return {
    regions: new Map(read?.regions.map(({ region, gpus }) => [region, gpus])),
    machines: read?.totalCount ?? 0,
  };
}

/** Shows how many GPUs, machines and regions are free. */
export function FreeFigures({ of: { regions, machines } }: { of: FreeNow }) {
  const gpus = [...models.value.values()].reduce((sum, { availableGpus }) => sum + availableGpus, 0);
  const figures: readonly (readonly [figure: number, text: string])[] = [
    [gpus, texts.gpusFree],
    [machines, texts.machines],
    [regions.size, texts.regions],
  ];
  return (
    <dl class="hero-figures" aria-label={texts.freeNow}>
      {figures.map(([figure, text]) => (
        <div key={text}>
          <dt>{text}</dt>
          <dd>{figure === 0 ? '–' : number(figure)}</dd>
        </div>
      ))}
    </dl>
  );
}
