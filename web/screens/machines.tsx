import { useEffect, useRef } from 'preact/hooks';
import { chosenGpus } from '../state/filters.js';
import { link, readLink } from '../state/launch-draft.js';
import { query } from '../state/location.js';
import { followMarket, models, readSheet, sheet } from '../state/market.js';
import { useTitle } from '../state/title.js';
import { Compare } from './compare.js';
import { DeployDialog } from './deploy.js';
import { Filters } from './filters.js';
import { ModelPanel } from './model-panel.js';
import { Offers } from './offers.js';
import { PriceSheet } from './price-sheet.js';

/** The machines that are free, beside the models to choose from; the address holds what is looked for. */
export function Machines({ isLink = false }: { isLink?: boolean }) {
  useTitle(isLink ? 'Launch' : 'Machines');
  const found = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isLink) readLink();
    if (sheet.value === null) void readSheet();
    return followMarket();
  }, []);
  const [only, another] = chosenGpus.value;
  const chosen = another === undefined ? models.value.get(only ?? '') : undefined;
  return (
    <div class="stack">
      <div class="row between">
        <h1 tabIndex={-1}>Machines</h1>
        {sheet.value !== null && (
          <p class="small quiet">
            Market of {sheet.value.pricing.marketSnapshot}. Billed per second, no setup fee. No minimum, except 60
            seconds of GPU if you preempt an interruptible instance.
          </p>
        )}
      </div>
      <Filters />
      <p class="small one-column-only">
        <a href="#prices">To the price sheet</a>
      </p>
      <div class="market">
        <div class="stack" ref={found}>
          {chosen !== undefined && <ModelPanel model={chosen} />}
          <Compare />
          <Offers />
        </div>
        <PriceSheet
          onChosen={() => {
            if (matchMedia('(max-width: 64rem)').matches) found.current?.scrollIntoView({ block: 'start' });
          }}
        />
      </div>
      {isLink ? link.value !== null && <DeployDialog /> : query.value.has('deploy') && <DeployDialog />}
    </div>
  );
}
