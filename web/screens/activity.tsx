import { useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { Activity as ActivityDocument } from '../graph/documents.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { useRead } from '../state/read.js';
import { useTitle } from '../state/title.js';

type Entry = NonNullable<ResultOf<typeof ActivityDocument>['activity']>['edges'][number]['node'];

const PAGE = 50;

/** Every change that a key asked for, newest first: a page at a time, with what was refused or without. */
export function Activity() {
  const refused = useSignal(false);
  /** Cursors of the pages before this one. */
  const before = useSignal<readonly (string | null)[]>([]);
  const filter = refused.value ? { refused: true } : null;
  const { data, error } = useRead(ActivityDocument, { filter, first: PAGE, after: before.value.at(-1) ?? null });
  useTitle('Activity');
  const page = data.value?.activity ?? null;
  return (
    <div class="stack">
      <h1 tabIndex={-1}>Activity</h1>
      <section class="panel" aria-label="Activity">
        <div class="padded stack-tight">
          <p class="small quiet">Each change that a key of this account asked for, of the last 90 days.</p>
          <label class="check">
            <input
              type="checkbox"
              checked={refused.value}
              onChange={({ currentTarget }) => {
                refused.value = currentTarget.checked;
                before.value = [];
              }}
            />
            Only what was refused
          </label>
          <Failure error={error.value} />
        </div>
        {page !== null && page.edges.length === 0 && <Empty title="Nothing yet" />}
        {page !== null && page.edges.length > 0 && <Rows entries={page.edges.map(({ node }) => node)} />}
        <div class="padded row">
          {before.value.length > 0 && (
            <button
              type="button"
              onClick={() => {
                before.value = before.value.slice(0, -1);
              }}
            >
              Newer
            </button>
          )}
          {page?.pageInfo.hasNextPage && (
            <button
              type="button"
              onClick={() => {
                before.value = [...before.value, page.pageInfo.endCursor ?? null];
              }}
            >
              Older
            </button>
          )}
        </div>
      </section>
    </div>
  );
}

function Rows({ entries }: { entries: readonly Entry[] }) {
  return (
    <Table isCards columns={[['When'], ['What'], ['About'], ['By'], ['From']]}>
      {entries.map((entry, index) => (
        <tr key={index}>
          <th scope="row" class="wide">
            <Time at={secondsOf(entry.at)} />
          </th>
          <td class="wide" data-label="What">
            {entry.operation}{' '}
            {entry.code !== null && (
              <span class="badge bad">
                {entry.code}
                {entry.times > 1 && ` ×${entry.times}`}
              </span>
            )}
          </td>
          <td class="wide mono" data-label="About">
            {visible(entry.targets.join(' '))}
          </td>
          <td class="wide" data-label="By">
            <span class="mono">{entry.keyId}</span>
            {entry.byConsole && <span class="small quiet"> in the console</span>}
          </td>
          <td class="wide mono" data-label="From">
            {entry.address}
          </td>
        </tr>
      ))}
    </Table>
  );
}
