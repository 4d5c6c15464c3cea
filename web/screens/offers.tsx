import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { micro, rate } from '../figures/money.js';
import { fixed, number } from '../figures/number.js';
import { visible } from '../figures/visible.js';
import { Icon } from '../parts/icon.js';
import { ModelName } from '../parts/model-name.js';
import { Empty, Failure } from '../parts/notice.js';
import { RowGroups } from '../parts/row-groups.js';
import { deployPath, MACHINE } from '../state/deploy-link.js';
import { query, setQuery } from '../state/location.js';
import { modelName, models, regionName } from '../state/market.js';
import { MODES, modeOf } from '../state/modes.js';
import {
  bandwidthOf,
  compared,
  MAX_COMPARED,
  MAX_OFFERS,
  type Offer,
  type OrderName,
  order,
  useOffers,
} from '../state/offers.js';

import { texts } from '../texts/en/machines.js';

/** Approximate row height until a row has been measured. */
const ROW_PX = 46;

interface Column {
  order: OrderName;
  /** The kind of the column's cells and heading. */
  kind: 'number' | 'place';
  /** If set, the column is only shown if there is room. */
  room?: 'roomy' | 'speed' | 'network';
}

/** The columns, in display order. */
const COLUMNS: readonly Column[] = [
  { order: 'PRICE_PER_GPU', kind: 'number' },
  { order: 'PRICE', kind: 'number' },
  { order: 'VRAM', kind: 'number' },
  { order: 'BANDWIDTH', kind: 'number', room: 'speed' },
  { order: 'RELIABILITY', kind: 'number' },
  { order: 'REGION', kind: 'place' },
  { order: 'CPU', kind: 'number', room: 'roomy' },
  { order: 'MEMORY', kind: 'number', room: 'roomy' },
  { order: 'DISK', kind: 'number', room: 'roomy' },
  { order: 'NETWORK', kind: 'number', room: 'network' },
];

/** Lists the machines that meet the requirements and can be rented now, one per row. */
export function Offers() {
  const { found, error, more } = useOffers();
  const known = found.value;
  // If all of them run containers, there is no point in marking each one.
  const isMixed = known?.offers.some(({ hasAgent }) => !hasAgent) ?? false;
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const watch = new IntersectionObserver(([entry]) => entry?.isIntersecting && more(), { rootMargin: '800px' });
    if (end.current !== null) watch.observe(end.current);
    return () => watch.disconnect();
  }, [known]);
  return (
    <section class="panel offers" aria-label={texts.list}>
      <div class="panel-head">
        <h2>{known === null ? texts.searching : texts.count(known.total)}</h2>
        <div class="row">
          <ModeChoice />
          {known !== null && known.total > 0 && (
            <a class="button primary" href={deployPath(modeParameter())}>
              {texts.rentBest}
            </a>
          )}
        </div>
      </div>
      {error.value !== null && (
        <div class="padded">
          <Failure error={error.value} />
        </div>
      )}
      {known?.total === 0 && (
        <Empty icon="search" title={texts.none}>
          <p>{texts.noneHint}</p>
        </Empty>
      )}
      {known !== null && known.total > 0 && (
        <table class="machines" aria-rowcount={known.total + 1}>
          <caption class="hidden">{texts.caption}</caption>
          <Heads />
          <RowGroups rows={known.offers} total={known.total} rowPx={ROW_PX}>
            {(offer, index) => <Row key={offer.machineId} offer={offer} index={index} isMixed={isMixed} />}
          </RowGroups>
        </table>
      )}
      <div ref={end} />
      {known !== null && known.offers.length >= MAX_OFFERS && known.hasMore && (
        <p class="padded small quiet">{texts.first(MAX_OFFERS)}</p>
      )}
    </section>
  );
}

/**
 * Lets the user choose the pricing mode, which determines the prices shown and is preselected when renting from here.
 */
function ModeChoice() {
  const chosen = modeShown();
  return (
    <fieldset class="segments" aria-label={texts.prices}>
      {MODES.map(({ value, name }, place) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === chosen.value}
          onClick={() => setQuery({ priced: place === 0 ? null : value }, { replace: true })}
        >
          {name}
        </button>
      ))}
    </fieldset>
  );
}

/** Returns the displayed mode as a parameter for the rent page. */
const modeParameter = () => ({ mode: modeShown() === MODES[0] ? null : modeShown().value });

const modeShown = () => modeOf(query.value.get('priced') ?? '');

