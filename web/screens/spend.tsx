import { type Micro, micro, sum } from '../figures/money.js';
import { utcDay } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { Amount } from '../parts/amount.js';
import { Bars } from '../parts/bars.js';
import { Fold } from '../parts/fold.js';
import { Empty } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { serverDay } from '../state/clock.js';
import { query, setQuery } from '../state/location.js';
import { modelName } from '../state/market.js';
import type { MoneyRead } from '../state/money-read.js';
import { texts } from '../texts/en/spend.js';

type Spent = NonNullable<MoneyRead['days']>;

const PERIODS = [7, 30, 90];
const USUAL = 30;
/** Number of instances with their own colour. The others share one. */
export const NAMED = 4;
const DAY_MS = 86_400_000;

function chosenDays(): number {
  const requested = Number(query.value.get('days'));
  return PERIODS.includes(requested) ? requested : USUAL;
}

/** Returns the first UTC day of the period selected in the URL. */
export const firstDay = (): string =>
  new Date(Date.parse(serverDay.value) - (chosenDays() - 1) * DAY_MS).toISOString().slice(0, 10);

/** Shows the spend by UTC day and by instance. The sums are the service's own and add up to the month's spend. */
export function Spend({ spent }: { spent: Spent | null }) {
  return (
    <section class="month-days" aria-labelledby="spend">
      <div class="month-head">
        <h3 id="spend">{texts.title}</h3>
        <select
          aria-label={texts.period}
          value={String(chosenDays())}
          onChange={({ currentTarget }) => setQuery({ days: currentTarget.value })}
        >
          {PERIODS.map((count) => (
            <option value={String(count)}>{texts.days(count)}</option>
          ))}
        </select>
      </div>
      {spent !== null && micro(spent.total) === 0n && (
        <Empty icon="chart-line" title={texts.none}>
          {texts.noneWhat}
        </Empty>
      )}
      {spent !== null && micro(spent.total) !== 0n && <Chart spent={spent} />}
    </section>
  );
}

function Chart({ spent }: { spent: Spent }) {
  const kinds = [
    ...spent.instances.map(({ instanceId }) => instanceId),
    ...(micro(spent.others) === 0n ? [] : ['others']),
  ];
  const days = spent.days.map(({ date, total, instances, others }) => {
    const amounts = new Map<string, Micro>(instances.map(({ instanceId, amount }) => [instanceId, micro(amount)]));
    amounts.set('others', micro(others));
    return { date, total: micro(total), parts: kinds.map((kind) => amounts.get(kind) ?? 0n) };
  });
  return (
    <>
      <Bars days={days} label={texts.chart(utcDay(spent.from), utcDay(spent.to), sum(micro(spent.total)))} />
      <ul class="month-key" aria-label={texts.byInstance}>
        {spent.instances.map(({ instanceId, name, gpu, numGpus, amount }, index) => (
          <li key={instanceId}>
            <Swatch index={index} />
            <a class="id" href={`/instances/${instanceId}`} title={`${instanceId}, ${numGpus} × ${modelName(gpu)}`}>
              {visible(name)}
            </a>
            <Amount of={micro(amount)} />
          </li>
        ))}
        {micro(spent.others) !== 0n && (
          <li>
            <Swatch index={kinds.length - 1} />
            <span>{texts.others}</span>
            <Amount of={micro(spent.others)} />
          </li>
        )}
      </ul>
      <Fold title={texts.asFigures}>
        <Table columns={[[texts.day], [texts.usd, 'number']]}>
          {spent.days.toReversed().map(({ date, total }) => (
            <tr key={date}>
              <th scope="row">{utcDay(date)}</th>
              <td class="number">
                <Amount of={micro(total)} />
              </td>
            </tr>
          ))}
        </Table>
      </Fold>
    </>
  );
}

const Swatch = ({ index }: { index: number }) => (
  <span class={`key-swatch swatch-${'abcde'[index]}`} aria-hidden="true" />
);
