import { useEffect, useRef } from 'preact/hooks';
import { micro } from '../figures/money.js';
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
import { setQuery, withQuery } from '../state/location.js';
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

/** Lists the machines that meet the requirements and can be rented now, one per row. */
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
      <div class="offers-head">
        <div class="offers-count">
          <h2>{known === null ? texts.searching : texts.count(known.total)}</h2>
          {known !== null && <span class="small quiet figure">{texts.asOf(timeToSecond(known.at))}</span>}
          <button
            type="button"
            class="plain small"
            onClick={() => {
              areFiltersOpen.value = true;
            }}
          >
            {shownMode.value.name} · {orderName()}
          </button>
        </div>
        <div class="offers-choices">
          <SortChoice />
          <ModeChoice />
          {known?.total !== 0 && (
            <a
              class={`button primary ${known === null ? 'unknown' : ''}`}
              title={texts.cheapestHint}
              href={deployPath(modeParameter())}
            >
              {texts.deployCheapest}
            </a>
          )}
        </div>
      </div>
      {error.value !== null && (
        <div class="padded">
          <Failure error={error.value} />
        </div>
      )}
      {known !== null && <Scope found={known} />}
      {known?.total === 0 && <NoOffers found={known} />}
      {known !== null && known.total > 0 && <Table found={known} />}
      <div ref={end} />
      {known !== null && known.offers.length >= MAX_OFFERS && known.hasMore && (
        <p class="padded small quiet">{texts.first(MAX_OFFERS)}</p>
      )}
    </>
  );
}

/** Says whether the listed machines run containers, and shows or hides those that don't. */
function Scope({ found: { agentless, total, offers } }: { found: Found }) {
  const shown = scope.value;
  if (agentless === 0 || (shown === 'running' && total === 0)) return null;
  return (
    <p class="offers-scope small quiet">
      {shown === 'agentless' && (offers.every(({ demo }) => demo) ? texts.scope.demo : texts.scope.agentless)}
      {shown === 'all' && (
        <>
          {texts.scope.all(agentless)} <a href={withQuery({ agentless: null })}>{texts.scope.hide}</a>
        </>
      )}
      {shown === 'running' && (
        <>
          {texts.scope.running} <a href={withQuery({ agentless: '1' })}>{texts.scope.show(agentless)}</a>
        </>
      )}
    </p>
  );
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

function Table({ found: { offers, total } }: { found: Found }) {
  // If all of them run containers, or none does, there is no point in marking each one.
  const isMixed = new Set(offers.map(({ hasAgent, demo }) => `${hasAgent} ${demo}`)).size > 1;
  return (
    <table class="machines" aria-rowcount={total + 1}>
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
      <RowGroups rows={offers} total={total} rowPx={ROW_PX}>
        {(offer, index) => <Row key={offer.machineId} offer={offer} index={index} isMixed={isMixed} />}
      </RowGroups>
    </table>
  );
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

interface RowProps {
  offer: Offer;
  /** The row's place, which starts at 1 and includes the header row. */
  index: number;
  isMixed: boolean;
}

function Row({ offer, index, isMixed }: RowProps) {
  const { machineId, gpu, numGpus, region, cpu, vcpus, ramGb, diskGb, netMbps, reliability } = offer;
  const price = offer.pricePerHour[shownMode.value.price];
  const isCompared = compared.value.includes(machineId);
  const vram = vramOf(offer);
  const total = vram === undefined ? undefined : `${number(vram)} GB`;
  return (
    <tr class={isCompared ? 'offer chosen' : 'offer'} aria-rowindex={index}>
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
        <span class="vram">{total}</span>
        <Marks offer={offer} isMixed={isMixed} />
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
