import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { equalOffers } from '../figures/equal-offers.js';
import { loneRate, micro } from '../figures/money.js';
import { fixed, number } from '../figures/number.js';
import { timeToSecond } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { Rate } from '../parts/amount.js';
import { Icon } from '../parts/icon.js';
import { ModelName } from '../parts/model-name.js';
import { Empty, Failure } from '../parts/notice.js';
import { RowGroups } from '../parts/row-groups.js';
import { deployPath, MACHINE } from '../state/deploy-link.js';
import { FILTER_NAMES } from '../state/filters.js';
import { query, setQuery, withQuery } from '../state/location.js';
import { modelName, regionName } from '../state/market.js';
import { MODES, modeParameter, shownMode } from '../state/modes.js';
import {
  compared,
  type Found,
  MAX_COMPARED,
  MAX_OFFERS,
  type Offer,
  ORDERS,
  type OrderName,
  order,
  scope,
  toggleCompared,
  useOffers,
  vramOf,
} from '../state/offers.js';
import { texts } from '../texts/en/machines.js';
import { areFiltersOpen } from './filters.js';

/** Approximate row height until a row has been measured. */
const ROW_PX = 45;
/** Orders by figures in which equal offers differ, so that each offer needs its own row. */
const BY_HARDWARE: readonly string[] = ['RELIABILITY', 'CPU', 'MEMORY', 'DISK', 'NETWORK'] satisfies OrderName[];

/** Lists the machines that meet the requirements and can be rented now. Equal ones share a row. */
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
    <>
      <div class={`offers-head ${known === null ? 'unknown' : ''}`}>
        <div class="offers-count">
          <h2 title={known === null ? undefined : texts.asOf(timeToSecond(known.at))}>
            {known === null ? texts.searching : texts.count(known.total)}
          </h2>
          {known !== null && isDemo(known) && (
            <span class="badge off" title={texts.scope.demo}>
              {texts.demo}
            </span>
          )}
          <button
            type="button"
            class="plain small"
            aria-expanded={areFiltersOpen.value}
            onClick={() => {
              areFiltersOpen.value = !areFiltersOpen.value;
            }}
          >
            <span>
              {shownMode.value !== MODES[0] && `${shownMode.value.name} · `}
              {orderName()}
            </span>
            <Icon name={areFiltersOpen.value ? 'chevron-up' : 'chevron-down'} />
          </button>
          <Remarks found={known} />
        </div>
        <div class="offers-choices">
          <SortChoice />
          <ModeChoice />
          {FILTER_NAMES.some((name) => query.value.has(name)) && known?.total !== 0 && (
            <DeployCheapest of={known?.cheapest ?? null} />
          )}
        </div>
      </div>
      {error.value !== null && (
        <div class="padded">
          <Failure error={error.value} />
        </div>
      )}
      {known?.total === 0 && <NoOffers found={known} />}
      {known !== null && known.total > 0 && <Table found={known} />}
      <div ref={end} />
      {known !== null && known.offers.length >= MAX_OFFERS && known.hasMore && (
        <p class="padded small quiet">{texts.first(MAX_OFFERS)}</p>
      )}
    </>
  );
}

/** Rents the cheapest matching machine. Keeps the button's place while its price is unknown. */
const DeployCheapest = ({ of: prices }: { of: Offer['pricePerHour'] | null }) => (
  <a class="button primary" title={texts.cheapestHint} href={deployPath(modeParameter())}>
    {texts.deployCheapest(loneRate(micro(prices?.[shownMode.value.price] ?? 0)))}
  </a>
);

/** Says whether the listed machines run containers, and shows or hides those that don't. */
function Remarks({ found }: { found: Found | null }) {
  const remark = found === null ? null : scopeOf(found);
  return remark === null ? null : <p class="small quiet">{remark}</p>;
}

/** Whether no machine runs containers, and all of those read so far are fictitious. */
const isDemo = ({ offers }: Found): boolean =>
  scope.value === 'agentless' && offers.length > 0 && offers.every(({ demo }) => demo);

function scopeOf(found: Found): ComponentChildren {
  const { agentless, total } = found;
  if (agentless === 0) return null;
  if (scope.value === 'agentless') return isDemo(found) ? null : texts.scope.agentless;
  if (scope.value === 'all')
    return (
      <>
        {texts.scope.all(agentless)} · <a href={withQuery({ agentless: null })}>{texts.scope.hide}</a>
      </>
    );
  return total === 0 ? null : <a href={withQuery({ agentless: '1' })}>{texts.scope.show(agentless)}</a>;
}

