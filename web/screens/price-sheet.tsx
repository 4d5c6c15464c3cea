import { useComputed } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { micro, rate } from '../figures/money.js';
import { Failure } from '../parts/notice.js';
import { filter } from '../state/filters.js';
import { query, setQuery } from '../state/location.js';
import { type Model, models, readSheet, sheet, sheetError } from '../state/market.js';

/** Every model with its three prices per GPU-hour and how many GPUs are free, as far as the requirements speak of models. */
export function PriceSheet({ onChosen }: { onChosen(): void }) {
  const shown = useComputed(() => [...models.value.values()].filter(fits));
  const chosen = query.value.get('gpu');
  const section = useRef<HTMLElement>(null);
  const isRead = sheet.value !== null;
  useEffect(() => {
    // A shared address may name a model far down the sheet.
    const row = section.current?.querySelector<HTMLElement>('tr.chosen');
    if (row != null) section.current!.scrollTop = row.offsetTop - section.current!.clientHeight / 3;
  }, [isRead]);
  if (sheetError.value !== null && sheet.value === null)
    return (
      <section class="panel padded stack">
        <Failure error={sheetError.value} />
        <div>
          <button type="button" onClick={readSheet}>
            Try again
          </button>
        </div>
      </section>
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard
    <section ref={section} class="panel sheet" aria-label="Price sheet" tabIndex={0}>
      <table class="cards">
        <caption class="hidden">USD per GPU-hour and GPUs that are free now, by model</caption>
        <thead>
          <tr>
            <th scope="col">GPU</th>
            <th scope="col" class="number">
              VRAM, GB
            </th>
            <th scope="col" class="number">
              Free GPUs
            </th>
            <th scope="col" class="number">
              On demand
            </th>
            <th scope="col" class="number">
              Interruptible
            </th>
            <th scope="col" class="number">
              Reserved
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.value.map((model) => (
            <Row
              key={model.slug}
              model={model}
              isChosen={model.slug === chosen}
              onChoose={() => {
                setQuery({ gpu: model.slug === chosen ? null : model.slug });
                if (model.slug !== chosen) onChosen();
              }}
            />
          ))}
        </tbody>
      </table>
      {sheet.value === null ? (
        <p class="empty">Reading the price sheet …</p>
      ) : (
        shown.value.length === 0 && (
          <div class="empty">
            <h3>No model meets these requirements</h3>
            <p>Raise the price, or ask for less video memory.</p>
          </div>
        )
      )}
    </section>
  );
}

function Row({ model, isChosen, onChoose }: { model: Model; isChosen: boolean; onChoose(): void }) {
  const { name, vramGb, availableGpus, pricePerGpuHour } = model;
  return (
    <tr class={`${isChosen ? 'chosen' : ''}${availableGpus === 0 ? ' none' : ''}`}>
      <th scope="row" class="wide">
        <button type="button" aria-pressed={isChosen} onClick={onChoose}>
          {name}
        </button>
        {isChosen && <span class="narrow-only quiet small"> press again for all models</span>}
      </th>
      <td class="number" data-label="VRAM, GB">
        {vramGb}
      </td>
      <td class="number" data-label="Free GPUs">
        {availableGpus}
      </td>
      <td class="number" data-label="On demand">
        {rate(micro(pricePerGpuHour.onDemand))}
      </td>
      <td class="number" data-label="Interruptible">
        {rate(micro(pricePerGpuHour.interruptible))}
      </td>
      <td class="number" data-label="Reserved">
        {rate(micro(pricePerGpuHour.reserved))}
      </td>
    </tr>
  );
}

function fits({ tier, vramGb, pricePerGpuHour }: Model): boolean {
  const { tiers, vramGbMin, pricePerGpuMax } = filter.value;
  if (tiers && !tiers.includes(tier)) return false;
  if (vramGbMin && vramGb < vramGbMin) return false;
  return !(typeof pricePerGpuMax === 'number' && pricePerGpuHour.onDemand > pricePerGpuMax);
}
