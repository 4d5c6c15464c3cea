import { useMemo } from 'preact/hooks';
import { requirementsOf } from '../figures/labels.js';
import { decimalsOf, micro } from '../figures/money.js';
import { secondsOf, utcTime } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { InstanceHistory } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Amount } from '../parts/amount.js';
import { Fold } from '../parts/fold.js';
import { CostCell, MainCells } from '../parts/instance-cells.js';
import { RowLabels } from '../parts/labels.js';
import { Empty, Failure } from '../parts/notice.js';
import { DayField, Field, Select } from '../parts/query-fields.js';
import { Table } from '../parts/table.js';
import { accountChanges, type Instance, settled } from '../state/account.js';
import { HISTORY_FILTERS, historyFilter, STATES, STOP_REASONS } from '../state/history-filter.js';
import { countsOf, hasWords, wordsOf } from '../state/instance-filter.js';
import { query } from '../state/location.js';
import { modelName, models, regionName } from '../state/market.js';
import { MODES } from '../state/modes.js';
import { usePages } from '../state/pages.js';
import { regained } from '../state/stream.js';
import { texts } from '../texts/en/history.js';
import { texts as instances } from '../texts/en/instances.js';
import { locale } from '../texts/en/locale.js';
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
      >
        <p class="list-count small quiet" role="status">
          {found === null ? texts.reading : countText(found.length, hasMore)}
        </p>
      </InstanceToolbar>
      <div class="list-more">
        <Fold title={texts.more} summary={folded > 0 ? texts.moreSet(folded) : undefined} isOpen={folded > 0}>
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
        </Fold>
      </div>
      {error !== null && (
        <div class="padded">
          <Failure error={error} />
        </div>
      )}
      {found !== null && found.length > 0 && <Rows rows={found} />}
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

const countText = (count: number, hasMore: boolean) =>
  count === 0 ? '' : (hasMore ? texts.countSoFar : texts.count)(count);

function Rows({ rows }: { rows: readonly Instance[] }) {
  const decimals = decimalsOf(
    rows.map(({ priceHr }) => micro(priceHr)),
    3,
  );
  const { columns } = instances;
  return (
    <Table
      class="instances past"
      columns={[
        [columns.name, undefined, 'i-name'],
        [columns.status, undefined, 'i-status'],
        [columns.gpus, undefined, 'i-gpus'],
        [texts.rented, undefined, 'i-from'],
        [texts.ended, undefined, 'i-to'],
        [columns.rate, 'number', 'i-rate', texts.rateMeans],
        [columns.cost, 'number', 'i-cost'],
        [columns.actions, 'unseen', 'i-more'],
      ]}
    >
      {rows.map((instance) => (
        <tr key={instance.id}>
          <MainCells instance={instance}>
            <RowLabels labels={instance.labels} />
          </MainCells>
          <TimeCell at={instance.createdAt} class="i-from" />
          <TimeCell at={instance.destroyedAt} class="i-to" />
          <td class="i-rate number">
            <Amount of={micro(instance.priceHr)} decimals={decimals} />
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

const moment = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });

/** The cell with a local time, whose UTC time appears on hover. */
function TimeCell({ at, class: className }: { at: string | null; class: string }) {
  return (
    <td class={`${className} figure`}>
      {at === null ? (
        <span class="quiet">–</span>
      ) : (
        <time dateTime={at} title={utcTime(secondsOf(at))}>
          {moment.format(new Date(at))}
        </time>
      )}
    </td>
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
