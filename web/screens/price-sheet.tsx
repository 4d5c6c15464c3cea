import { useComputed } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { micro, rate } from '../figures/money.js';
import { MatchingGpus } from '../graph/documents.js';
import { Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { filter, machineFilter } from '../state/filters.js';
import { query, setQuery } from '../state/location.js';
import { type Model, marketChanges, models, readSheet, sheet, sheetError } from '../state/market.js';
import { useRead } from '../state/read.js';

/** Every model that meets the requirements with its three prices per GPU-hour, and how many of its free GPUs meet them. */
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
      <Table
        isCards
        caption="USD per GPU-hour and GPUs that are free now and meet the requirements, by model"
        columns={[
          ['GPU'],
          ['VRAM, GB', 'number'],
          ['Free GPUs', 'number'],
          ['On demand', 'number'],
          ['Interruptible', 'number'],
          ['Reserved', 'number'],
        ]}
      >
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
      </Table>
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