function Heads() {
  return (
    <thead>
      <tr>
        <th scope="col" class="tick">
          <span class="hidden">{texts.compareHead}</span>
        </th>
        <th scope="col">{texts.machineHead}</th>
        {COLUMNS.map(({ order: by, kind, room = '' }) => {
          const isChosen = order.value === by;
          const isRising = ['PRICE', 'PRICE_PER_GPU', 'REGION'].includes(by);
          const direction = isRising ? ('ascending' as const) : ('descending' as const);
          return (
            <th
              key={by}
              scope="col"
              class={`${kind} ${room}`}
              title={by === 'BANDWIDTH' ? texts.bandwidthMeans : undefined}
              aria-sort={isChosen ? direction : undefined}
            >
              <button type="button" class="sort" onClick={() => setQuery({ sort: by }, { replace: true })}>
                {texts.columns[by]}
                {isChosen && <Icon name={isRising ? 'arrow-up' : 'arrow-down'} />}
              </button>
            </th>
          );
        })}
        <th scope="col" class="act">
          <span class="hidden">{texts.rentHead}</span>
        </th>
      </tr>
    </thead>
  );
}

/** A row with a machine. `index` starts at 1 and includes the header rows. */
function Row({ offer, index, isMixed }: { offer: Offer; index: number; isMixed: boolean }) {
  const { machineId, gpu, numGpus, region, cpu, vcpus, ramGb, diskGb, netMbps, nvlink, reliability } = offer;
  const mode = modeShown();
  const price = offer.pricePerHour[mode.price];
  const isCompared = compared.value.includes(machineId);
  const vram = models.value.get(gpu)?.vramGb;
  const speed = bandwidthOf(offer);
  const cells: Record<OrderName, ComponentChildren> = {
    PRICE_PER_GPU: rate(micro(price / numGpus), mode.decimals),
    PRICE: <strong>{rate(micro(price), mode.decimals)}</strong>,
    VRAM: vram === undefined ? '' : `${vram * numGpus} GB`,
    BANDWIDTH: speed === undefined ? '–' : number(speed),
    RELIABILITY: `${fixed(reliability * 100, 2)} %`,
    REGION: regionName(region),
    CPU: vcpus,
    MEMORY: number(ramGb),
    DISK: number(diskGb),
    NETWORK: number(netMbps.down),
  };
  return (
    <tr class={isCompared ? 'offer chosen' : 'offer'} aria-rowindex={index}>
      <td class="tick">
        <input
          type="checkbox"
          aria-label={texts.compare(machineId)}
          checked={isCompared}
          disabled={!isCompared && compared.value.length >= MAX_COMPARED}
          onChange={() => setQuery({ compare: toggled(machineId).join(',') }, { replace: true })}
        />
      </td>
      <th scope="row" title={`${visible(cpu)}, ${machineId}`}>
        <span class="model">
          {numGpus} × <ModelName name={modelName(gpu)} />
        </span>
        <Marks offer={offer} isMixed={isMixed} />
        <span class="machine-cpu">
          {visible(cpu)} {nvlink && <span class="hidden">{texts.nvlink}</span>}
        </span>
      </th>
      {COLUMNS.map(({ order: by, kind, room = '' }) => (
        <td key={by} class={`${kind} ${room}`} data-label={texts.columns[by]}>
          {cells[by]}
        </td>
      ))}
      <td class="act">
        <a class="button small-button" href={deployPath({ [MACHINE]: machineId, ...modeParameter() })}>
          {texts.rent(machineId)}
        </a>
      </td>
    </tr>
  );
}

function Marks({ offer: { nvlink, demo, hasAgent, fuse, preemptible }, isMixed }: { offer: Offer; isMixed: boolean }) {
  const runs = hasAgent
    ? demo
      ? texts.runs.trial
      : isMixed
        ? texts.runs.real
        : null
    : texts.runs[demo ? 'demo' : 'record'];
  return (
    <>
      {preemptible && (
        <span class="badge warn" title={texts.heldTitle}>
          {texts.held}
        </span>
      )}
      {runs !== null && (
        <span class={`badge${hasAgent ? ' good' : ''}`} title={runs.title}>
          {runs.name}
        </span>
      )}
      {nvlink && <span class="badge">{texts.nvlink}</span>}
      {fuse && <span class="badge">{texts.fuse}</span>}
    </>
  );
}

function toggled(machineId: string): readonly string[] {
  const chosen = compared.value;
  return chosen.includes(machineId) ? chosen.filter((other) => other !== machineId) : [...chosen, machineId];
}
