import { useEffect, useRef } from 'preact/hooks';
import { query } from '../state/location.js';
import { followMarket, models, readSheet, sheet } from '../state/market.js';
import { DeployDialog } from './deploy.js';
import { Filters } from './filters.js';
import { ModelPanel } from './model-panel.js';
import { Offers } from './offers.js';
import { PriceSheet } from './price-sheet.js';

/** The price sheet beside the machines that are free; the address holds what is looked for. */
export function Machines() {
  const found = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (sheet.value === null) void readSheet();
    return followMarket();
  }, []);
  const chosen = models.value.get(query.value.get('gpu') ?? '');
  return (
    <div class="stack">
      <div class="row between">
        <h1 tabIndex={-1}>Machines</h1>
        {sheet.value !== null && (
          <p class="small quiet">
            Market of {sheet.value.pricing.marketSnapshot}. Billed per second, no minimum, no setup fee.
          </p>
        )}
      </div>
      <Filters />
      <div class={`market${chosen === undefined ? '' : ' has-choice'}`}>
        <PriceSheet
          onChosen={() => {
            if (matchMedia('(max-width: 64rem)').matches) found.current?.scrollIntoView({ block: 'start' });
          }}
        />
        <div class="stack" ref={found}>
          {chosen !== undefined && <ModelPanel model={chosen} />}
          <Offers />
        </div>
      </div>
      {query.value.has('deploy') && <DeployDialog />}
    </div>
  );
}
