import type { ResultOf } from 'gql.tada';
import { type Micro, micro, rate, usd } from '../figures/money.js';
import { monthRows } from '../figures/month.js';
import { secondsOf } from '../figures/time.js';
import { SpendOfMonth } from '../graph/documents.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { monthSpendNow, rateOf, secondsSince, settled, sumsAge } from '../state/account.js';
import { serverDay } from '../state/clock.js';
import { forecast } from '../state/forecast.js';
import { query, setQuery } from '../state/location.js';
import { modelName } from '../state/market.js';
import { useRead } from '../state/read.js';
import { texts } from '../texts/en/month.js';

type Spent = NonNullable<ResultOf<typeof SpendOfMonth>['spendByDay']>;

/** Most names; the rest is one sum. */
const MOST_NAMES = 100;
const BY = { model: texts.byModel, name: texts.byName } as const;

/** What the month has cost, and what it comes to at its end if all goes on, by model or by name. */
export function Month() {
  const from = `${serverDay.value.slice(0, 7)}-01`;
  const { data, error } = useRead(SpendOfMonth, { from, limit: MOST_NAMES }, sumsAge);
  const spent = data.value?.spendByDay ?? null;
  const by = query.value.get('by') === 'name' ? 'name' : 'model';
  return (
    <section class="panel" aria-labelledby="month">
      <div class="panel-head">
        <div>
          <h2 id="month">{texts.title}</h2>
          <p class="small quiet">{texts.what}</p>
        </div>
        <fieldset class="segments" aria-label={texts.sums}>
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
      {error.value !== null && (
        <div class="padded">
          <Failure error={error.value} />
        </div>
      )}
      {spent !== null && <Sums spent={spent} by={by} />}
    </section>
  );
}

function Sums({ spent, by }: { spent: Spent; by: keyof typeof BY }) {
  const known = settled.value;
  const expected = forecast.value;
  if (known === null || expected === null) return null;
  const instances = known.instances.map((instance) => ({
    key: by === 'model' ? instance.gpu : instance.name,
    amount: rateOf(instance),
  }));
  const asOf = secondsOf(spent.asOf);
  const now = asOf + secondsSince(asOf);
  const sums =
    by === 'model'
      ? spent.models.map(({ gpu, amount }) => ({ key: gpu, amount: micro(amount) }))
      : spent.names.map(({ name, amount }) => ({ key: name, amount: micro(amount) }));
  const rows = monthRows(sums, instances, asOf, now);
  const named = sums.reduce((sum, { amount }) => sum + amount, 0n);
  const volumesRate = known.burn - instances.reduce((sum, { amount }) => sum + amount, 0n);
  const rest = [
    { key: texts.volumes, amount: micro(spent.volumes), rate: volumesRate },
    { key: texts.otherNames, amount: micro(spent.total) - named - micro(spent.volumes), rate: 0n },
  ].flatMap(({ key, amount, rate }) => monthRows([{ key, amount }], [{ key, amount: rate }], asOf, now));
  if (rows.length === 0 && rest.length === 0)
    return (
      <Empty title={texts.none}>
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
          {texts.together}
        </th>
        <Figures hourly={known.burn} spent={monthSpendNow.value} forecast={expected.total} />
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