function NoOffers({ found: { agentless } }: { found: Found }) {
  return (
    <Empty icon="search" title={texts.none}>
      <p>{texts.noneHint}</p>
      {agentless > 0 ? (
        <a class="button" href={withQuery({ agentless: '1' })}>
          {texts.scope.show(agentless)}
        </a>
      ) : (
        <a class="button" href={withQuery(Object.fromEntries(FILTER_NAMES.map((name) => [name, null])))}>
          {texts.clear}
        </a>
      )}
    </Empty>
  );
}

const isOrder = (name: string): name is OrderName => Object.hasOwn(ORDERS, name);
const orderName = (): string => (isOrder(order.value) ? texts.orders[order.value] : texts.recommended);

function SortChoice() {
  const value = isOrder(order.value) ? order.value : '';
  return (
    <select
      aria-label={texts.sort}
      title={value === '' ? texts.recommendedHint : undefined}
      value={value}
      onChange={({ currentTarget }) => setQuery({ sort: currentTarget.value }, { replace: true })}
    >
      <option value="">{texts.recommended}</option>
      {(Object.keys(ORDERS) as OrderName[]).map((name) => (
        <option key={name} value={name}>
          {texts.orders[name]}
        </option>
      ))}
    </select>
  );
}

/**
 * Lets the user choose the pricing mode, which determines the prices shown and is preselected when renting from here.
 */
function ModeChoice() {
  return (
    <fieldset class="segments" aria-label={texts.prices}>
      {MODES.map((mode, place) => (
        <button
          key={mode.value}
          type="button"
          aria-pressed={mode === shownMode.value}
          onClick={() => setQuery({ priced: place === 0 ? null : mode.value }, { replace: true })}
        >
          {mode.name}
        </button>
      ))}
    </fieldset>
  );
}

interface ListedRow {
  offer: Offer;
  /** The number of equal offers, in the row of the first of several. */
  equal?: { count: number; isOpen: boolean; onToggle(): void };
  /** Whether the row belongs to the one above. */
  isMember?: boolean;
}

function Table({ found: { offers, total } }: { found: Found }) {
  const open = useSignal<ReadonlySet<string>>(new Set());
  const rows = BY_HARDWARE.includes(order.value)
    ? offers.map((offer): ListedRow => ({ offer }))
    : groupedRows(offers, open);
  const shownTotal = total - offers.length + rows.length;
  // If all of them run containers, or none does, there is no point in marking each one.
  const isMixed = new Set(offers.map(({ hasAgent, demo }) => `${hasAgent} ${demo}`)).size > 1;
  return (
    <table class="machines" aria-rowcount={shownTotal + 1}>
      <caption class="hidden">{texts.caption}</caption>
      <thead>
        <tr>
          <th scope="col" class="tick">
            <span class="hidden">{texts.compareHead}</span>
          </th>
          <th scope="col">{texts.machineHead}</th>
          <SortHead of="PRICE" isNumber />
          <SortHead of="PRICE_PER_GPU" isNumber />
          <th scope="col" class="hardware">
            {texts.hardwareHead}
          </th>
          <SortHead of="REGION" />
          <SortHead of="RELIABILITY" isNumber />
          <th scope="col" class="act">
            <span class="hidden">{texts.deployHead}</span>
          </th>
        </tr>
      </thead>
      <RowGroups rows={rows} total={shownTotal} rowPx={ROW_PX}>
        {(row, index) => <Row key={row.offer.machineId} {...row} index={index} isMixed={isMixed} />}
      </RowGroups>
    </table>
  );
}

/** Returns one row for equal offers, followed by those that the user has opened or selected. */
function groupedRows(offers: readonly Offer[], open: Signal<ReadonlySet<string>>): ListedRow[] {
  return equalOffers(offers).flatMap(({ key, offers: [first, ...others] }): ListedRow[] => {
    if (others.length === 0) return [{ offer: first }];
    const isOpen = open.value.has(key);
    const onToggle = () => {
      open.value = new Set(isOpen ? [...open.value].filter((other) => other !== key) : [...open.value, key]);
    };
    const shown = isOpen ? others : others.filter(({ machineId }) => compared.value.includes(machineId));
    return [
      { offer: first, equal: { count: others.length + 1, isOpen, onToggle } },
      ...shown.map((offer) => ({ offer, isMember: true })),
    ];
  });
}

