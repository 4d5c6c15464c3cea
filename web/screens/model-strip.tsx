import { useEffect, useRef } from 'preact/hooks';
import { loneRate, micro } from '../figures/money.js';
import { number } from '../figures/number.js';
import { Icon } from '../parts/icon.js';
import { ModelName } from '../parts/model-name.js';
import { changeOf, Sparkline } from '../parts/sparkline.js';
import { chosenGpus, toggledGpu } from '../state/filters.js';
import { setQuery } from '../state/location.js';
import { type Model, models } from '../state/market.js';
import { shownMode } from '../state/modes.js';
import { MAX_POPULAR, popularModels } from '../state/popular-models.js';
import { useTrends } from '../state/trends.js';
import { texts } from '../texts/en/machines.js';

interface Props {
  /** The models that meet the requirements, or null while unknown. */
  matching: readonly Model[] | null;
  onShowAll(): void;
}

/** Shows the models that most users want, with their prices and free GPUs. Each one can be chosen. */
export function ModelStrip({ matching, onShowAll }: Props) {
  const trends = useTrends();
  const strip = useRef<HTMLUListElement>(null);
  const isKnown = matching !== null;
  // On a phone, the strip scrolls, and the chosen model may be out of view.
  useEffect(() => {
    const chosen = strip.current?.querySelector<HTMLElement>('li:has([aria-pressed="true"])');
    const first = strip.current?.querySelector('li');
    if (chosen != null && first != null) strip.current!.scrollTo({ left: chosen.offsetLeft - first.offsetLeft });
  }, [isKnown, chosenGpus.value.join()]);
  return (
    <ul ref={strip} class="model-strip" aria-label={texts.popular}>
      {matching !== null &&
        shownModels(matching).map((model) => (
          <li key={model.slug}>
            <Card model={model} trend={trends.get(model.slug) ?? []} />
          </li>
        ))}
      {matching !== null && (
        <li>
          <button type="button" class="panel all-models" onClick={onShowAll}>
            <strong>{texts.allModels(models.value.size)}</strong>
            <span class="small quiet">{texts.allModelsHint}</span>
            <Icon name="chevron-right" />
          </button>
        </li>
      )}
    </ul>
  );
}

function Card({ model, trend }: { model: Model; trend: readonly number[] }) {
  const { slug, name, vramGb, availableGpus, pricePerGpuHour } = model;
  return (
    <button
      type="button"
      class={`panel ${availableGpus === 0 ? 'none' : ''}`}
      aria-pressed={chosenGpus.value.includes(slug)}
      onClick={() => setQuery({ gpu: toggledGpu(slug) })}
    >
      <strong>
        <ModelName name={name} />
      </strong>
      <span class="figure">
        {loneRate(micro(pricePerGpuHour[shownMode.value.price]))} <span class="unit">{texts.perGpu}</span>
      </span>
      <span class="small quiet">{texts.freeOf(vramGb, number(availableGpus))}</span>
      {trend.length > 1 && (
        <span class="card-trend" title={texts.trendOf(changeOf(trend) ?? '', trend.length)}>
          <Sparkline values={trend} />
        </span>
      )}
    </button>
  );
}

/** Returns the chosen models and the popular ones. */
function shownModels(matching: readonly Model[]): readonly Model[] {
  const first = popularModels(matching);
  const chosen = matching.filter((model) => chosenGpus.value.includes(model.slug) && !first.includes(model));
  return [...chosen, ...first].slice(0, Math.max(MAX_POPULAR, chosen.length));
}
