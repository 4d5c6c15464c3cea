import { micro, rate } from '../figures/money.js';
import { number } from '../figures/number.js';
import { Dialog } from '../parts/dialog.js';
import { ModelName } from '../parts/model-name.js';
import { Empty } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { chosenGpus, toggledGpu } from '../state/filters.js';
import { setQuery } from '../state/location.js';
import type { Model } from '../state/market.js';
import { MODES, shownMode } from '../state/modes.js';
import { texts } from '../texts/en/price-sheet.js';

interface Props {
  matching: readonly Model[];
  onClose(): void;
}

/** Lists every model that meets the requirements, with its prices and free GPUs. Several can be chosen. */
export function PriceSheet({ matching, onClose }: Props) {
  const classOf = (price: string) => (price === shownMode.value.price ? '' : 'wide-only');
  return (
    <Dialog title={texts.title} onClose={onClose}>
      {matching.length === 0 ? (
        <Empty icon="search" title={texts.none}>
          {texts.noneAdvice}
        </Empty>
      ) : (
        <Table
          class="price-sheet"
          caption={texts.caption}
          columns={[
            [texts.gpu],
            [texts.free, 'number'],
            ...MODES.map(({ name, price }) => [name, 'number', classOf(price), texts.modeInUsd(name)] as const),
          ]}
        >
          {matching.map((model) => (
            <Row key={model.slug} model={model} classOf={classOf} />
          ))}
        </Table>
      )}
      <div class="dialog-end">
        <span class="small quiet">{texts.perGpuHour}</span>
        {chosenGpus.value.length > 0 && (
          <button type="button" onClick={() => setQuery({ gpu: null })}>
            {texts.clear}
          </button>
        )}
        <button type="button" class="primary" onClick={onClose}>
          {texts.done}
        </button>
      </div>
    </Dialog>
  );
}

function Row({ model, classOf }: { model: Model; classOf(price: string): string }) {
  const { slug, name, vramGb, availableGpus, pricePerGpuHour } = model;
  const isChosen = chosenGpus.value.includes(slug);
  return (
    <tr class={`${isChosen ? 'chosen' : ''} ${availableGpus === 0 ? 'none' : ''}`}>
      <th scope="row">
        <label class="check">
          <input type="checkbox" checked={isChosen} onChange={() => setQuery({ gpu: toggledGpu(slug) })} />
          <span>
            <ModelName name={name} />
            {/* Some names include it. */}
            {!name.endsWith('GB') && <span class="quiet small"> {vramGb} GB</span>}
          </span>
        </label>
      </th>
      <td class="number" data-label={texts.freeGpus}>
        {number(availableGpus)}
      </td>
      {MODES.map(({ price }) => (
        <td key={price} class={`number ${classOf(price)}`}>
          {rate(micro(pricePerGpuHour[price]))}
        </td>
      ))}
    </tr>
  );
}