/** A column's heading, which sorts the list. */
function SortHead({ of, isNumber = false }: { of: OrderName; isNumber?: boolean }) {
  const isChosen = order.value === of;
  const isRising = of !== 'RELIABILITY';
  return (
    <th
      scope="col"
      class={`${of.toLowerCase().replaceAll('_', '-')} ${isNumber ? 'number' : ''}`}
      aria-sort={isChosen ? (isRising ? 'ascending' : 'descending') : undefined}
    >
      <button type="button" class="sort" onClick={() => setQuery({ sort: of }, { replace: true })}>
        {texts.columns[of as keyof typeof texts.columns]}
        {isChosen && <Icon name={isRising ? 'arrow-up' : 'arrow-down'} />}
      </button>
    </th>
  );
}

interface RowProps extends ListedRow {
  /** The row's place, which starts at 1 and includes the header row. */
  index: number;
  isMixed: boolean;
}

function Row({ offer, equal, isMember = false, index, isMixed }: RowProps) {
  const { machineId, gpu, numGpus, region, cpu, vcpus, ramGb, diskGb, netMbps, reliability } = offer;
  const price = offer.pricePerHour[shownMode.value.price];
  const isCompared = compared.value.includes(machineId);
  const vram = vramOf(offer);
  const total = vram === undefined ? undefined : `${number(vram)} GB`;
  return (
    <tr class={`offer${isMember ? ' member' : ''}${isCompared ? ' chosen' : ''}`} aria-rowindex={index}>
      <td class="tick">
        <input
          type="checkbox"
          aria-label={texts.compare(machineId)}
          checked={isCompared}
          disabled={!isCompared && compared.value.length >= MAX_COMPARED}
          onChange={() => toggleCompared(machineId)}
        />
      </td>
      <th scope="row" title={`${visible(cpu)}, ${machineId}`}>
        <a href={withQuery({ details: machineId })}>
          {numGpus} × <ModelName name={modelName(gpu)} />
          <span class="hidden"> {texts.detailsOf(machineId)}</span>
        </a>
        <span class="marks">
          <span class="vram">{total}</span>
          <Marks offer={offer} isMixed={isMixed} />
        </span>
        {equal !== undefined && (
          <button
            type="button"
            class="ghost equal"
            title={texts.equalHint}
            aria-expanded={equal.isOpen}
            onClick={equal.onToggle}
          >
            <span>
              {texts.equal(equal.count)}
              <span class="hidden"> {texts.equalTo(machineId)}</span>
            </span>
            <Icon name={equal.isOpen ? 'chevron-up' : 'chevron-down'} />
          </button>
        )}
      </th>
      <td class="price number" data-label={texts.columns.PRICE}>
        <Rate of={micro(price)} />
      </td>
      <td class="price-per-gpu number" data-label={texts.columns.PRICE_PER_GPU}>
        <Rate of={micro(price / numGpus)} />
      </td>
      <td class="hardware">
        <span>{number(vcpus)}</span>
        <span>{number(ramGb)}</span>
        <span>{number(diskGb)}</span>
        <span class="net" title={texts.networkOf(number(netMbps.down), number(netMbps.up))}>
          {number(netMbps.down)}
        </span>
      </td>
      <td class="region" data-vram={total}>
        {regionName(region)}
      </td>
      <td class="reliability number" data-label={texts.columns.RELIABILITY}>
        {fixed(reliability * 100, 2)}
      </td>
      <td class="act">
        <a class="button small-button" href={deployPath({ [MACHINE]: machineId, ...modeParameter() })}>
          {texts.deploy(machineId)}
        </a>
      </td>
    </tr>
  );
}

function Marks({ offer: { nvlink, demo, hasAgent, preemptible }, isMixed }: { offer: Offer; isMixed: boolean }) {
  const runs = hasAgent ? (demo ? 'trial' : 'real') : demo ? 'demo' : 'record';
  return (
    <>
      {preemptible && (
        <span class="badge warn" title={texts.heldTitle}>
          {texts.held}
        </span>
      )}
      {(isMixed || runs === 'trial') && (
        <span class={`badge${hasAgent ? ' good' : ''}`} title={texts.runs[runs].title}>
          {texts.runs[runs].name}
        </span>
      )}
      {nvlink && <span class="badge nvlink">{texts.nvlink}</span>}
    </>
  );
}
