import { useEffect } from 'preact/hooks';
import { rate, usd } from '../figures/money.js';
import { RunsOut } from '../parts/runs-out.js';
import { Time } from '../parts/time.js';
import { balanceNow, monthSpendNow, settled } from '../state/account.js';
import { readSheet, sheet } from '../state/market.js';
import { Spend } from './spend.js';
import { Statement } from './statement.js';
import { TopUps } from './top-ups.js';

export function Money() {
  useEffect(() => {
    if (sheet.value === null) void readSheet();
  }, []);
  const known = settled.value;
  return (
    <div class="stack">
      <h1 tabIndex={-1}>Money</h1>
      {known === null ? (
        <p class="quiet">Reading your balance …</p>
      ) : (
        <section class="panel padded stack" aria-label="Balance">
          <div class="facts">
            <div>
              <p class="quiet small">Balance</p>
              <p class={`headline figure${balanceNow.value <= 0n ? ' bad' : ''}`} data-figure="balance">
                {usd(balanceNow.value, 4)} USD
              </p>
            </div>
            <div>
              <p class="quiet small">Costs now</p>
              <p class="headline figure" data-figure="burn">
                {rate(known.burn)} USD/h
              </p>
            </div>
            <div>
              <p class="quiet small">Spent this month (UTC)</p>
              <p class="headline figure">{usd(monthSpendNow.value, 4)} USD</p>
            </div>
          </div>
          {balanceNow.value <= 0n && known.diskDeleteAt !== null ? (
            <p class="notice bad">
              Your credit ran out: everything is stopped, and disks keep costing. Without new credit instances and their
              disks are destroyed <Time at={known.diskDeleteAt} />.
            </p>
          ) : (
            <p>
              Your credit <RunsOut />.
              {known.burn > 0n &&
                ' All running instances stop then; their disks are kept for a while, and keep costing.'}
            </p>
          )}
        </section>
      )}
      <TopUps />
      <Spend />
      <Statement />
    </div>
  );
}
