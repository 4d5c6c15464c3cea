import { useComputed } from '@preact/signals';
import { micro, rate } from '../figures/money.js';
import { number } from '../figures/number.js';
import { ModelName } from '../parts/model-name.js';
import { withQuery } from '../state/location.js';
import { mostFree, sheet } from '../state/market.js';
import { isNarrow } from '../state/offers.js';
import { texts } from '../texts/en/machines.js';

/** The classes in order of demand, each with its number of models to show. */
const POPULAR = [
  ['FLAGSHIP', 3],
  ['CONSUMER_FLAGSHIP', 2],
  ['DATACENTER', 1],
] as const;

/** Shows popular models while none is chosen, which are those with the most free GPUs in each class. */
export function PopularModels() {
  const shown = useComputed(() => POPULAR.flatMap(([tier, most]) => mostFree(tier).slice(0, most))).value;
  if (isNarrow.value || (shown.length === 0 && sheet.value !== null)) return null;
  return (
    <ul class="popular" aria-label={texts.popular}>
      {shown.map(({ slug, name, vramGb, availableGpus, pricePerGpuHour }) => (
        <li key={slug}>
          <a class="panel" href={withQuery({ gpu: slug })}>
            <strong>
              <ModelName name={name} />
            </strong>
            <span class="small quiet">{texts.popularHint(vramGb, number(availableGpus))}</span>
            <span class="figure">{texts.fromPrice(rate(micro(pricePerGpuHour.onDemand)))}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}
