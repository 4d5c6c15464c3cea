import { type Micro, micro, sum } from '../figures/money.js';
import { fromFirstSpend } from '../figures/spent-days.js';
import { utcDay } from '../figures/time.js';
import { Amount } from '../parts/amount.js';
import { Bars } from '../parts/bars.js';
import { Fold } from '../parts/fold.js';
import { shortName } from '../parts/model-name.js';
import { Empty } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { modelName } from '../state/market.js';
import type { MoneyRead } from '../state/money-read.js';
import { texts } from '../texts/en/spend.js';

type Spent = NonNullable<MoneyRead['spend']>;

/** Number of models with their own colour. The others share one with volumes. */
export const NAMED = 4;

interface Props {
  spent: Spent | null;
  /** The models in the order of the cost table, which has the same colours. */
  models: readonly string[];
}

/** Shows the spend by UTC day and by model. The sums are the service's own and add up to the period's spend. */
export function Spend({ spent, models }: Props) {
  return (
    <section class="month-days" aria-labelledby="spend">
      <div class="month-head">
        <h3 id="spend">{texts.title}</h3>
      </div>
      {spent !== null && micro(spent.total) === 0n && (
        <Empty icon="chart-line" title={texts.none}>
          {texts.noneWhat}
        </Empty>
      )}
      {spent !== null && micro(spent.total) !== 0n && <Chart spent={spent} models={models} />}
    </section>
  );
}

function Chart({ spent, models }: { spent: Spent; models: readonly string[] }) {
  const modelOf = new Map(spent.instances.map(({ instanceId, gpu }) => [instanceId, gpu]));
  // Models without cost in the period have no line in the table and come last.
  const named = [...new Set([...models, ...modelOf.values()])].slice(0, NAMED);
  const since = fromFirstSpend(spent.days);
  const days = since.map(({ date, total, instances }) => {
    // The last part is the rest: other models and volumes.
    const parts: Micro[] = [...Array(NAMED).fill(0n), micro(total)];
    for (const { instanceId, amount } of instances) {
      const index = named.indexOf(modelOf.get(instanceId)!);
      if (index === -1) continue;
      parts[index]! += micro(amount);
      parts[NAMED]! -= micro(amount);
    }
    return { date, total: micro(total), parts };
  });
  const key = Array.from({ length: NAMED + 1 }, (_, index) => ({
    index,
    name: index === NAMED ? texts.others : shortName(modelName(named[index] ?? '')),
    amount: days.reduce((total, { parts }) => total + parts[index]!, 0n),
  })).filter(({ amount }) => amount > 0n);
  const isInTable = key.every(({ index }) => index < models.length || index === NAMED);
  return (
    <>
      <Bars
        days={days}
        label={texts.chart(utcDay(since[0]?.date ?? spent.from), utcDay(spent.to), sum(micro(spent.total)))}
      />
      <ul class={`month-key${isInTable ? ' repeated' : ''}`} aria-label={texts.byModel}>
        {key.map(({ name, index }) => (
          <li key={name}>
            <Swatch index={index} />
            {name}
          </li>
        ))}
      </ul>
      <Fold title={texts.asFigures}>
        <Table columns={[[texts.day], [texts.usd, 'number']]}>
          {since.toReversed().map(({ date, total }) => (
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

/** The colour of a model, by its place in the cost table. */
export const Swatch = ({ index }: { index: number }) => (
  <span class={`key-swatch swatch-${'abcde'[Math.min(index, NAMED)]}`} aria-hidden="true" />
);
