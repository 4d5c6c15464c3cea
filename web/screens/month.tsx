import { type Micro, micro, rate, usd } from '../figures/money.js';
import { monthRows } from '../figures/month.js';
import { secondsOf } from '../figures/time.js';
import { Empty } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { rateOf } from '../state/account.js';
import { forecast } from '../state/forecast.js';
import { query, setQuery } from '../state/location.js';
import { modelName } from '../state/market.js';
import type { MoneyRead } from '../state/money-read.js';
import { texts } from '../texts/en/month.js';

/** Maximum number of names shown. The rest are combined into a single sum. */
export const MAX_NAMES = 100;
const BY = { model: texts.byModel, name: texts.byName } as const;

/** Shows the month's cost so far and its forecast, by model or by name. */
export function Month({ read }: { read: MoneyRead | null }) {
  const by = query.value.get('by') === 'name' ? 'name' : 'model';
  return (
    <section class="panel" aria-labelledby="month">
      <div class="panel-head">
        <div>
          <h2 id="month">{texts.title}</h2>
          <p class="small quiet">{texts.what}</p>
        </div>
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
      {read !== null && <Sums read={read} by={by} />}
    </section>
  );
}

function Sums({ read: { account, instances: rented, month: spent }, by }: { read: MoneyRead; by: keyof typeof BY }) {
  const expected = forecast.value;
  if (account === null || rented === null || spent === null || expected === null) return null;
  const burn = micro(account.burnPerHour);
  const instances = rented.map((instance) => ({
    key: by === 'model' ? instance.gpu : instance.name,
    amount: rateOf(instance),
  }));
  const asOf = secondsOf(account.asOf);
  const sums =
    by === 'model'
      ? spent.models.map(({ gpu, amount }) => ({ key: gpu, amount: micro(amount) }))
      : spent.names.map(({ name, amount }) => ({ key: name, amount: micro(amount) }));
  const rows = monthRows(sums, instances, asOf);
  const named = sums.reduce((sum, { amount }) => sum + amount, 0n);
  const volumesRate = burn - instances.reduce((sum, { amount }) => sum + amount, 0n);
  const rest = [
    { key: texts.volumes, amount: micro(spent.volumes), rate: volumesRate },
    { key: texts.otherNames, amount: micro(spent.total) - named - micro(spent.volumes), rate: 0n },
  ].flatMap(({ key, amount, rate }) => monthRows([{ key, amount }], [{ key, amount: rate }], asOf));
  if (rows.length === 0 && rest.length === 0)
    return (
      <Empty icon="calendar" title={texts.none}>
        <p>{texts.noneWhat}</p>
      </Empty>
    );
  return (
    <Table
      isCards
      columns={[
        [by === 'model' ? texts.model : texts.name],
        [texts.hourly, 'number'],
        [texts.spent, 'number'],
        [texts.atEnd, 'number'],
      ]}
    >
      {[...rows.map((row) => ({ ...row, key: by === 'model' ? modelName(row.key) : row.key })), ...rest].map((row) => (
        <tr key={row.key}>
          <th scope="row" class="wide">
            {row.key}
          </th>
          <Figures hourly={row.rate} spent={row.spent} forecast={row.forecast} />
        </tr>
      ))}
      <tr>
        <th scope="row" class="wide">
          {texts.total}
        </th>
        <Figures hourly={burn} spent={micro(account.monthSpend)} forecast={expected.total} />
      </tr>
    </Table>
  );
}

function Figures({ hourly, spent, forecast }: { hourly: Micro; spent: Micro; forecast: Micro }) {
  return (
    <>
      <td class="number" data-label={texts.hourly}>
        {rate(hourly)}
      </td>
      <td class="number" data-label={texts.spent}>
        {usd(spent, 4)}
      </td>
      <td class="number" data-label={texts.atEnd}>
        {usd(forecast)}
      </td>
    </>
  );
}
