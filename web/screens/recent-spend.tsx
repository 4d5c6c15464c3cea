import { micro, sum } from '../figures/money.js';
import { fromFirstSpend } from '../figures/spent-days.js';
import { utcDay } from '../figures/time.js';
import { RecentDays } from '../graph/documents.js';
import { Bars } from '../parts/bars.js';
import { firstOfDays } from '../state/clock.js';
import { useRead } from '../state/read.js';
import { screens } from '../texts/en/screens.js';
import { texts } from '../texts/en/spend.js';

const DAYS = 14;

/** Shows the spend of the last days as bars, which link to Billing for its details. */
export function RecentSpend() {
  const { data, error } = useRead(RecentDays, { from: firstOfDays(DAYS) });
  const spent = data.value?.spendByDay ?? null;
  if (error.value !== null || spent?.total === 0) return null;
  const days = fromFirstSpend(spent?.days ?? []);
  const from = utcDay(days[0]?.date ?? firstOfDays(DAYS));
  return (
    <section class="panel" aria-labelledby="recent">
      <div class="panel-head">
        <h2 id="recent">{texts.since(from)}</h2>
        <a href="/billing">{screens['/billing']}</a>
      </div>
      <div class="home-spend">
        {spent !== null && (
          <Bars
            days={days.map(({ date, total }) => ({ date, total: micro(total), parts: [micro(total)] }))}
            label={texts.chart(from, utcDay(spent.to), sum(micro(spent.total)))}
          />
        )}
      </div>
    </section>
  );
}
