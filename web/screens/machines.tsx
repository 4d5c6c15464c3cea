import { signal, useSignal } from '@preact/signals';
import { loaded } from '../parts/loaded.js';
import { Failure } from '../parts/notice.js';
import { query, setQuery, wasLoadedWith } from '../state/location.js';
import { marketAge, sheet, sheetError, useMarket } from '../state/market.js';
import { useMatchingModels } from '../state/matching-models.js';
import { compared, MAX_COMPARED } from '../state/offers.js';
import { useTitle } from '../state/title.js';
import { texts } from '../texts/en/machines.js';
import { screens } from '../texts/en/screens.js';
import { Filters } from './filters.js';
import { ModelStrip } from './model-strip.js';
import { Offers } from './offers.js';

/** Whether the comparison is open. A link to a comparison opens it, and only the user closes it. */
const isComparing = signal(wasLoadedWith('compare'));

const Comparison = loaded(async () => (await import('./compare.js')).Comparison);
const MachineDetails = loaded(async () => (await import('./compare.js')).MachineDetails);
const PriceSheet = loaded(async () => (await import('./price-sheet.js')).PriceSheet);

/** Shows the free machines and the models to choose from. The search and the comparison are kept in the URL. */
export function Machines() {
  useTitle(screens['/machines']);
  useMarket();
  const matching = useMatchingModels();
  const isSheetOpen = useSignal(false);
  const details = query.value.get('details');
  return (
    <div class="stack machines-screen">
      <div class="row between machines-head">
        <div class="title-line">
          <h1 tabIndex={-1}>{screens['/machines']}</h1>
          <p class="small quiet">{texts.market(marketAge.value ?? '…')}</p>
        </div>
        <a class="small" href="/models">
          {screens['/models']}
        </a>
      </div>
      {sheetError.value !== null && sheet.value === null && <Failure error={sheetError.value} />}
      <ModelStrip
        matching={matching}
        onShowAll={() => {
          isSheetOpen.value = true;
        }}
      />
      <section class="panel offers" aria-label={texts.list}>
        <Filters />
        <Offers />
      </section>
      <CompareBar
        onCompare={() => {
          isComparing.value = true;
        }}
      />
      {isSheetOpen.value && (
        <PriceSheet
          matching={matching ?? []}
          onClose={() => {
            isSheetOpen.value = false;
          }}
        />
      )}
      {isComparing.value && compared.value.length > 0 && (
        <Comparison
          onClose={() => {
            isComparing.value = false;
          }}
        />
      )}
      {details !== null && (
        <MachineDetails id={details} onClose={() => setQuery({ details: null }, { replace: true })} />
      )}
    </div>
  );
}

/** The machines selected for comparison, at the bottom of the window. */
function CompareBar({ onCompare }: { onCompare(): void }) {
  const count = compared.value.length;
  if (count === 0) return null;
  return (
    <section class="selection" aria-label={texts.compareHead}>
      <span role="status">
        {texts.selected(count)}{' '}
        {count < MAX_COMPARED && <span class="small quiet">{texts.compareMore(MAX_COMPARED)}</span>}
      </span>
      <button type="button" class="ghost" onClick={() => setQuery({ compare: null }, { replace: true })}>
        {texts.clearSelection}
      </button>
      <button type="button" class="primary" onClick={onCompare}>
        {texts.compareSelected}
      </button>
    </section>
  );
}
