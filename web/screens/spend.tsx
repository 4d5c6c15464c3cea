import { type Micro, micro, usd } from '../figures/money.js';
import { Bars } from '../parts/bars.js';
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
    <section class="panel" aria-labelledby="spend">
      <div class="panel-head">
        <div>
          <h2 id="spend">{texts.title}</h2>
          <p class="small quiet">{texts.what}</p>
        </div>
        <label class="row small">
          <span class="quiet">{texts.period}</span>
          <select
            value={String(chosenDays())}
            onChange={({ currentTarget }) => setQuery({ days: currentTarget.value })}
          >
            {PERIODS.map((count) => (
              <option value={String(count)}>{texts.days(count)}</option>
            ))}
          </select>
        </label>
      </div>
      {spent !== null && micro(spent.total) === 0n && (
        <Empty icon="chart-line" title={texts.none}>
          <p>{texts.noneWhat}</p>
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
    <div class="padded stack">
      <Bars days={days} label={texts.chart(spent.from, spent.to, usd(micro(spent.total), 4))} />
      <Table caption={texts.byInstance} columns={[[texts.instance], [texts.usd, 'number']]}>
        {spent.instances.map(({ instanceId, name, gpu, numGpus, amount }, index) => (
          <tr key={instanceId}>
            <th scope="row">
              <Swatch index={index} />{' '}
              <a href={`/instances/${instanceId}`} class="mono">
                {name}
              </a>{' '}
              <span class="quiet small">
                {numGpus} × {modelName(gpu)}
              </span>
            </th>
            <td class="number">{usd(micro(amount), 6)}</td>
          </tr>
        ))}
        {micro(spent.others) !== 0n && (
          <tr>
            <th scope="row">
              <Swatch index={kinds.length - 1} /> {texts.others}
            </th>
            <td class="number">{usd(micro(spent.others), 6)}</td>
          </tr>
        )}
        <tr>
          <th scope="row">{texts.total}</th>
          <td class="number">
            <strong>{usd(micro(spent.total), 6)}</strong>
          </td>
        </tr>
      </Table>
      <details>
        <summary class="small">{texts.asFigures}</summary>
        <Table columns={[[texts.day], [texts.usd, 'number']]}>
          {spent.days.toReversed().map(({ date, total }) => (
            <tr key={date}>
              <th scope="row">{date}</th>
              <td class="number">{usd(micro(total), 6)}</td>
            </tr>
          ))}
        </Table>
      </details>
    </div>
  );
}

const Swatch = ({ index }: { index: number }) => (
  <span class={`key-swatch swatch-${'abcde'[index]}`} aria-hidden="true" />
);
