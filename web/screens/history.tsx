import { untracked, useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { requirementsOf } from '../figures/labels.js';
import { micro } from '../figures/money.js';
import { columnDay, columnTime, exactTime, secondsOf, uptime } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { InstanceHistory } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Amount, Rate } from '../parts/amount.js';
import { Icon } from '../parts/icon.js';
import { CostCell, MainCells } from '../parts/instance-cells.js';
import { RowLabels } from '../parts/labels.js';
import { Empty, Failure } from '../parts/notice.js';
import { DayField, Field, Select } from '../parts/query-fields.js';
import { Table } from '../parts/table.js';
import { accountChanges, costNow, type Instance, secondsSince, settled } from '../state/account.js';
import { serverNow } from '../state/clock.js';
import { HISTORY_FILTERS, historyFilter, STATES, STOP_REASONS } from '../state/history-filter.js';
import { countsOf, hasWords, wordsOf } from '../state/instance-filter.js';
import { query } from '../state/location.js';
import { modelName, models, regionName } from '../state/market.js';
import { MODES } from '../state/modes.js';
import { usePages } from '../state/pages.js';
import { regained } from '../state/stream.js';
import { texts } from '../texts/en/history.js';
import { texts as instances } from '../texts/en/instances.js';
import { InstanceMenu } from './instance-menu.js';
import { InstanceToolbar, useTypedSearch } from './instance-toolbar.js';

const PAGE = 50;
const FOLDED = ['reason', 'mode', 'from', 'to'];

/**
 * Lists all instances ever rented, newest first. The filters are in the URL and applied by the service, except the
 * search, which only applies to the rows read so far.
 */
export function History() {
  const { rows, hasMore, error, more } = useHistory();
  const search = useTypedSearch();
  const words = wordsOf(search.text);
  const found = rows?.filter((one) => hasWords(one, words, { model: modelName, location: regionName })) ?? null;
  const isFiltered = words.length > 0 || HISTORY_FILTERS.some((name) => query.value.has(name));
  const folded = FOLDED.filter((name) => query.value.has(name)).length;
  const isMore = useSignal(folded > 0);
  const current = settled.value?.instances;
  const labels = useMemo(
    () => countsOf([...(current ?? []), ...(rows ?? [])], (one) => requirementsOf(one.labels)),
    [current, rows],
  );
  return (
    <section class="panel" aria-label={texts.all}>
      <InstanceToolbar
        search={search}
        statuses={Object.entries(STATES)}
        models={[...models.value.values()].map(({ slug, name }) => [slug, name])}
        labels={labels.map(([label]) => [label, visible(label)])}
        names={['q', ...HISTORY_FILTERS]}
        more={
          <button
            type="button"
            aria-expanded={isMore.value}
            onClick={() => {
              isMore.value = !isMore.value;
            }}
          >
            {folded > 0 ? texts.moreSet(folded) : texts.more}
            <Icon name={isMore.value ? 'chevron-up' : 'chevron-down'} />
          </button>
        }
      >
        <p class="list-count small quiet" role="status">
          {found === null
            ? texts.reading
            : found.length > 0 && (hasMore ? texts.countShown : texts.count)(found.length)}
        </p>
      </InstanceToolbar>
      {isMore.value && (
        <div class="history-filters">
          <Field label={texts.stopped}>
            <Select name="reason" options={Object.entries(STOP_REASONS)} />
          </Field>
          <Field label={texts.priced}>
            <Select name="mode" options={MODES.map(({ value, name }) => [value, name])} />
          </Field>
          <DayField name="from" label={texts.rentedFrom} />
          <DayField name="to" label={texts.rentedTo} />
        </div>
      )}
      {error !== null && (
        <div class="padded">
          <Failure error={error} />
        </div>
      )}
      {found !== null && found.length > 0 && <Rows rows={found} hasMore={hasMore} />}
      {found?.length === 0 && error === null && (
        <Empty icon="history" title={isFiltered ? texts.noneOfThese(hasMore) : texts.none}>
          <p>{isFiltered ? texts.noneOfTheseHint : texts.noneHint}</p>
        </Empty>
      )}
      {hasMore && (
        <div class="padded">
          <button type="button" onClick={more}>
            {found?.length === 0 ? texts.back : texts.older}
          </button>
        </div>
      )}
    </section>
  );
}

/** Returns the number of seconds for which an instance has run. */
const ranFor = ({ status, usage, asOf }: Instance) =>
  usage.gpuSeconds + (status === 'RUNNING' ? secondsSince(secondsOf(asOf)) : 0);

/** Sorts instances by their time of deployment, newest first. Those that still exist come before all others. */
const newestFirst = (rows: readonly Instance[]) =>
  [...rows].sort(
    (one, other) =>
      Number(one.destroyedAt !== null) - Number(other.destroyedAt !== null) ||
      other.createdAt.localeCompare(one.createdAt),
  );

function Rows({ rows, hasMore }: { rows: readonly Instance[]; hasMore: boolean }) {
  const { columns } = instances;
  return (
    <Table
      class="instances past"
      foot={rows.length > 1 && <Total of={rows} hasMore={hasMore} />}
      columns={[
        [columns.name, undefined, 'i-name'],
        [columns.status, undefined, 'i-status'],
        [columns.gpus, undefined, 'i-gpus'],
        [texts.rented, undefined, 'i-from'],
        [texts.ran, 'number', 'i-ran'],
        [texts.gpuRate, 'number', 'i-rate', texts.rateMeans],
        [columns.cost, 'number', 'i-cost'],
        [columns.actions, 'unseen', 'i-more'],
      ]}
    >
      {rows.map((instance) => (
        <tr key={instance.id}>
          <MainCells instance={instance}>
            <RowLabels labels={instance.labels} />
          </MainCells>
          <td class="i-from figure">
            <time dateTime={instance.createdAt} title={exactTime(secondsOf(instance.createdAt))}>
              <span class="past-time">{columnTime(secondsOf(instance.createdAt), serverNow.peek())}</span>
              <span class="past-day">{columnDay(secondsOf(instance.createdAt), serverNow.peek())}</span>
            </time>
          </td>
          <td class="i-ran number">{uptime(untracked(() => ranFor(instance)))}</td>
          <td class="i-rate number">
            <Rate of={micro(instance.priceHr)} />
          </td>
          <CostCell instance={instance} />
          <td class="i-more">
            <InstanceMenu instance={instance} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** The last row, with the sums of the columns. */
function Total({ of: rows, hasMore }: { of: readonly Instance[]; hasMore: boolean }) {
  return (
    <tr>
      <th scope="row" class="i-name">
        {hasMore ? texts.totalShown : instances.total}
      </th>
      <td class="i-status" />
      <td class="i-gpus" />
      <td class="i-from" />
      <td class="i-ran number">{uptime(untracked(() => rows.reduce((total, one) => total + ranFor(one), 0)))}</td>
      <td class="i-rate" />
      <td class="i-cost number" data-unit="USD">
        <Amount of={untracked(() => rows.reduce((total, one) => total + costNow(one), 0n))} />
      </td>
      <td class="i-more" />
    </tr>
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
      rows: newestFirst(after === null ? page : [...(before?.rows ?? []), ...page]),
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
