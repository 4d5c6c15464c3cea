import { useComputed } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { micro, rate } from '../figures/money.js';
import { number } from '../figures/number.js';
import { MatchingGpus } from '../graph/documents.js';
import { ModelName } from '../parts/model-name.js';
import { Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { chosenGpus, filter, machineFilter, toggledGpu, typedModel } from '../state/filters.js';
import { query, setQuery } from '../state/location.js';
import { type Model, marketChanges, models, readSheet, sheet, sheetError } from '../state/market.js';
import { matchesModel } from '../state/model-search.js';
import { type Mode, modeOf } from '../state/modes.js';
import { useRead } from '../state/read.js';
import { texts } from '../texts/en/price-sheet.js';

/**
 * Lists every model that meets the requirements, with its three prices per GPU-hour and its number of matching free
 * GPUs.
 */
export function PriceSheet({ onChosen }: { onChosen(): void }) {
  const matching = useRead(
    MatchingGpus,
    machineFilter.value === null ? null : { filter: machineFilter.value },
    marketChanges,
  );
  const shown = useComputed(() => {
    const all = [...models.value.values()].filter(fits);
    const counts = matching.data.value?.offerSearch.models;
    if (machineFilter.value === null || counts === undefined) return all;
    const free = new Map(counts.map(({ gpu, gpus }) => [gpu, gpus]));
    return all.map((model) => ({ ...model, availableGpus: free.get(model.slug) ?? 0 }));
  });
  const chosen = chosenGpus.value;
  const mode = modeOf(query.value.get('priced') ?? '');
  const section = useRef<HTMLElement>(null);
  const isRead = sheet.value !== null;
  useEffect(() => {
    // A shared link may name a model far down the sheet.
    const frame = section.current;
    const row = frame?.querySelector<HTMLElement>('tr.chosen');
    if (frame != null && row != null) frame.scrollTop = row.offsetTop - frame.clientHeight / 3;
  }, [isRead]);
  if (sheetError.value !== null && sheet.value === null)
    return (
      <section class="panel padded stack">
        <Failure error={sheetError.value} />
        <div>
          <button type="button" onClick={readSheet}>
            {texts.again}
          </button>
        </div>
      </section>
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard
    <section ref={section} id="prices" class="panel sheet" aria-labelledby="prices-name" tabIndex={0}>
      <div class="panel-head">
        <h2 id="prices-name">{texts.title}</h2>
        <p class="small quiet">{texts.perGpuHour}</p>
      </div>
      <Table caption={texts.caption} columns={[[texts.gpu], [texts.free, 'number'], [mode.name, 'number']]}>
        {shown.value.map((model) => (
          <Row
            key={model.slug}
            model={model}
            mode={mode}
            isChosen={chosen.includes(model.slug)}
            onChoose={() => {
              setQuery({ gpu: toggledGpu(model.slug) });
              if (chosen.length === 0) onChosen();
            }}
          />
        ))}
      </Table>
      {sheet.value === null ? (
        <p class="empty">{texts.reading}</p>
      ) : (
        shown.value.length === 0 && (
          <div class="empty">
            <h3>{texts.none}</h3>
            <p>{texts.noneAdvice}</p>
          </div>
        )
      )}
    </section>
  );
}

interface RowProps {
  model: Model;
  mode: Mode;
  isChosen: boolean;
  onChoose(): void;
}

function Row({ model, mode: { price, name: modeName, decimals }, isChosen, onChoose }: RowProps) {
  const { name, vramGb, availableGpus, pricePerGpuHour } = model;
  return (
    <tr class={`${isChosen ? 'chosen' : ''}${availableGpus === 0 ? ' none' : ''}`}>
      <th scope="row">
        <button type="button" aria-pressed={isChosen} onClick={onChoose}>
          <ModelName name={name} />
        </button>
        {/* Some names include it. */}
        {!name.endsWith('GB') && <span class="quiet vram"> {vramGb} GB</span>}
      </th>
      <td class="number" data-label={texts.freeGpus}>
        {number(availableGpus)}
      </td>
      <td class="number" data-label={texts.modeInUsd(modeName)}>
        {rate(micro(pricePerGpuHour[price]), decimals)}
      </td>
    </tr>
  );
}

function fits(model: Model): boolean {
  const { slug, tier, vramGb, pricePerGpuHour } = model;
  if (!chosenGpus.value.includes(slug) && !matchesModel(typedModel.value, model)) return false;
  const { tiers, vramGbMin, pricePerGpuMax } = filter.value;
  if (tiers && !tiers.includes(tier)) return false;
  if (vramGbMin && vramGb < vramGbMin) return false;
  return !(typeof pricePerGpuMax === 'number' && pricePerGpuHour.onDemand > pricePerGpuMax);
}
