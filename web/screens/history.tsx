import { micro, rates, usd } from '../figures/money.js';
import { secondsOf } from '../figures/time.js';
import { InstanceHistory } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { InstanceName } from '../parts/instance-name.js';
import { RequiredLabels } from '../parts/labels.js';
import { Empty, Failure } from '../parts/notice.js';
import { Clear, DayField, Field, Select } from '../parts/query-fields.js';
import { Status, stopReason } from '../parts/status.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { accountChanges, costNow, type Instance } from '../state/account.js';
import { HISTORY_FILTERS, historyFilter, STATES, STOP_REASONS } from '../state/history-filter.js';
import { query } from '../state/location.js';
import { models } from '../state/market.js';
import { MODES } from '../state/modes.js';
import { usePages } from '../state/pages.js';
import { regained } from '../state/stream.js';
import { texts } from '../texts/en/history.js';

const PAGE = 50;

/** Lists all instances ever rented, newest first. The filter is kept in the URL. */
export function History() {
  const { rows, hasMore, error, more } = useHistory();
  const isFiltered = HISTORY_FILTERS.some((name) => query.value.has(name));
  return (
    <section class="panel" aria-label={texts.all}>
      <search class="padded stack-tight" aria-label={texts.title}>
        <div class="filters">
          <Field label={texts.state}>
            <Select name="status" options={Object.entries(STATES)} />
          </Field>
          <Field label={texts.stopped}>
            <Select name="reason" options={Object.entries(STOP_REASONS)} />
          </Field>
          <Field label={texts.model} isWide>
            <Select name="model" options={[...models.value.values()].map(({ slug, name }) => [slug, name])} />
          </Field>
          <Field label={texts.priced}>
            <Select name="mode" options={MODES.map(({ value, name }) => [value, name])} />
          </Field>
          <DayField name="from" label={texts.rentedFrom} />
          <DayField name="to" label={texts.rentedTo} />
        </div>
        <RequiredLabels />
        <Clear names={HISTORY_FILTERS}>{texts.clear}</Clear>
      </search>
      {error !== null && (
        <div class="padded">
          <Failure error={error} />
        </div>
      )}
      {rows !== null && rows.length > 0 && <Rows rows={rows} />}
      {rows?.length === 0 && error === null && (
        <Empty icon="history" title={isFiltered ? texts.noneOfThese(hasMore) : texts.none}>
          <p>{isFiltered ? texts.noneOfTheseHint : texts.noneHint}</p>
        </Empty>
      )}
      <div class="padded row">
        <p class="small quiet" role="status">
          {rows === null ? texts.reading : countText(rows.length, hasMore)}
        </p>
        {hasMore && (
          <button type="button" onClick={more}>
            {rows?.length === 0 ? texts.back : texts.older}
          </button>
        )}
      </div>
    </section>
  );
}

const countText = (count: number, hasMore: boolean) =>
  count === 0 ? '' : (hasMore ? texts.countSoFar : texts.count)(count);

function Rows({ rows }: { rows: readonly Instance[] }) {
  const locked = rates(rows.map(({ priceHr }) => micro(priceHr)));
  return (
    <Table
      isCards
      columns={[
        [texts.columns.instance],
        [texts.columns.state],
        [texts.columns.from],
        [texts.columns.to],
        [texts.columns.rate, 'number'],
        [texts.columns.cost, 'number'],
      ]}
    >
      {rows.map((instance, index) => (
        <tr key={instance.id}>
          <InstanceName instance={instance} />
          <td class="wide">
            <Status instance={instance} /> <span class="small quiet">{stopReason(instance)}</span>
          </td>
          <td class="wide" data-label={texts.columns.from}>
            <Time at={secondsOf(instance.createdAt)} />
          </td>
          <td class="wide" data-label={texts.columns.to}>
            {instance.destroyedAt === null ? (
              <span class="quiet">–</span>
            ) : (
              <Time at={secondsOf(instance.destroyedAt)} />
            )}
          </td>
          <td class="number" data-label={texts.columns.rate}>
            {locked[index]}
          </td>
          <td class="number" data-label={texts.columns.cost}>
            {usd(costNow(instance), 4)}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** Reads page after page, starting with the newest. Starts again if something has changed or the filter differs. */
function useHistory() {
  const filter = historyFilter.value;
  const read = async (after: string | null, before: { rows: readonly Instance[] } | null) => {
    const { instanceHistory } = await send(InstanceHistory, { filter, first: PAGE, after });
    if (instanceHistory === null) return null;
    const { edges, pageInfo } = instanceHistory;
    const page = edges.map(({ node }) => node);
    return {
      rows: after === null ? page : [...(before?.rows ?? []), ...page],
      cursor: pageInfo.hasNextPage ? (pageInfo.endCursor ?? null) : null,
    };
  };
  const { known, error, more } = usePages<{ rows: readonly Instance[]; cursor: string | null }>(read, [
    accountChanges.value,
    regained.value,
    JSON.stringify(filter),
  ]);
  return {
    rows: known?.rows ?? null,
    hasMore: known != null && known.cursor !== null,
    error,
    more: () => more(known?.cursor ?? null),
  };
}
