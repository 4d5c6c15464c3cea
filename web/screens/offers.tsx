import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { micro, rate } from '../figures/money.js';
import { visible } from '../figures/visible.js';
import { Icon } from '../parts/icon.js';
import { ModelName } from '../parts/model-name.js';
import { Empty, Failure } from '../parts/notice.js';
import { query, setQuery } from '../state/location.js';
import { modelName, models, regionName } from '../state/market.js';
import { MODES, modeOf } from '../state/modes.js';
import { compared, MOST_COMPARED, MOST_OFFERS, type Offer, type OrderName, order, useOffers } from '../state/offers.js';

interface Column {
  name: string;
  order: OrderName;
  /** Of the cell, and of what heads it. */
  kind: string;
}

/** In the order of a row. */
const COLUMNS: readonly Column[] = [
  { name: 'USD/GPU-h', order: 'PRICE_PER_GPU', kind: 'number' },
  { name: 'USD/h', order: 'PRICE', kind: 'number' },
  { name: 'VRAM', order: 'VRAM', kind: 'number' },
  { name: 'Reliable', order: 'RELIABILITY', kind: 'number' },
  { name: 'Region', order: 'REGION', kind: 'place' },
  { name: 'vCPUs', order: 'CPU', kind: 'number roomy' },
  { name: 'Memory', order: 'MEMORY', kind: 'number roomy' },
  { name: 'Disk', order: 'DISK', kind: 'number roomy' },
  { name: 'Mbit/s in', order: 'NETWORK', kind: 'number' },
];

/** The machines that meet the requirements and can be rented now, one on a line. */
export function Offers() {
  const { found, error, more } = useOffers();
  const known = found.value;
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const watch = new IntersectionObserver(([entry]) => entry?.isIntersecting && more(), { rootMargin: '800px' });
    if (end.current !== null) watch.observe(end.current);
    return () => watch.disconnect();
  }, [known]);
  return (
    <section class="panel offers" aria-label="Machines that are free">
      <div class="panel-head">
        <h2>
          {known === null ? 'Searching …' : `${known.total} ${known.total === 1 ? 'machine' : 'machines'} to rent now`}
        </h2>
        <div class="row">
          <ModeChoice />
          {known !== null && known.total > 0 && (
            <button type="button" class="primary" onClick={() => setQuery({ deploy: 'best' })}>
              Rent the best that fits
            </button>
          )}
        </div>
      </div>
      {error.value !== null && (
        <div class="padded">
          <Failure error={error.value} />
        </div>
      )}
      {known?.total === 0 && (
        <Empty title="No machine meets these requirements now">
          <p>
            Take out a requirement, or look at machines that an interruptible instance holds. The list updates by
            itself.
          </p>
        </Empty>
      )}
      {known !== null && known.total > 0 && (
        <table class="machines">
          <caption class="hidden">Machines to rent, their prices in USD and what they have</caption>
          <Heads />
          <tbody>
            {known.offers.map((offer) => (
              <Row key={offer.machineId} offer={offer} />
            ))}
          </tbody>
        </table>
      )}
      <div ref={end} />
      {known !== null && known.offers.length >= MOST_OFFERS && known.hasMore && (
        <p class="padded small quiet">These are the first {MOST_OFFERS}. Ask for more, to find the one you want.</p>
      )}
    </section>
  );
}

/** The mode whose prices are shown, and that a machine is rented in from here. */
function ModeChoice() {
  const chosen = modeShown();
  return (
    <fieldset class="segments" aria-label="Prices">
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

const modeShown = () => modeOf(query.value.get('priced') ?? '');

function Heads() {
  return (
    <thead>
      <tr>
        <th scope="col" class="tick">
          <span class="hidden">Compare</span>
        </th>
        <th scope="col">Machine</th>
        {COLUMNS.map(({ name, order: by, kind }) => {
          const isChosen = order.value === by;
          const isRising = ['PRICE', 'PRICE_PER_GPU', 'REGION'].includes(by);
          const direction = isRising ? ('ascending' as const) : ('descending' as const);
          return (
            <th key={by} scope="col" class={kind} aria-sort={isChosen ? direction : undefined}>
              <button
                type="button"
                class="sort"
                onClick={() => setQuery({ sort: by === 'PRICE' ? null : by }, { replace: true })}
              >
                {name}
                {isChosen && <Icon name={isRising ? 'arrow-up' : 'arrow-down'} />}
              </button>
            </th>
          );
        })}
        <th scope="col" class="act">
          <span class="hidden">Rent</span>
        </th>
      </tr>
    </thead>
  );
}

function Row({ offer }: { offer: Offer }) {
  const { machineId, gpu, numGpus, region, cpu, vcpus, ramGb, diskGb, netMbps, nvlink, reliability } = offer;
  const mode = modeShown();
  const price = offer.pricePerHour[mode.price];
  const isCompared = compared.value.includes(machineId);
  const vram = models.value.get(gpu)?.vramGb;
  const cells: Record<OrderName, ComponentChildren> = {
    PRICE_PER_GPU: rate(micro(price / numGpus), mode.decimals),
    PRICE: <strong>{rate(micro(price), mode.decimals)}</strong>,
    VRAM: vram === undefined ? '' : `${vram * numGpus} GB`,
    RELIABILITY: `${(reliability * 100).toFixed(2)} %`,
    REGION: regionName(region),
    CPU: vcpus,
    MEMORY: `${ramGb} GB`,
    DISK: `${diskGb} GB`,
    NETWORK: netMbps.down.toLocaleString('en'),
  };
  return (
    <tr class={isCompared ? 'offer chosen' : 'offer'}>
      <td class="tick">
        <input
          type="checkbox"
          aria-label={`Compare ${machineId}`}
          checked={isCompared}
          disabled={!isCompared && compared.value.length >= MOST_COMPARED}
          onChange={() => setQuery({ compare: toggled(machineId).join(',') }, { replace: true })}
        />
      </td>
      <th scope="row" title={`${visible(cpu)}, ${machineId}`}>
        <span class="model">
          {numGpus} × <ModelName name={modelName(gpu)} />
        </span>
        <Marks offer={offer} />
        <span class="machine-cpu">
          {visible(cpu)} {nvlink && <span class="hidden">NVLink</span>}
        </span>
      </th>
      {COLUMNS.map(({ name, order: by, kind }) => (
        <td key={by} class={kind} data-label={name}>
          {cells[by]}
        </td>
      ))}
      <td class="act">
        <button
          type="button"
          class="small-button"
          onClick={() => setQuery({ deploy: machineId, mode: mode === MODES[0] ? null : mode.value })}
        >
          Rent <span class="hidden">{machineId}</span>
        </button>
      </td>
    </tr>
  );
}

function Marks({ offer: { nvlink, demo, preemptible } }: { offer: Offer }) {
  return (
    <>
      {nvlink && <span class="badge">NVLink</span>}
      {preemptible && (
        <span class="badge warn" title="An interruptible instance holds it, and has to leave">
          held<span class="hidden"> by an interruptible instance</span>
        </span>
      )}
      {demo && (
        <span class="badge" title="A generated machine that does not exist">
          demo<span class="hidden">nstration</span>
        </span>
      )}
    </>
  );
}

function toggled(machineId: string): readonly string[] {
  const chosen = compared.value;
  return chosen.includes(machineId) ? chosen.filter((other) => other !== machineId) : [...chosen, machineId];
}
