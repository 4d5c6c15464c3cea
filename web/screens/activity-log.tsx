import { useComputed, useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { useEffect } from 'preact/hooks';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { Activity as ActivityDocument } from '../graph/documents.js';
import { Empty, Failure } from '../parts/notice.js';
import { Clear, DayField, Field, Select } from '../parts/query-fields.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { accountChanges } from '../state/account.js';
import { ACTIVITY_FILTERS, activityFilter } from '../state/activity-filter.js';
import { keyNames, readKeyNames } from '../state/key-names.js';
import { query, setQuery } from '../state/location.js';
import { useRead } from '../state/read.js';
import { texts } from '../texts/en/activity-log.js';
import { operations, refusals } from '../texts/en/operations.js';

type Entry = NonNullable<ResultOf<typeof ActivityDocument>['activity']>['edges'][number]['node'];

const PAGE = 50;
const INSTANCE = /^i-[0-9a-f]{8}$/;

/** Lists every change requested with a key, newest first, one page at a time. The filter is kept in the URL. */
export function ActivityLog() {
  /** Cursors of the previous pages. */
  const before = useSignal<readonly (string | null)[]>([]);
  const filter = activityFilter.value;
  const filterText = JSON.stringify(filter);
  useEffect(() => {
    before.value = [];
  }, [filterText]);
  useEffect(() => void readKeyNames(), []);
  const after = before.value.at(-1) ?? null;
  const { data, error } = useRead(ActivityDocument, { filter, first: PAGE, after }, accountChanges);
  const page = data.value?.activity ?? null;
  const isFiltered = ACTIVITY_FILTERS.some((name) => query.value.has(name));
  return (
    <section class="panel" aria-label={texts.filters}>
      <Filters />
      <Failure error={error.value} />
      {page !== null && page.edges.length === 0 && (
        <Empty icon="activity" title={isFiltered ? texts.noneOfThese : texts.none}>
          <p>{isFiltered ? texts.noneOfTheseHint : texts.noneHint}</p>
        </Empty>
      )}
      {page !== null && page.edges.length > 0 && <Rows entries={page.edges.map(({ node }) => node)} />}
      {(before.value.length > 0 || page?.pageInfo.hasNextPage) && (
        <div class="padded row">
          {before.value.length > 0 && (
            <button
              type="button"
              onClick={() => {
                before.value = before.value.slice(0, -1);
              }}
            >
              {texts.newer}
            </button>
          )}
          {page?.pageInfo.hasNextPage && (
            <button
              type="button"
              onClick={() => {
                before.value = [...before.value, page.pageInfo.endCursor ?? null];
              }}
            >
              {texts.older}
            </button>
          )}
        </div>
      )}
    </section>
  );
}

const OUTCOMES = [
  ['done', texts.done],
  ['refused', texts.refused],
] as const;

function Filters() {
  return (
    <search class="padded stack-tight" aria-label={texts.filters}>
      <p class="small quiet">{texts.what}</p>
      <div class="filters">
        <Field label={texts.operation} isWide>
          <Select name="operation" options={Object.entries(operations)} />
        </Field>
        <Field label={texts.key} isWide>
          <Select name="key" options={[...keyNames.value]} />
        </Field>
        <Field label={texts.outcome}>
          <Select name="outcome" options={OUTCOMES} />
        </Field>
        <Field label={texts.about} isWide>
          <input
            name="about"
            maxLength={64}
            autocomplete="off"
            spellcheck={false}
            value={query.value.get('about') ?? ''}
            onChange={({ currentTarget }) => setQuery({ about: currentTarget.value.trim() }, { replace: true })}
          />
        </Field>
        <DayField name="from" label={texts.from} />
        <DayField name="to" label={texts.to} />
      </div>
      <Clear names={ACTIVITY_FILTERS}>{texts.clear}</Clear>
    </search>
  );
}

function Rows({ entries }: { entries: readonly Entry[] }) {
  const { what, about, who, from, when } = texts.columns;
  return (
    <Table isCards caption={texts.filters} columns={[[what], [about], [who], [from], [when]]}>
      {entries.map((entry, index) => (
        <tr key={index}>
          <th scope="row" class="wide">
            {operations[entry.operation] ?? visible(entry.operation)}
            {entry.code !== null && (
              <span class="activity-refusal small quiet">
                <span class="badge bad">{texts.refusedTimes(entry.times)}</span>{' '}
                {refusals[entry.code] ?? visible(entry.code)}
              </span>
            )}
          </th>
          <td class="wide" data-label={about}>
            <Targets of={entry.targets} />
          </td>
          <td class="wide" data-label={who}>
            <Key id={entry.keyId} byConsole={entry.byConsole} />
          </td>
          <td class="wide mono small" data-label={from}>
            {visible(entry.address)}
          </td>
          <td class="wide" data-label={when}>
            <Time at={secondsOf(entry.at)} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** Shows ids and names. Instances are shown as links. */
function Targets({ of: targets }: { of: readonly string[] }) {
  return (
    <span class="mono small activity-targets">
      {targets.map((target) =>
        INSTANCE.test(target) ? (
          <a key={target} href={`/instances/${target}`}>
            {target}
          </a>
        ) : (
          <span key={target}>{visible(target)}</span>
        ),
      )}
    </span>
  );
}

function Key({ id, byConsole }: { id: string; byConsole: boolean }) {
  const name = useComputed(() => keyNames.value.get(id) ?? id);
  return (
    <>
      <span title={id}>{name.value}</span>
      <br />
      <span class="small quiet">{byConsole ? texts.inConsole : texts.byProgram}</span>
    </>
  );
}
