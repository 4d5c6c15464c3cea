import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { hasLabels } from '../figures/labels.js';
import { rates } from '../figures/money.js';
import { Actions } from '../parts/actions.js';
import { InstanceName } from '../parts/instance-name.js';
import { RequiredLabels } from '../parts/labels.js';
import { LoadFigure } from '../parts/load-figure.js';
import { Empty } from '../parts/notice.js';
import { PlaceAndCost } from '../parts/place-and-cost.js';
import { Clear } from '../parts/query-fields.js';
import { RowGroups } from '../parts/row-groups.js';
import { Runtime, Status, stopReason } from '../parts/status.js';
import { Table } from '../parts/table.js';
import { type Instance, rateOf, settled } from '../state/account.js';
import { requiredLabels } from '../state/label-filter.js';
import { query } from '../state/location.js';
import { readSheet, sheet } from '../state/market.js';
import { useTitle } from '../state/title.js';
import { texts } from '../texts/en/instances.js';
import { texts as labels } from '../texts/en/labels.js';
import { screens } from '../texts/en/screens.js';
import { BulkBar } from './bulk.js';
import { History } from './history.js';

/** Shows current and past rentals. */
export function Instances() {
  useEffect(() => {
    if (sheet.value === null) void readSheet();
  }, []);
  const isHistory = query.value.get('show') === 'history';
  useTitle(isHistory ? texts.historyTitle : screens['/instances']);
  return (
    <div class="stack">
      <div class="row between">
        <h1 tabIndex={-1}>{screens['/instances']}</h1>
        <a class="button primary" href="/machines">
          {texts.rent}
        </a>
      </div>
      <nav class="tabs" aria-label={texts.tabs}>
        <a href="/instances" aria-current={isHistory ? undefined : 'page'}>
          {texts.active(settled.value?.instances.length ?? null)}
        </a>
        <a href="/instances?show=history" aria-current={isHistory ? 'page' : undefined}>
          {texts.history}
        </a>
      </nav>
      {isHistory ? <History /> : <Active />}
    </div>
  );
}

function Active() {
  const known = settled.value;
  const chosenIds = useSignal<ReadonlySet<string>>(new Set());
  if (known === null) return <p class="quiet">{texts.reading}</p>;
  const instances = known.instances.filter((instance) => hasLabels(instance.labels, requiredLabels.value));
  // Instances are deselected once they are destroyed or no longer listed.
  const chosen = instances.filter(({ id }) => chosenIds.value.has(id));
  const choose = (ids: readonly string[]) => {
    chosenIds.value = new Set(ids);
  };
  const toggle = (id: string) => {
    const next = new Set(chosenIds.value);
    if (!next.delete(id)) next.add(id);
    chosenIds.value = next;
  };
  return (
    <section class="panel" aria-label={texts.activeOnes}>
      {requiredLabels.value.length > 0 && (
        <div class="bulk">
          <RequiredLabels />
          <Clear names={['labels']}>{labels.clear}</Clear>
        </div>
      )}
      <BulkBar instances={instances} chosen={chosen} onChoose={choose} />
      {known.instances.length === 0 ? (
        <NothingRented />
      ) : instances.length === 0 ? (
        <Empty icon="tag" title={labels.none} />
      ) : (
        <List instances={instances} chosenIds={chosenIds.value} onToggle={toggle} />
      )}
    </section>
  );
}

/** Shown instead of an empty list, with links to both ways to rent. */
const NothingRented = () => (
  <Empty icon="server" title={texts.none}>
    <p>{texts.noneHint}</p>
    <p class="small">{texts.fromTerminal(<code>gpu run --gpu rtx-4090 -- nvidia-smi</code>)}</p>
    <a class="button primary" href="/machines">
      {texts.seeMachines}
    </a>
  </Empty>
);

interface ListProps {
  instances: readonly Instance[];
  chosenIds: ReadonlySet<string>;
  onToggle(id: string): void;
}

/** Approximate row height until a row has been measured. */
const ROW_PX = 64;

function List({ instances, chosenIds, onToggle }: ListProps) {
  const costs = useMemo(() => rates(instances.map(rateOf)), [instances]);
  return (
    <Table
      isCards
      rowCount={instances.length}
      columns={[
        [texts.columns.selected, 'unseen'],
        [texts.columns.instance],
        [texts.columns.state],
        [texts.columns.where],
        [texts.columns.rate, 'number'],
        [texts.columns.cost, 'number'],
        [texts.columns.actions, 'unseen'],
      ]}
    >
      <RowGroups rows={instances} rowPx={ROW_PX}>
        {(instance, index) => (
          <tr key={instance.id} class={chosenIds.has(instance.id) ? 'chosen' : ''} aria-rowindex={index}>
            <td class="choose">
              <input
                type="checkbox"
                aria-label={texts.select(instance.name)}
                checked={chosenIds.has(instance.id)}
                onChange={() => onToggle(instance.id)}
              />
            </td>
            <InstanceName instance={instance} />
            <td class="wide">
              <Status instance={instance} /> <span class="small quiet">{stopReason(instance)}</span>
              <Runtime runtime={instance.runtime} />
              <LoadFigure id={instance.id} />
            </td>
            <PlaceAndCost instance={instance} hourly={costs[index - 2]} />
            <td class="wide">
              <Actions instance={instance} />
            </td>
          </tr>
        )}
      </RowGroups>
    </Table>
  );
}
