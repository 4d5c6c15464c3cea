import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { inCentsOfSum } from '../figures/apportion.js';
import { dayBefore } from '../figures/day.js';
import { type Micro, micro, sumOf } from '../figures/money.js';
import { type MonthRow, monthRows, totalOf } from '../figures/month.js';
import { monthEnd, secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { Amount, Rate } from '../parts/amount.js';
import { shortName } from '../parts/model-name.js';
import { Empty } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { rateOf } from '../state/account.js';
import { firstOfDays, serverDay } from '../state/clock.js';
import { query, setQuery } from '../state/location.js';
import { modelName } from '../state/market.js';
import type { MoneyRead } from '../state/money-read.js';
import { texts } from '../texts/en/month.js';
import { LimitReached } from './limit.js';
import { NAMED, Spend, Swatch } from './spend.js';

/** Maximum number of names shown. The rest are combined into a single sum. */
export const MAX_NAMES = 100;
/** Number of rows shown before the user requests more. */
const MAX_ROWS = 8;
const MONTH = 'month';
const BY = { model: texts.byModel, name: texts.byName } as const;

/** The period selected in the URL, or this month. */
const chosenPeriod = (): string => {
  const period = query.value.get('period') ?? '';
  return Object.hasOwn(texts.periods, period) ? period : MONTH;
};

const firstOfMonth = (): string => `${serverDay.value.slice(0, 7)}-01`;

/** Returns the selected period's first and last UTC day. A last day of null is the current one. */
export function spendPeriod(): { first: string; last: string | null } {
  const period = chosenPeriod();
  if (period === MONTH) return { first: firstOfMonth(), last: null };
  if (period !== 'before') return { first: firstOfDays(Number(period.slice('days'.length))), last: null };
  const last = dayBefore(firstOfMonth());
  return { first: `${last.slice(0, 7)}-01`, last };
}

/** Shows a period's spend by day, and by model or by name. For this month, it includes a forecast. */
export function Month({ read }: { read: MoneyRead | null }) {
  const by = query.value.get('by') === 'name' ? 'name' : 'model';
  const costs = read === null ? null : costsOf(read, by);
  return (
    <section class="panel" aria-labelledby="month">
      <div class="panel-head">
        <h2 id="month">{texts.title}</h2>
        <select
          aria-label={texts.period}
          value={chosenPeriod()}
          onChange={({ currentTarget }) =>
            setQuery({ period: currentTarget.value === MONTH ? null : currentTarget.value })
          }
        >
          {Object.entries(texts.periods).map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </div>
      {costs !== null && costs.rows.length === 0 && costs.rest.length === 0 ? (
        <Empty icon="chart-line" title={texts.none}>
          <p>{texts.noneWhat}</p>
        </Empty>
      ) : (
        <div class="month">
          <Spend
            spent={read?.spend ?? null}
            models={read === null ? [] : rowsOf(read, 'model').map(({ key }) => key)}
          />
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
            {costs !== null && <Sums key={by} costs={costs} by={by} />}
          </div>
        </div>
      )}
    </section>
  );
}

/** Shows when the monthly limit was or will be reached, if that is within this month and before the credit runs out. */
export function MonthLimit({ account }: { account: NonNullable<MoneyRead['account']> }) {
  const { limitReachedAt, exhaustsAt, asOf } = account;
  if (limitReachedAt === null) return null;
  const at = secondsOf(limitReachedAt);
  const isReached = at < monthEnd(secondsOf(asOf)) && (exhaustsAt === null || at <= secondsOf(exhaustsAt));
  return isReached ? <LimitReached of="ofMonth" at={limitReachedAt} /> : null;
}

/** Returns the period's cost by model or by name. */
const sumsOf = ({ spend }: MoneyRead, by: keyof typeof BY) =>
  by === 'model'
    ? (spend?.models ?? []).map(({ gpu, amount }) => ({ key: gpu, amount: micro(amount) }))
    : (spend?.names ?? []).map(({ name, amount }) => ({ key: name, amount: micro(amount) }));

/** Whether the period ends in the future, so that the current hourly cost projects its total. */
const hasForecast = ({ spend }: MoneyRead): boolean => chosenPeriod() === MONTH && spend?.from === firstOfMonth();

/** Returns the rows of the cost table, whose order also determines the chart's colours. */
function rowsOf(read: MoneyRead, by: keyof typeof BY) {
  const rates = (hasForecast(read) ? (read.instances ?? []) : []).map((instance) => ({
    key: by === 'model' ? instance.gpu : instance.name,
    amount: rateOf(instance),
  }));
  return read.account === null ? [] : monthRows(sumsOf(read, by), rates, secondsOf(read.account.asOf));
}

/** Returns the period's cost by model or by name, separately everything else, and the total. Null if any of it is refused. */
function costsOf(read: MoneyRead, by: keyof typeof BY) {
  const { account, instances: rented, spend: spent } = read;
  if (account === null || rented === null || spent === null) return null;
  const burn = micro(account.burnPerHour);
  const asOf = secondsOf(account.asOf);
  const rows = rowsOf(read, by);
  const named = sumsOf(read, by).reduce((sum, { amount }) => sum + amount, 0n);
  const volumesRate = hasForecast(read) ? burn - rented.reduce((sum, instance) => sum + rateOf(instance), 0n) : 0n;
  const rest = [
    { key: texts.volumes, amount: micro(spent.volumes), rate: volumesRate },
    { key: texts.otherNames, amount: micro(spent.total) - named - micro(spent.volumes), rate: 0n },
  ].flatMap(({ key, amount, rate }) => monthRows([{ key, amount }], [{ key, amount: rate }], asOf));
  return { rows, rest, total: totalOf([...rows, ...rest]), isForecast: hasForecast(read) };
}

function Sums({
  costs: { rows, rest, total, isForecast },
  by,
}: {
  costs: NonNullable<ReturnType<typeof costsOf>>;
  by: keyof typeof BY;
}) {
  const isOpen = useSignal(false);
  // The rows add up to the total as displayed, which is rounded down like the figures at the top of the screen.
  const parts = [...rows, ...rest];
  const spentShown = inCentsOfSum(parts.map(({ spent }) => spent));
  const forecastShown = inCentsOfSum(parts.map(({ forecast }) => forecast));
  const all = parts.map((row, index) => ({
    ...row,
    key: by === 'model' && index < rows.length ? shortName(modelName(row.key)) : visible(row.key),
    shown: { spent: spentShown[index]!, forecast: forecastShown[index]! },
  }));
  const cut = isOpen.value || rows.length <= MAX_ROWS + 1 ? rows.length : MAX_ROWS;
  const hidden = all.slice(cut, rows.length);
  return (
    <Table
      columns={[
        [by === 'model' ? texts.model : texts.name],
        ...(isForecast ? [[texts.hourly, 'number', 'month-hourly'] as const] : []),
        [texts.spent, 'number'],
        ...(isForecast ? [[texts.projected, 'number', undefined, texts.projectedHint] as const] : []),
      ]}
    >
      {all.map((row, index) => {
        if (index > cut && index < rows.length) return null;
        if (index === cut && hidden.length > 0)
          return (
            <CostRow
              key="more"
              isForecast={isForecast}
              of={totalOf(hidden)}
              shown={{
                spent: sumOf(hidden.map(({ shown }) => shown.spent)),
                forecast: sumOf(hidden.map(({ shown }) => shown.forecast)),
              }}
            >
              <button
                type="button"
                class="plain small"
                onClick={() => {
                  isOpen.value = true;
                }}
              >
                {texts.more(hidden.length)}
              </button>
            </CostRow>
          );
        return (
          <CostRow key={`${index < rows.length}/${row.key}`} isForecast={isForecast} of={row} shown={row.shown}>
            {by === 'model' && <Swatch index={index < rows.length ? index : NAMED} />}
            <span>{row.key}</span>
          </CostRow>
        );
      })}
      <CostRow isForecast={isForecast} of={total} isTotal>
        {texts.total}
      </CostRow>
    </Table>
  );
}

interface CostRowProps {
  of: Omit<MonthRow, 'key'>;
  /** The amounts in whole cents; omitted for the total. */
  shown?: { spent: Micro; forecast: Micro };
  isForecast: boolean;
  isTotal?: boolean;
  /** The row's name. */
  children: ComponentChildren;
}

const CostRow = ({ of: { rate, spent, forecast }, shown, isForecast, isTotal = false, children }: CostRowProps) => (
  <tr class={isTotal ? 'total' : ''}>
    <th scope="row">
      <span class="month-model">{children}</span>
    </th>
    {isForecast && <td class="number month-hourly">{rate === 0n ? '–' : <Rate of={rate} />}</td>}
    <td class="number">
      <Amount of={spent} shown={shown?.spent} />
    </td>
    {isForecast && (
      <td class="number">
        <Amount of={forecast} shown={shown?.forecast} />
      </td>
    )}
  </tr>
);
