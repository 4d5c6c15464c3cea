import { useComputed, useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { useEffect } from 'preact/hooks';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { Activity as ActivityDocument } from '../graph/documents.js';
import { Ago } from '../parts/ago.js';
import { Icon } from '../parts/icon.js';
import { Empty, Failure } from '../parts/notice.js';
import { Clear, Select } from '../parts/query-fields.js';
import { Table } from '../parts/table.js';
import { accountChanges, instanceName } from '../state/account.js';
import { ACTIVITY_FILTERS, activityFilter, activityPeriod } from '../state/activity-filter.js';
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
        <div class="list-end row">
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
  const isOpen = useSignal(false);
  return (
    <search class="list-tools activity-filters" aria-label={texts.filters}>
      <div class="search-field">
        <Icon name="search" />
        <input
          type="search"
          name="about"
          maxLength={64}
          autocomplete="off"
          spellcheck={false}
          aria-label={texts.about}
          placeholder={texts.aboutExample}
          value={query.value.get('about') ?? ''}
          onChange={({ currentTarget }) => setQuery({ about: currentTarget.value.trim() }, { replace: true })}
        />
      </div>
      <button
        type="button"
        class="list-filters-button"
        aria-expanded={isOpen.value}
        aria-label={texts.more}
        onClick={() => {
          isOpen.value = !isOpen.value;
        }}
      >
        <Icon name="sliders-horizontal" />
      </button>
      <div class={`list-filters ${isOpen.value ? 'open' : ''}`}>
        <Select
          name="operation"
          label={texts.operation}
          any={texts.any.operation}
          options={Object.entries(operations)}
        />
        <Select name="key" label={texts.key} any={texts.any.key} options={[...keyNames.value]} />
        <Select name="outcome" label={texts.outcome} any={texts.any.outcome} options={OUTCOMES} />
        <Period />
        <Clear names={ACTIVITY_FILTERS}>{texts.clear}</Clear>
      </div>
    </search>
  );
}

/** A choice of the period. Two days appear next to it if the user chooses to enter them. */
function Period() {
  const period = activityPeriod.value;
  return (
    <>
      <select
        aria-label={texts.period}
        class={period === '' ? '' : 'set'}
        value={period}
        onChange={({ currentTarget }) => setQuery({ period: currentTarget.value, from: null, to: null })}
      >
        <option value="">{texts.any.period}</option>
        {Object.entries(texts.periods).map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      {period === 'custom' && (
        <>
          <Day name="from" label={texts.from} />
          <Day name="to" label={texts.to} />
        </>
      )}
    </>
  );
}

/** A field for a UTC day, with its label next to it. */
const Day = ({ name, label }: { name: string; label: string }) => (
  <label class="inline-field">
    <span class="small quiet">{label}</span>
    <input
      type="date"
      name={name}
      min="1970-01-01"
      title={texts.utcDay}
      value={query.value.get(name) ?? ''}
      onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value }, { replace: true })}
    />
  </label>
);

function Rows({ entries }: { entries: readonly Entry[] }) {
  const { what, about, who, via, from, when } = texts.columns;
  return (
    <Table
      isCards
      class="listing activity"
      caption={texts.filters}
      columns={[[what], [about], [who], [via], [from], [when]]}
    >
      {entries.map((entry, index) => (
        <tr key={index}>
          <th scope="row">
            <span class="activity-what" title={entry.code === null ? undefined : (refusals[entry.code] ?? entry.code)}>
              {operations[entry.operation] ?? visible(entry.operation)}
              {entry.code !== null && (
                <>
                  <span class="badge bad">{texts.refusedTimes(entry.times)}</span>
                  <span class="small quiet">{refusals[entry.code] ?? visible(entry.code)}</span>
                </>
              )}
            </span>
          </th>
          <td class="card-start">
            <Targets of={entry.targets} />
            {entry.targets.length === 0 && (
              <span class="activity-key">
                <Key id={entry.keyId} />
              </span>
            )}
          </td>
          <td class="no-card">
            <Key id={entry.keyId} />
          </td>
          <td class="no-card quiet">{entry.byConsole ? texts.inConsole : texts.byProgram}</td>
          <td class="no-card mono nowrap activity-ip" title={visible(entry.address)}>
            {visible(entry.address)}
          </td>
          <td class="nowrap">
            <Ago at={secondsOf(entry.at)} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** Links to an instance under its name, followed by its id. Only live instances' names are known. */
function Instance({ id }: { id: string }) {
  const name = instanceName(id);
  return (
    <a class={name === id ? 'mono' : ''} href={`/instances/${id}`}>
      {name}
      {name !== id && <span class="mono quiet small"> {id}</span>}
    </a>
  );
}

/** Shows ids and names. Instances are shown as links. */
function Targets({ of: targets }: { of: readonly string[] }) {
  return (
    <span class="activity-targets" title={targets.map(visible).join(', ')}>
      {targets.map((target) =>
        INSTANCE.test(target) ? (
          <Instance key={target} id={target} />
        ) : (
          <span key={target} class="mono">
            {visible(target)}
          </span>
        ),
      )}
    </span>
  );
}

function Key({ id }: { id: string }) {
  const name = useComputed(() => keyNames.value.get(id) ?? id);
  return (
    <span class={`id${keyNames.value.has(id) && !name.value.startsWith('…') ? '' : ' mono'}`} title={id}>
      {name.value}
    </span>
  );
}
