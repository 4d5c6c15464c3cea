import { rate, usd } from '../figures/money.js';
import { balanceNow, monthSpendNow, type Settled } from '../state/account.js';
import { forecast } from '../state/forecast.js';
import { Amount } from './amount.js';
import { RunsOut } from './runs-out.js';
import { Time } from './time.js';

/** How long credit lasts at the present burn. */
function Lasts({ exhaustsAt }: { exhaustsAt: number | null }) {
  if (exhaustsAt === null) return <>Your credit lasts for years at this rate.</>;
  return (
    <>
      Your credit <RunsOut />. All running instances stop then; their disks are kept for a while, and keep costing.
    </>
  );
}

/** What is there, what goes, what went, and what the month comes to. */
export function Balance({ known }: { known: Settled }) {
  const expected = forecast.value;
  return (
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
          <p class="headline figure" data-figure="month">
            <Amount of={usd(monthSpendNow.value, 4)} unit="USD" />
          </p>
        </div>
        {expected !== null && (
          <div>
            <p class="quiet small">This month if all goes on</p>
            <p class="headline figure" data-figure="forecast">
              <Amount of={usd(expected.total, 2)} unit="USD" />
            </p>
          </div>
        )}
      </div>
      {balanceNow.value <= 0n && known.diskDeleteAt !== null ? (
        <p class="notice bad">
          Your credit ran out: everything is stopped, and disks keep costing. Without new credit instances and their
          disks are destroyed <Time at={known.diskDeleteAt} />.
        </p>
      ) : (
        <p>
          {known.burn === 0n ? (
            'Nothing costs anything now: your credit stays as it is.'
          ) : (
            <Lasts exhaustsAt={known.exhaustsAt} />
          )}
          {expected !== null && expected.missing > 0n && (
            <>
              {' '}
              To go on until the month ends, it needs{' '}
              <strong class="figure" data-figure="missing">
                {usd(expected.missing, 2)} USD
              </strong>{' '}
              more.
            </>
          )}
        </p>
      )}
    </section>
  );
}
