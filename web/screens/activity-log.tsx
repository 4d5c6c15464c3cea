import { useComputed, useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { useEffect } from 'preact/hooks';
import { portOf } from '../figures/port.js';
import { byLocalDay, dayName, exactTime, secondsOf, timeToSecond } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { Activity as ActivityDocument, SubjectNames } from '../graph/documents.js';
import { Icon } from '../parts/icon.js';
import { Empty, Failure } from '../parts/notice.js';
import { Clear, Select } from '../parts/query-fields.js';
import { Table } from '../parts/table.js';
import { accountChanges, instanceName } from '../state/account.js';
import { ACTIVITY_FILTERS, activityFilter, activityPeriod } from '../state/activity-filter.js';
import { serverNow } from '../state/clock.js';
import { keyNames, ownKeyId, readKeyNames } from '../state/key-names.js';
import { query, setQuery } from '../state/location.js';
import { useRead } from '../state/read.js';
import { texts } from '../texts/en/activity-log.js';
import { attempts, operations, refusals, refusedText } from '../texts/en/operations.js';

type Entry = NonNullable<ResultOf<typeof ActivityDocument>['activity']>['edges'][number]['node'];

const PAGE = 50;
const INSTANCE = /^i-[0-9a-f]{8}$/;

/** Icons of the subjects in operations' names, of which the first match counts. All others change an instance. */
const ICONS = [
  [/volume/i, 'hard-drive'],
  [/webhook|redeliver/i, 'webhook'],
  [/sshKey/i, 'terminal'],
  [/passkey/i, 'fingerprint-pattern'],
  [/apiKey/i, 'key-round'],
  [/secret/i, 'shield-check'],
  [/template/i, 'layers'],
  [/mail/i, 'mail'],
  [/topUp|monthlyLimit|balance/i, 'wallet'],
] as const;

const iconOf = (operation: string): string => ICONS.find(([subject]) => subject.test(operation))?.[1] ?? 'server';

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
  const names = useNames();
  const { what, about, who, from, when } = texts.columns;
  // Rendered again once per day, not every second.
  void useComputed(() => new Date(serverNow.value * 1_000).toDateString()).value;
  const now = serverNow.peek();
  const columns = [[what], [about], [who], [from], [when, 'number']] as const;
  return (
    <Table isCards isGrouped class="listing activity" caption={texts.filters} columns={columns}>
      {byLocalDay(entries, ({ at }) => secondsOf(at)).map(({ key, at, rows }) => (
        <tbody key={key}>
          <tr class="day">
            <th scope="rowgroup" colSpan={columns.length}>
              {dayName(at, now)}
            </th>
          </tr>
          {rows.map((entry, index) => (
            <Row key={index} entry={entry} names={names} />
          ))}
        </tbody>
      ))}
    </Table>
  );
}

/** Names of volumes, webhooks, SSH keys and API keys by their id. */
type Names = ReadonlyMap<string, string>;

/** Reads the names of objects that still exist. A session without the right to read them sees ids. */
function useNames(): Names {
  const { data } = useRead(SubjectNames, {}, accountChanges);
  return useComputed(() => {
    const { volumes, webhooks, sshKeys } = data.value ?? {};
    return new Map([
      ...(volumes ?? []).map(({ id, name }) => [id, visible(name)] as const),
      ...(webhooks ?? []).map(({ id, url }) => [id, visible(hostOf(url))] as const),
      ...(sshKeys ?? []).map(({ id, comment, fingerprint }) => [id, visible(comment || fingerprint)] as const),
      ...keyNames.value,
    ]);
  }).value;
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url);

function Row({ entry, names }: { entry: Entry; names: Names }) {
  const { at, code, operation, times, targets, keyId, byConsole, address } = entry;
  const why = code === null ? null : (refusals[code] ?? visible(code));
  const second = secondsOf(at);
  return (
    <tr>
      <th scope="row">
        <span class="activity-what">
          <span class={why === null ? 'quiet' : 'bad'}>
            <Icon name={why === null ? iconOf(operation) : 'circle-x'} />
          </span>
          {why === null ? (
            (operations[operation] ?? visible(operation))
          ) : (
            <span class="activity-refused">
              {refusedText(attempts[operation] ?? visible(operation), times)}
              <span class="small quiet">{why}</span>
            </span>
          )}
        </span>
      </th>
      <td class="activity-about">
        {targets.length > 0 ? <Targets of={targets} names={names} /> : <span class="quiet">{texts.account}</span>}
      </td>
      <td class="activity-by small quiet">
        <Key id={keyId} /> · {byConsole ? texts.inConsole : texts.byProgram}
      </td>
      <td class="activity-ip mono nowrap quiet" title={visible(address)}>
        {visible(address)}
      </td>
      <td class="number activity-when">
        <time dateTime={at} title={exactTime(second)}>
          {timeToSecond(second)}
        </time>
      </td>
    </tr>
  );
}

/** Shows the names of a change's subjects, the instance first. Their ids appear on hover. */
function Targets({ of: targets, names }: { of: readonly string[]; names: Names }) {
  const sorted = [...targets].sort((one, other) => Number(INSTANCE.test(other)) - Number(INSTANCE.test(one)));
  return (
    <span class="activity-targets" title={targets.map(visible).join(', ')}>
      {sorted.map((target) =>
        INSTANCE.test(target) ? (
          <a key={target} href={`/instances/${target}`}>
            <Subject id={target} name={instanceName(target)} />
          </a>
        ) : (
          <span key={target}>
            <Subject id={target} name={names.get(target) ?? target} />
          </span>
        ),
      )}
    </span>
  );
}

/** Shows a name, or the id of an object that has no name or no longer exists. */
function Subject({ id, name }: { id: string; name: string }) {
  const port = portOf(id);
  if (port !== null) return texts.port(port);
  return name === id ? <span class="mono">{visible(id)}</span> : name;
}

function Key({ id }: { id: string }) {
  const name = useComputed(() => keyNames.value.get(id) ?? id).value;
  const hasName = keyNames.value.has(id) && !name.startsWith('…');
  return (
    <span class={`id${hasName ? '' : ' mono'}`} title={ownKeyId.value === id ? texts.ownKey : id}>
      {name}
    </span>
  );
}
