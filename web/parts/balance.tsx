import { usd } from '../figures/money.js';
import { balanceNow, type Figures, monthSpendNow } from '../state/account.js';
import { serverNow } from '../state/clock.js';
import { forecast } from '../state/forecast.js';
import { texts } from '../texts/en/balance.js';
import { Amount } from './amount.js';
import { Time } from './time.js';

/** Shows how long the credit lasts at the current burn rate. */
function Lasts({ exhaustsAt }: { exhaustsAt: number | null }) {
  if (exhaustsAt === null) return texts.lastsForYears;
  if (exhaustsAt <= serverNow.value) return texts.ranOut;
  return texts.runsOut(<Time at={exhaustsAt} />);
}

/** Shows the balance, burn rate, spend and the month's forecast. */
export function Balance({ known }: { known: Figures }) {
  const expected = forecast.value;
  return (
    <section class="panel padded stack" aria-label={texts.balance}>
      <div class="facts">
        <div>
          <p class="quiet small">{texts.balance}</p>
          <p class={`headline figure${balanceNow.value <= 0n ? ' bad' : ''}`} data-figure="balance">
            <Amount of={balanceNow.value} unit="USD" />
          </p>
        </div>
        <div>
          <p class="quiet small">{texts.burn}</p>
          <p class="headline figure" data-figure="burn">
            <Amount of={known.burn} unit="USD/h" />
          </p>
        </div>
        <div>
          <p class="quiet small">{texts.spent}</p>
          <p class="headline figure" data-figure="month">
            <Amount of={monthSpendNow.value} unit="USD" />
          </p>
        </div>
        {expected !== null && (
          <div>
            <p class="quiet small">{texts.forecast}</p>
            <p class="headline figure" data-figure="forecast">
              <Amount of={expected.total} unit="USD" />
            </p>
          </div>
        )}
      </div>
      {balanceNow.value <= 0n && known.diskDeleteAt !== null ? (
        <p class="notice bad">{texts.over(<Time at={known.diskDeleteAt} />)}</p>
      ) : (
        <p>
          {known.burn === 0n ? texts.nothingCosts : <Lasts exhaustsAt={known.exhaustsAt} />}
          {expected !== null && expected.missing > 0n && (
            <>
              {' '}
              {texts.missing(
                <strong class="figure" data-figure="missing">
                  {usd(expected.missing, 2)} USD
                </strong>,
              )}
            </>
          )}
        </p>
      )}
    </section>
  );
}
