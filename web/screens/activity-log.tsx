import { useComputed, useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { useEffect } from 'preact/hooks';
import { runsOf } from '../figures/activity-runs.js';
import { portOf } from '../figures/port.js';
import { byLocalDay, dayName, exactTime, secondsOf, timeOfDay } from '../figures/time.js';
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
const MACHINE = /^m-[0-9a-f]+$/;

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
          options={Object.entries({ ...operations, ...texts.deployments })}
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
  const { what, about, who, via, address, when } = texts.columns;
  // Rendered again once per day, not every second.
  void useComputed(() => new Date(serverNow.value * 1_000).toDateString()).value;
  const now = serverNow.peek();
  const columns = [
    [what],
    [about],
    [who],
    [via, undefined, 'activity-via'],
    [address, undefined, 'activity-ip'],
    [when, 'number', 'activity-when'],
  ] as const;
  return (
    <Table isCards isGrouped class="listing activity" caption={texts.filters} columns={columns}>
      {byLocalDay(entries, ({ at }) => secondsOf(at)).map(({ key, at, rows }) => (
        <tbody key={key}>
          <tr class="day">
            <th scope="rowgroup" colSpan={columns.length}>
              <span>{dayName(at, now)}</span>
            </th>
          </tr>
          {runsOf(rows).map((run, index, runs) => (
            // The oldest entry identifies a run, to which newer ones may be added.
            <Run key={`${run.at(-1)!.at} ${runs.length - index}`} of={run} names={names} />
          ))}
        </tbody>
      ))}
    </Table>
  );
}

interface RunProps {
  of: readonly Entry[];
  names: Names;
}

/** Shows one entry, or one row for several equal changes that opens to show each. */
function Run({ of: run, names }: RunProps) {
  const isOpen = useSignal(false);
  const [newest] = run as readonly [Entry];
  if (run.length === 1) return <Row entry={newest} names={names} />;
  const subjects = run.map(({ targets }) => byRank(targets)[0] ?? '');
  const areDifferent = new Set(subjects).size === run.length;
  const name = nameOf(newest);
  const what = (areDifferent ? texts.several(run.length, newest.operation) : null) ?? texts.times(name, run.length);
  return (
    <>
      <tr class="activity-run">
        <th scope="row">
          <span class="activity-what">
            <Mark of={newest} />
            <button
              type="button"
              class="ghost"
              aria-expanded={isOpen.value}
              onClick={() => {
                isOpen.value = !isOpen.value;
              }}
            >
              <span>{what}</span>
              <Icon name={isOpen.value ? 'chevron-up' : 'chevron-down'} />
            </button>
          </span>
        </th>
        <td class="activity-about quiet">
          {!isOpen.value && (
            <span class="activity-targets">
              <span>{[...new Set(subjects)].map((id) => subjectName(id, names)).join(', ')}</span>
            </span>
          )}
        </td>
        <By entry={newest} />
        <When of={newest} />
      </tr>
      {isOpen.value && run.map((entry, index) => <Row key={run.length - index} entry={entry} names={names} isMember />)}
    </>
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

interface RowProps {
  entry: Entry;
  names: Names;
  /** Whether the row belongs to the run above, which shows who made the change. */
  isMember?: boolean;
}

function Row({ entry, names, isMember = false }: RowProps) {
  const { code, operation, times, targets } = entry;
  const why = code === null ? null : (refusals[code] ?? visible(code));
  return (
    <tr class={isMember ? 'member' : ''}>
      <th scope="row">
        <span class="activity-what">
          {!isMember && <Mark of={entry} />}
          {why === null ? (
            nameOf(entry)
          ) : (
            <span class="activity-refused">
              {refusedText(attempts[operation] ?? visible(operation), times)}
              <span class="small quiet">{why}</span>
            </span>
          )}
        </span>
      </th>
      <td class="activity-about">{targets.length > 0 && <Targets of={targets} names={names} />}</td>
      {isMember ? <td class="no-card" colSpan={3} /> : <By entry={entry} />}
      <When of={entry} />
    </tr>
  );
}

const nameOf = ({ operation }: Entry): string => operations[operation] ?? visible(operation);

const Mark = ({ of: { code, operation } }: { of: Entry }) => (
  <span class={code === null ? 'quiet' : 'bad'}>
    <Icon name={code === null ? iconOf(operation) : 'circle-x'} />
  </span>
);

/** Shows the time to the minute. The exact time appears on hover. */
const When = ({ of: { at } }: { of: Entry }) => (
  <td class="number activity-when">
    <time dateTime={at} title={exactTime(secondsOf(at))}>
      {timeOfDay(secondsOf(at))}
    </time>
  </td>
);

/** Shows the key by its name or ending, how it was used and, in a wide window, from which address. */
function By({ entry: { keyId, byConsole, address } }: { entry: Entry }) {
  const label = useComputed(() => keyNames.value.get(keyId) ?? keyId).value;
  const hasName = keyNames.value.has(keyId) && !label.startsWith('…');
  const from = visible(address);
  return (
    <>
      <td
        class={`activity-by${hasName ? '' : ' mono quiet'}`}
        title={`${ownKeyId.value === keyId ? texts.ownKey : keyId} · ${from}`}
      >
        {label}
      </td>
      <td class="activity-via small quiet">{byConsole ? texts.inConsole : texts.byProgram}</td>
      <td class="activity-ip mono quiet" title={from}>
        {from}
      </td>
    </>
  );
}

/** Sorts a change's subjects, the instance first. Its machine is omitted. */
function byRank(targets: readonly string[]): readonly string[] {
  const instances = targets.filter((target) => INSTANCE.test(target));
  if (instances.length === 0) return targets;
  return [...instances, ...targets.filter((target) => !INSTANCE.test(target) && !MACHINE.test(target))];
}

/** Shows the names of a change's subjects. Their ids appear on hover. */
function Targets({ of: targets, names }: { of: readonly string[]; names: Names }) {
  return (
    <span class="activity-targets" title={targets.map(visible).join(', ')}>
      {byRank(targets).map((target) => {
        const name = subjectName(target, names);
        const text = name === visible(target) ? <span class="mono">{name}</span> : name;
        return INSTANCE.test(target) ? (
          <a key={target} href={`/instances/${target}`}>
            {text}
          </a>
        ) : (
          <span key={target}>{text}</span>
        );
      })}
    </span>
  );
}

/** Returns a subject's name, or the id of an object that has no name or no longer exists. */
function subjectName(id: string, names: Names): string {
  const port = portOf(id);
  if (port !== null) return texts.port(port);
  return INSTANCE.test(id) ? instanceName(id) : (names.get(id) ?? visible(id));
}
