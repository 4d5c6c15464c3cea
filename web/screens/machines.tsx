import { useEffect, useRef } from 'preact/hooks';
import { chosenGpus } from '../state/filters.js';
import { followMarket, marketSnapshot, models, readSheet, sheet } from '../state/market.js';
import { useTitle } from '../state/title.js';
import { texts } from '../texts/en/machines.js';
import { screens } from '../texts/en/screens.js';
import { Compare } from './compare.js';
import { Filters } from './filters.js';
import { ModelPanel } from './model-panel.js';
import { Offers } from './offers.js';
import { PopularModels } from './popular-models.js';
import { PriceSheet } from './price-sheet.js';

/** Shows the free machines next to the models to choose from. The search is kept in the URL. */
export function Machines() {
  useTitle(screens['/machines']);
  const found = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (sheet.value === null) void readSheet();
    return followMarket();
  }, []);
  const [only, another] = chosenGpus.value;
  const chosen = another === undefined ? models.value.get(only ?? '') : undefined;
  return (
    <div class="stack">
      <div class="row between">
        <h1 tabIndex={-1}>{screens['/machines']}</h1>
        <p class="small quiet">{texts.market(marketSnapshot.value ?? '…')}</p>
        <a class="small" href="/models">
          {screens['/models']}
        </a>
      </div>
      <Filters />
      <p class="small one-column-only">
        <a href="#prices">{texts.toSheet}</a>
      </p>
      <div class="market">
        <div class="stack" ref={found}>
          {chosen !== undefined && <ModelPanel model={chosen} />}
          <PopularModels />
          <Offers />
          <Compare />
        </div>
        <PriceSheet
          onChosen={() => {
            if (matchMedia('(max-width: 64rem)').matches) found.current?.scrollIntoView({ block: 'start' });
          }}
        />
      </div>
    </div>
  );
}
