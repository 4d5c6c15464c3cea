import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { micro, rate, usd } from '../figures/money.js';
import { secondsOf } from '../figures/time.js';
import { InstanceHistory } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Actions } from '../parts/actions.js';
import { Empty, Failure } from '../parts/notice.js';
import { Runtime, Status, stopReason } from '../parts/status.js';
import { Time } from '../parts/time.js';
import { accountChanges, costNow, type Instance, rateOf, settled } from '../state/account.js';
import { query, setQuery } from '../state/location.js';
import { modelName, readSheet, regionName, sheet } from '../state/market.js';

/** What is rented now, and all that ever was. */
export function Instances() {
  useEffect(() => {
    if (sheet.value === null) void readSheet();
  }, []);
  const isHistory = query.value.get('show') === 'history';
  return (
    <div class="stack">
      <div class="row between">
        <h1 tabIndex={-1}>Instances</h1>
        <a class="button" href="/">
          Rent a machine
        </a>
      </div>
      <nav class="tabs" aria-label="Which instances">
        <a href="/instances" aria-current={isHistory ? undefined : 'page'}>
          Active{settled.value === null ? '' : ` (${settled.value.instances.length})`}
        </a>
        <a href="/instances?show=history" aria-current={isHistory ? 'page' : undefined}>
          History
        </a>
      </nav>
      {isHistory ? <History /> : <Active />}
    </div>
  );
}

function Active() {
  const known = settled.value;
  if (known === null) return <p class="quiet">Reading your instances …</p>;
  if (known.instances.length === 0)
    return (
      <section class="panel">
        <Empty title="Nothing is rented">
          <p>A machine runs within seconds, and is paid for by the second.</p>
          <a class="button" href="/">
            See the machines
          </a>
        </Empty>
      </section>
    );
  return (
    <section class="panel" aria-label="Active instances">
      <table class="cards">
        <thead>
          <tr>
            <th scope="col">Instance</th>
            <th scope="col">State</th>
            <th scope="col">Where</th>
            <th scope="col" class="number">
              USD/h now
            </th>
            <th scope="col" class="number">
              Cost so far, USD
            </th>
            <th scope="col">
              <span class="hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {known.instances.map((instance) => (
            <tr key={instance.id}>
              <Name instance={instance} />
              <td class="wide">
                <Status instance={instance} /> <span class="small quiet">{stopReason(instance)}</span>
                <Runtime runtime={instance.runtime} />
              </td>
              <td data-label="Where">{regionName(instance.region)}</td>
              <td class="number" data-label="USD/h now">
                {rate(rateOf(instance))}
              </td>
              <td class="number" data-label="Cost so far, USD">
                {usd(costNow(instance), 4)}
              </td>
              <td class="wide">
                <Actions instance={instance} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Name({ instance: { id, numGpus, gpu, template } }: { instance: Instance }) {
  return (
    <th scope="row" class="wide">
      <a href={`/instances/${id}`} class="mono">
        {id}
      </a>
      <br />
      {numGpus} × {modelName(gpu)} <span class="quiet small">{template}</span>
    </th>
  );
}

const PAGE = 50;
const STATES = { '': 'all', RUNNING: 'running', STOPPED: 'stopped', DESTROYED: 'destroyed' } as const;

function History() {
  const { rows, hasMore, error, more } = useHistory();
  const [status, gpu] = [query.value.get('status') ?? '', query.value.get('model') ?? ''];
  const seen = [...new Set(rows.map((instance) => instance.gpu))].sort();
  const shown = rows.filter(
    (instance) => (status === '' || instance.status === status) && (gpu === '' || instance.gpu === gpu),
  );
  return (
    <section class="panel" aria-label="All instances">
      <div class="panel-head">
        <div class="row">
          <label class="row small">
            <span class="quiet">State</span>
            <select value={status} onChange={({ currentTarget }) => setQuery({ status: currentTarget.value })}>
              {Object.entries(STATES).map(([value, text]) => (
                <option value={value}>{text}</option>
              ))}
            </select>
          </label>
          <label class="row small">
            <span class="quiet">GPU</span>
            <select value={gpu} onChange={({ currentTarget }) => setQuery({ model: currentTarget.value })}>
              <option value="">all</option>
              {gpu !== '' && !seen.includes(gpu) && <option value={gpu}>{modelName(gpu)}</option>}
              {seen.map((slug) => (
                <option value={slug}>{modelName(slug)}</option>
              ))}
            </select>
          </label>
        </div>
        <p class="small quiet" role="status">
          {shown.length} of the {hasMore ? 'newest ' : ''}
          {rows.length}
        </p>
      </div>
      {error !== null && (
        <div class="padded">
          <Failure error={error} />
        </div>
      )}
      {shown.length > 0 && (
        <table class="cards">
          <thead>
            <tr>
              <th scope="col">Instance</th>
              <th scope="col">State</th>
              <th scope="col">From</th>
              <th scope="col">To</th>
              <th scope="col" class="number">
                USD/h locked
              </th>
              <th scope="col" class="number">
                Cost, USD
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((instance) => (
              <tr key={instance.id}>
                <Name instance={instance} />
                <td class="wide">
                  <Status instance={instance} /> <span class="small quiet">{stopReason(instance)}</span>
                </td>
                <td class="wide" data-label="From">
                  <Time at={secondsOf(instance.createdAt)} />
                </td>
                <td class="wide" data-label="To">
                  {instance.destroyedAt === null ? (
                    <span class="quiet">–</span>
                  ) : (
                    <Time at={secondsOf(instance.destroyedAt)} />
                  )}
                </td>
                <td class="number" data-label="USD/h locked">
                  {rate(micro(instance.priceHr))}
                </td>
                <td class="number" data-label="Cost, USD">
                  {usd(costNow(instance), 4)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {shown.length === 0 && error === null && (
        <Empty title={rows.length === 0 ? 'Nothing was rented yet' : 'None of these'}>
          <p>
            {rows.length === 0
              ? 'What you rent is listed here, also after it is destroyed.'
              : 'Choose another state or GPU.'}
          </p>
        </Empty>
      )}
      {hasMore && (
        <p class="padded">
          <button type="button" onClick={more}>
            Show older ones
          </button>
        </p>
      )}
    </section>
  );
}

/** Page after page, from the newest; from the start again when something changed. */
function useHistory() {
  const rows = useSignal<readonly Instance[]>([]);
  const cursor = useSignal<string | null>(null);
  const error = useSignal<unknown>(null);
  const read = async (after: string | null) => {
    try {
      const { instanceHistory } = await send(InstanceHistory, { first: PAGE, after });
      const page = instanceHistory?.edges.map(({ node }) => node) ?? [];
      const [added, kept] = [new Set(page.map(({ id }) => id)), after === null ? [] : rows.peek()];
      rows.value = [...kept.filter(({ id }) => !added.has(id)), ...page];
      cursor.value = instanceHistory?.pageInfo.hasNextPage ? (instanceHistory.pageInfo.endCursor ?? null) : null;
      error.value = null;
    } catch (fault) {
      error.value = fault;
    }
  };
  const changes = accountChanges.value;
  useEffect(() => {
    void read(null);
  }, [changes]);
  return {
    rows: rows.value,
    hasMore: cursor.value !== null,
    error: error.value,
    more: () => void read(cursor.peek()),
  };
}
