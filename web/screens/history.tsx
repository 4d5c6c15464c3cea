import { computed, untracked, useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { inCentsOfSum } from '../figures/apportion.js';
import { requirementsOf } from '../figures/labels.js';
import { CENT, type Micro, micro, sumOf } from '../figures/money.js';
import { byLocalDay, exactTime, secondsOf, timeOfDay, uptime } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { InstanceHistory } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Amount, Rate } from '../parts/amount.js';
import { DayName } from '../parts/day-name.js';
import { Icon } from '../parts/icon.js';
import { MainCells } from '../parts/instance-cells.js';
import { RowLabels } from '../parts/labels.js';
import { Empty, Failure } from '../parts/notice.js';
import { DayField, Field, Select } from '../parts/query-fields.js';
import { Table } from '../parts/table.js';
import { accountChanges, costNow, type Instance, secondsSince, settled } from '../state/account.js';
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
  const costs = useCosts(found ?? []);
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
            : found.length > 0 && (
                <>
                  <span>{(hasMore ? texts.countShown : texts.count)(found.length)}</span> ·{' '}
                  <Amount of={sumOf(costs.exact)} shown={sumOf(costs.shown)} unit="USD" />
                </>
              )}
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
      {found !== null && found.length > 0 && <Rows rows={found} costs={costs} hasMore={hasMore} />}
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

/** Sorts instances by their time of deployment, newest first. */
const newestFirst = (rows: readonly Instance[]) =>
  [...rows].sort((one, other) => other.createdAt.localeCompare(one.createdAt));

/** The rows' costs, also in whole cents that add up to their sum. */
interface Costs {
  exact: readonly Micro[];
  shown: readonly Micro[];
}

/** Returns the rows' current costs, which change once per cent of their sum. */
function useCosts(rows: readonly Instance[]): Costs {
  const key = rows.map(({ id }) => id).join();
  const cents = useMemo(() => computed(() => sumOf(rows.map(costNow)) / CENT), [rows, key]).value;
  return useMemo(() => {
    const exact = untracked(() => rows.map(costNow));
    return { exact, shown: inCentsOfSum(exact) };
  }, [key, cents]);
}

/** The rows by day. Each day's first line names it and shows what its rentals cost, unless some aren't read yet. */
function Rows({ rows, costs, hasMore }: { rows: readonly Instance[]; costs: Costs; hasMore: boolean }) {
  const { columns } = instances;
  const all = rows.map((instance, index) => ({ instance, exact: costs.exact[index]!, shown: costs.shown[index]! }));
  const days = byLocalDay(all, ({ instance }) => secondsOf(instance.createdAt));
  return (
    <Table
      class="instances past"
      isGrouped
      columns={[
        [columns.name, undefined, 'i-name'],
        [columns.status, undefined, 'i-status'],
        [columns.gpus, undefined, 'i-gpus'],
        [texts.rented, 'number', 'i-from'],
        [texts.ran, 'number', 'i-ran'],
        [texts.gpuRate, 'number', 'i-rate', texts.rateMeans],
        [columns.cost, 'number', 'i-cost'],
        [columns.actions, 'unseen', 'i-more'],
      ]}
    >
      {days.map(({ key, at, rows: ofDay }, index) => (
        <tbody key={key}>
          <tr class="past-day">
            <th scope="rowgroup" class="i-name" colSpan={3}>
              <DayName at={at} />
            </th>
            <td class="i-from" />
            <td class="i-ran" />
            <td class="i-rate" />
            <td class="i-cost number" data-unit="USD">
              {!(hasMore && index === days.length - 1) && (
                <Amount of={sumOf(ofDay.map(({ exact }) => exact))} shown={sumOf(ofDay.map(({ shown }) => shown))} />
              )}
            </td>
            <td class="i-more" />
          </tr>
          {ofDay.map(({ instance, exact, shown }) => (
            <tr key={instance.id}>
              <MainCells instance={instance}>
                <RowLabels labels={instance.labels} />
              </MainCells>
              <td class="i-from number">
                <time dateTime={instance.createdAt} title={exactTime(secondsOf(instance.createdAt))}>
                  {timeOfDay(secondsOf(instance.createdAt))}
                </time>
              </td>
              <td class="i-ran number">{uptime(untracked(() => ranFor(instance)))}</td>
              <td class="i-rate number">
                <Rate of={micro(instance.priceHr)} />
              </td>
              <td class="i-cost number" data-unit="USD">
                <Amount of={exact} shown={shown} />
              </td>
              <td class="i-more">
                <InstanceMenu instance={instance} />
              </td>
            </tr>
          ))}
        </tbody>
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
