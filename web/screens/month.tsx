import { type Micro, micro } from '../figures/money.js';
import { monthRows, totalOf } from '../figures/month.js';
import { monthEnd, secondsOf } from '../figures/time.js';
import { Amount, Rate } from '../parts/amount.js';
import { Facts } from '../parts/facts.js';
import { Empty } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { monthSpendNow, rateOf } from '../state/account.js';
import { forecast } from '../state/forecast.js';
import { query, setQuery } from '../state/location.js';
import { modelName } from '../state/market.js';
import type { MoneyRead } from '../state/money-read.js';
import { texts as limitTexts } from '../texts/en/limit.js';
import { texts } from '../texts/en/month.js';
import { LimitReached } from './limit.js';
import { NAMED, Spend, Swatch } from './spend.js';

/** Maximum number of names shown. The rest are combined into a single sum. */
export const MAX_NAMES = 100;
const BY = { model: texts.byModel, name: texts.byName } as const;

/** Shows the month's cost so far and its forecast, spend by day, and the month's cost by model or by name. */
export function Month({ read }: { read: MoneyRead | null }) {
  const by = query.value.get('by') === 'name' ? 'name' : 'model';
  const account = read?.account ?? null;
  const costs = read === null ? null : costsOf(read, by);
  return (
    <section class="panel" aria-labelledby="month">
      <div class="panel-head">
        <h2 id="month">{texts.title}</h2>
        <p class="small quiet">{texts.what}</p>
      </div>
      {account !== null && (
        <Totals
          account={account}
          spent={costs?.total.spent ?? monthSpendNow.value}
          projected={costs?.total.forecast ?? forecast.value?.total ?? null}
        />
      )}
      <div class="month">
        <Spend spent={read?.days ?? null} models={read === null ? [] : rowsOf(read, 'model').map(({ key }) => key)} />
        <div class="month-sums">
          <div class="month-head">
            <h3>{texts.costs}</h3>
            <fieldset class="segments" aria-label={texts.groupBy}>
              {(['model', 'name'] as const).map((one) => (
                <button
                  key={one}
                  type="button"
                  aria-pressed={by === one}
                  onClick={() => setQuery({ by: one === 'model' ? null : one }, { replace: true })}
                >
                  {BY[one]}
                </button>
              ))}
            </fieldset>
          </div>
          {costs !== null && <Sums costs={costs} by={by} />}
        </div>
      </div>
    </section>
  );
}

interface TotalsProps {
  account: NonNullable<MoneyRead['account']>;
  /** The total of the cost table, or the account's own figure if the table couldn't be read. */
  spent: Micro;
  projected: Micro | null;
}

/** Shows the month's spend and forecast, and how much of the limit is used. */
function Totals({ account, spent, projected }: TotalsProps) {
  const { monthlyLimit: limit, limitReachedAt, exhaustsAt, asOf } = account;
  const reachedAt = limitReachedAt === null ? null : secondsOf(limitReachedAt);
  const isReached =
    reachedAt !== null &&
    reachedAt < monthEnd(secondsOf(asOf)) &&
    (exhaustsAt === null || reachedAt <= secondsOf(exhaustsAt));
  return (
    <div class="month-totals">
      <Facts
        of={[
          [
            texts.spent,
            <span data-figure="month">
              <Amount of={spent} unit="USD" />
            </span>,
          ],
          projected === null
            ? null
            : [
                texts.projected,
                <span data-figure="forecast">
                  <Amount of={projected} unit="USD" />
                </span>,
              ],
          [texts.limit, limit === null ? texts.noLimit : <Amount of={micro(limit)} unit="USD" />],
        ]}
      />
      {limit !== null && (
        <div class="month-limit">
          {isReached ? <LimitReached at={limitReachedAt} /> : <p class="small quiet">{limitTexts.notThisMonth}</p>}
          <progress aria-label={texts.limitUse} max={limit} value={Number(spent) / 1e6} />
        </div>
      )}
    </div>
  );
}

/** Returns the month's cost by model or by name. */
const sumsOf = ({ month }: MoneyRead, by: keyof typeof BY) =>
  by === 'model'
    ? (month?.models ?? []).map(({ gpu, amount }) => ({ key: gpu, amount: micro(amount) }))
    : (month?.names ?? []).map(({ name, amount }) => ({ key: name, amount: micro(amount) }));

/** Returns the rows of the cost table, whose order also determines the chart's colours. */
function rowsOf(read: MoneyRead, by: keyof typeof BY) {
  const rates = (read.instances ?? []).map((instance) => ({
    key: by === 'model' ? instance.gpu : instance.name,
    amount: rateOf(instance),
  }));
  return read.account === null ? [] : monthRows(sumsOf(read, by), rates, secondsOf(read.account.asOf));
}

/** Returns the month's cost by model or by name, separately everything else, and the total. Null if any of it is refused. */
function costsOf(read: MoneyRead, by: keyof typeof BY) {
  const { account, instances: rented, month: spent } = read;
  if (account === null || rented === null || spent === null) return null;
  const burn = micro(account.burnPerHour);
  const asOf = secondsOf(account.asOf);
  const rows = rowsOf(read, by);
  const named = sumsOf(read, by).reduce((sum, { amount }) => sum + amount, 0n);
  const volumesRate = burn - rented.reduce((sum, instance) => sum + rateOf(instance), 0n);
  const rest = [
    { key: texts.volumes, amount: micro(spent.volumes), rate: volumesRate },
    { key: texts.otherNames, amount: micro(spent.total) - named - micro(spent.volumes), rate: 0n },
  ].flatMap(({ key, amount, rate }) => monthRows([{ key, amount }], [{ key, amount: rate }], asOf));
  return { rows, rest, total: totalOf([...rows, ...rest]) };
}

function Sums({
  costs: { rows, rest, total },
  by,
}: {
  costs: NonNullable<ReturnType<typeof costsOf>>;
  by: keyof typeof BY;
}) {
  if (rows.length === 0 && rest.length === 0)
    return (
      <Empty icon="calendar" title={texts.none}>
        <p>{texts.noneWhat}</p>
      </Empty>
    );
  const all = [
    ...rows.map((row) => ({ ...row, key: by === 'model' ? modelName(row.key) : row.key })),
    ...rest,
    { key: texts.total, ...total },
  ];
  return (
    <Table
      columns={[
        [by === 'model' ? texts.model : texts.name],
        [texts.hourly, 'number', 'month-hourly'],
        [texts.spent, 'number'],
        [texts.projected, 'number'],
      ]}
    >
      {all.map(({ key, rate, spent, forecast }, index) => (
        <tr key={key} class={index === all.length - 1 ? 'total' : ''}>
          <th scope="row">
            <span class="month-model">
              {by === 'model' && index < all.length - 1 && <Swatch index={index < rows.length ? index : NAMED} />}
              <span>{key}</span>
            </span>
          </th>
          <td class="number month-hourly">
            <Rate of={rate} />
          </td>
          <td class="number">
            <Amount of={spent} />
          </td>
          <td class="number">
            <Amount of={forecast} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
