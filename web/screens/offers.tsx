import { useSignal, useSignalEffect } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { micro, rate } from '../figures/money.js';
import { visible } from '../figures/visible.js';
import { OfferSearch } from '../graph/documents.js';
import { Empty, Failure } from '../parts/notice.js';
import { filter, isFilterKnown, SORTS, sort } from '../state/filters.js';
import { setQuery } from '../state/location.js';
import { marketChanges, modelName, regionName } from '../state/market.js';
import { MODES, type Mode } from '../state/modes.js';
import { useRead } from '../state/read.js';

type Offer = ResultOf<typeof OfferSearch>['offerSearch']['edges'][number]['node'];

const PAGE = 25;
/** The API's bound of a page. */
const MOST = 100;

/** The machines that meet the requirements and can be rented now. */
export function Offers() {
  const shown = useSignal(PAGE);
  useSignalEffect(() => {
    [filter.value, sort.value];
    shown.value = PAGE;
  });
  const { data, error } = useRead(
    OfferSearch,
    isFilterKnown.value ? { filter: filter.value, sort: sort.value, first: shown.value } : null,
    marketChanges,
  );
  const found = data.value?.offerSearch;
  return (
    <section class="panel" aria-label="Machines that are free">
      <div class="panel-head">
        <div>
          <h2>
            {found === undefined
              ? 'Searching …'
              : `${found.totalCount} ${found.totalCount === 1 ? 'machine' : 'machines'} to rent now`}
          </h2>
          <p class="small quiet">USD per hour for the whole machine</p>
        </div>
        <div class="row">
          <label class="row small">
            <span class="quiet">Order</span>
            <select
              value={sort.value}
              onChange={({ currentTarget }) =>
                setQuery({ sort: currentTarget.value === 'PRICE' ? null : currentTarget.value })
              }
            >
              {Object.entries(SORTS).map(([value, text]) => (
                <option value={value}>{text}</option>
              ))}
            </select>
          </label>
          {found !== undefined && found.totalCount > 0 && (
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
      {found !== undefined && found.totalCount === 0 && (
        <Empty title="No machine meets these requirements now">
          <p>
            Take out a requirement, or look at machines that an interruptible instance holds. The list updates by
            itself.
          </p>
        </Empty>
      )}
      <ul>
        {found?.edges.map(({ node }) => (
          <Row key={node.machineId} offer={node} />
        ))}
      </ul>
      {found?.pageInfo.hasNextPage && shown.value < MOST && (
        <p class="padded">
          <button
            type="button"
            onClick={() => {
              shown.value = Math.min(MOST, shown.value + PAGE);
            }}
          >
            Show more
          </button>
        </p>
      )}
      {found?.pageInfo.hasNextPage && shown.value >= MOST && (
        <p class="padded small quiet">These are the first {MOST}. Ask for more, to find the one you want.</p>
      )}
    </section>
  );
}

function Row({ offer }: { offer: Offer }) {
  const {
    machineId,
    gpu,
    numGpus,
    region,
    cpu,
    vcpus,
    ramGb,
    diskGb,
    netMbps,
    nvlink,
    reliability,
    preemptible,
    demo,
  } = offer;
  return (
    <li class="offer">
      <div class="row between">
        <h3>
          {numGpus} × {modelName(gpu)}
        </h3>
        <span class="row small">
          {demo && <span class="badge">demonstration</span>}
          {preemptible && <span class="badge warn">held by an interruptible instance</span>}
          <span class="nowrap">{(reliability * 100).toFixed(2)} % reliable</span>
        </span>
      </div>
      <p class="offer-facts">
        <span>{regionName(region)}</span>
        <span>{visible(cpu)}</span>
        <span>{vcpus} vCPUs</span>
        <span>{ramGb} GB memory</span>
        <span>{diskGb} GB free disk</span>
        <span>
          {netMbps.down} / {netMbps.up} Mbit/s
        </span>
        {nvlink && <span>NVLink</span>}
        <span class="mono">{machineId}</span>
      </p>
      <div class="modes">
        {MODES.map((mode) => (
          <ModePrice key={mode.value} mode={mode} offer={offer} />
        ))}
      </div>
    </li>
  );
}

function ModePrice({ mode, offer }: { mode: Mode; offer: Offer }) {
  const price = rate(micro(offer.pricePerHour[mode.price]), mode.decimals);
  return (
    <button
      type="button"
      class="mode-price"
      onClick={() => setQuery({ deploy: offer.machineId, mode: mode.value === 'ON_DEMAND' ? null : mode.value })}
    >
      <span>
        <span class="hidden">Rent {offer.machineId} </span>
        {mode.name}
      </span>
      <strong>
        {price} <span class="hidden">USD per hour</span>
      </strong>
    </button>
  );
}
