import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { micro, rate } from '../figures/money.js';
import { visible } from '../figures/visible.js';
import { Icon } from '../parts/icon.js';
import { ModelName } from '../parts/model-name.js';
import { Empty, Failure } from '../parts/notice.js';
import { query, setQuery } from '../state/location.js';
import { modelName, models, regionName } from '../state/market.js';
import { MODES, modeOf } from '../state/modes.js';
import { compared, MOST_COMPARED, MOST_OFFERS, type Offer, type OrderName, order, useOffers } from '../state/offers.js';

/** Rows that are drawn or left out together, and how far from the window they are drawn. */
const GROUP = 50;
const NEAR = '1200px';
/** About, before they were seen. */
const ROW_PX = 46;

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
  { name: 'Memory, GB', order: 'MEMORY', kind: 'number roomy' },
  { name: 'Disk, GB', order: 'DISK', kind: 'number roomy' },
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
        <table class="machines" aria-rowcount={known.total + 1}>
          <caption class="hidden">Machines to rent, their prices in USD and what they have</caption>
          <Heads />
          {Array.from({ length: Math.ceil(known.offers.length / GROUP) }, (_, group) => (
            <Rows key={group} from={group * GROUP} offers={known.offers.slice(group * GROUP, (group + 1) * GROUP)} />
          ))}
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

/** Rows that are drawn while they are near what is seen; else a space as high as they were, so that thousands cost nothing. */
function Rows({ offers, from }: { offers: readonly Offer[]; from: number }) {
  const place = useRef<HTMLTableSectionElement>(null);
  const [isNear, setIsNear] = useState(from === 0);
  const height = useRef(0);
  useEffect(() => {
    const watch = new IntersectionObserver(
      ([entry]) => {
        if (entry === undefined) return;
        if (!entry.isIntersecting) height.current = entry.boundingClientRect.height;
        setIsNear(entry.isIntersecting);
      },
      { rootMargin: NEAR },
    );
    watch.observe(place.current!);
    return () => watch.disconnect();
  }, []);
  return (
    <tbody ref={place} style={isNear ? {} : { height: `${height.current || offers.length * ROW_PX}px` }}>
      {isNear && offers.map((offer, at) => <Row key={offer.machineId} offer={offer} index={from + at + 2} />)}
    </tbody>
  );
}

/** `index` counts from 1 with the heads. */
function Row({ offer, index }: { offer: Offer; index: number }) {
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
    MEMORY: ramGb.toLocaleString('en'),
    DISK: diskGb.toLocaleString('en'),
    NETWORK: netMbps.down.toLocaleString('en'),
  };
  return (
    <tr class={isCompared ? 'offer chosen' : 'offer'} aria-rowindex={index}>
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
      {nvlink && <span class="badge">NVLink</span>}
    </>
  );
}

function toggled(machineId: string): readonly string[] {
  const chosen = compared.value;
  return chosen.includes(machineId) ? chosen.filter((other) => other !== machineId) : [...chosen, machineId];
}
