import { useEffect } from 'preact/hooks';
import { rate, usd } from '../figures/money.js';
import { Amount } from '../parts/amount.js';
import { RunsOut } from '../parts/runs-out.js';
import { Time } from '../parts/time.js';
import { balanceNow, monthSpendNow, settled } from '../state/account.js';
import { readSheet, sheet } from '../state/market.js';
import { useTitle } from '../state/title.js';
import { MonthLimit } from './month-limit.js';
import { Spend } from './spend.js';
import { Statement } from './statement.js';
import { TopUps } from './top-ups.js';

/** How long credit lasts at the present burn. */
function Lasts() {
  if (settled.value?.exhaustsAt == null) return <>Your credit lasts for years at this rate.</>;
  return (
    <>
      Your credit <RunsOut />. All running instances stop then; their disks are kept for a while, and keep costing.
    </>
  );
}

export function Money() {
  useEffect(() => {
    if (sheet.value === null) void readSheet();
  }, []);
  useTitle('Money');
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
                <Amount of={usd(balanceNow.value, 4)} unit="USD" />
              </p>
            </div>
            <div>
              <p class="quiet small">Costs now</p>
              <p class="headline figure" data-figure="burn">
                <Amount of={rate(known.burn)} unit="USD/h" />
              </p>
            </div>
            <div>
              <p class="quiet small">Spent this month (UTC)</p>
              <p class="headline figure">
                <Amount of={usd(monthSpendNow.value, 4)} unit="USD" />
              </p>
            </div>
          </div>
          {balanceNow.value <= 0n && known.diskDeleteAt !== null ? (
            <p class="notice bad">
              Your credit ran out: everything is stopped, and disks keep costing. Without new credit instances and their
              disks are destroyed <Time at={known.diskDeleteAt} />.
            </p>
          ) : (
            <p>{known.burn === 0n ? 'Nothing costs anything now: your credit stays as it is.' : <Lasts />}</p>
          )}
        </section>
      )}
      <TopUps />
      <MonthLimit />
      <Spend />
      <Statement />
    </div>
  );
}
