import { computed, untracked, useComputed, useSignal } from '@preact/signals';
import { Component, type ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { downToCent } from '../figures/apportion.js';
import { requirementsOf } from '../figures/labels.js';
import { type Micro, sumOf } from '../figures/money.js';
import { statusOf, TONES } from '../figures/status.js';
import { exactTime, secondsOf, uptime } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { InstanceServices } from '../graph/documents.js';
import { Amount, Rate } from '../parts/amount.js';
import { Icon } from '../parts/icon.js';
import { CostCell, MainCells, RateCell } from '../parts/instance-cells.js';
import { RowLabels } from '../parts/labels.js';
import { LoadCell, shownLoad, useLoads } from '../parts/load-figure.js';
import { Menu } from '../parts/menu.js';
import { Empty } from '../parts/notice.js';
import type { Options } from '../parts/query-fields.js';
import { RowGroups } from '../parts/row-groups.js';
import { costNow, type Instance, rateOf, settled } from '../state/account.js';
import { serverNow } from '../state/clock.js';
import {
  countsOf,
  filteredInstances,
  type InstanceFilter,
  instanceFilterOf,
  nextSort,
  type Shown,
  SORTS,
  type Sort,
  wordsOf,
} from '../state/instance-filter.js';
import { go, query, setQuery } from '../state/location.js';
import { modelName, regionName, sheet } from '../state/market.js';
import { plainMessageOf } from '../state/messages.js';
import { useRead } from '../state/read.js';
import { INSTANCE_FILTERS } from '../state/saved-searches.js';
import { say } from '../state/toasts.js';
import { texts as bulk } from '../texts/en/bulk.js';
import { texts as house } from '../texts/en/house.js';
import { texts } from '../texts/en/instances.js';
import { states } from '../texts/en/status.js';
import { SelectionBar } from './bulk.js';
import { InstanceMenu } from './instance-menu.js';
import { InstanceToolbar, useTypedSearch } from './instance-toolbar.js';
import { LabelDialog } from './label-dialog.js';
import { firstService, openPort } from './web-link.js';

/** The parameters that narrow the list. */
const FILTERS = INSTANCE_FILTERS.filter((name) => name !== 'sort');

const SHOWN: Shown = { model: modelName, location: regionName, load: shownLoad, rate: rateOf, cost: costNow };

/**
 * Returns the instances that meet a filter. They are sorted when the list or the filter changes, but not whenever a
 * load or a cost does, so that no row moves away from the mouse.
 */
export const foundInstances = (instances: readonly Instance[], filter: InstanceFilter): readonly Instance[] =>
  untracked(() => filteredInstances(instances, filter, SHOWN));

/** Shows an account's current instances. They can be searched, filtered, sorted, selected and changed. */
export function InstanceList({ instances }: { instances: readonly Instance[] }) {
  const chosenIds = useSignal<ReadonlySet<string>>(new Set());
  const labelled = useSignal<readonly Instance[]>([]);
  const isSelecting = useSignal(false);
  const search = useTypedSearch();
  useLoads();
  const filter = useMemo(
    () => ({ ...instanceFilterOf(query.value), words: wordsOf(search.text) }),
    [query.value, search.text],
  );
  const found = useMemo(() => foundInstances(instances, filter), [instances, filter, sheet.value]);
  const choices = useMemo(() => choicesOf(instances), [instances, sheet.value]);
  // The rows are drawn again only if their properties differ, so these never do.
  const { choose, toggle, editLabels } = useMemo(
    () => ({
      choose: (ids: readonly string[]) => {
        chosenIds.value = new Set(ids);
      },
      toggle: (id: string) => {
        const next = new Set(chosenIds.value);
        if (!next.delete(id)) next.add(id);
        chosenIds.value = next;
      },
      editLabels: (instance: Instance) => {
        labelled.value = [instance];
      },
    }),
    [],
  );
  // Instances are deselected once they are destroyed or no longer listed.
  const chosen = found.filter(({ id }) => chosenIds.value.has(id));
  return (
    <section class="panel instance-list" aria-label={texts.activeOnes}>
      <InstanceToolbar search={search} {...choices} orders={ORDERS} names={FILTERS}>
        <span class="list-count quiet small" role="status">
          {texts.summary(found.length, instances.length, runningGpusOf(found))}
        </span>
        <div class="list-menu">
          <Menu
            label={house.actionsOf(texts.list)}
            items={[
              {
                name: texts.startSelecting,
                icon: 'check',
                onChoose: () => {
                  isSelecting.value = true;
                },
              },
              { name: bulk.selectAll, icon: 'circle-check', onChoose: () => choose(found.map(({ id }) => id)) },
            ]}
          />
        </div>
      </InstanceToolbar>
      {found.length === 0 ? (
        <Empty icon="search" title={texts.noneFound}>
          <p>{texts.noneFoundHint}</p>
        </Empty>
      ) : (
        <Rows
          instances={found}
          filter={filter}
          chosen={chosen}
          isSelecting={isSelecting.value || chosen.length > 0}
          onChoose={choose}
          onToggle={toggle}
          onEditLabels={editLabels}
        />
      )}
      <SelectionBar
        all={found.length}
        chosen={chosen}
        onLabel={(targets) => {
          labelled.value = targets;
        }}
        onClear={() => {
          isSelecting.value = false;
          choose([]);
        }}
      />
      {labelled.value.length > 0 && (
        <LabelDialog
          of={labelled.value}
          onClose={() => {
            labelled.value = [];
          }}
        />
      )}
    </section>
  );
}

/** The orders to choose from on a phone. */
const ORDERS: Options = (['name', 'status', 'uptime', 'rate', 'cost'] as const).map((column) => [
  `${SORTS[column] ? '-' : ''}${column}`,
  texts.columns[column],
]);

const isRunning = (instance: Instance): boolean => statusOf(instance) === 'running';

const runningGpusOf = (instances: readonly Instance[]): number =>
  instances.reduce((total, instance) => total + (isRunning(instance) ? instance.numGpus : 0), 0);

/** The states that have a tab. */
const HAVE_TABS: ReadonlySet<string> = new Set(['running', 'stopped']);

/** Returns the filters' choices with the number of instances of each. */
function choicesOf(instances: readonly Instance[]): Record<'statuses' | 'models' | 'labels', Options> {
  const statuses = new Map(countsOf(instances, (one) => [statusOf(one)]));
  const known = Object.keys(TONES).filter((word) => statuses.has(word as keyof typeof TONES)) as (keyof typeof TONES)[];
  return {
    // The tabs suffice for the usual states.
    statuses: known.every((word) => HAVE_TABS.has(word))
      ? []
      : known.map((word) => [word, texts.withCount(states[word], statuses.get(word)!)]),
    models: countsOf(instances, ({ gpu }) => [gpu]).map(([gpu, count]) => [
      gpu,
      texts.withCount(modelName(gpu), count),
    ]),
    labels: countsOf(instances, ({ labels }) => requirementsOf(labels)).map(([label, count]) => [
      label,
      texts.withCount(visible(label), count),
    ]),
  };
}

/** Height of a row in pixels, until a row has been measured. */
const ROW_PX = 44;

interface RowsProps {
  instances: readonly Instance[];
  filter: InstanceFilter;
  chosen: readonly Instance[];
  /** Whether a phone shows the checkboxes. */
  isSelecting: boolean;
  onChoose(ids: readonly string[]): void;
  onToggle(id: string): void;
  onEditLabels(instance: Instance): void;
}

function Rows({ instances, filter, chosen, isSelecting, onChoose, onToggle, onEditLabels }: RowsProps) {
  const chosenIds = new Set(chosen.map(({ id }) => id));
  const isAll = chosen.length === instances.length;
  // Machines without a host agent report no load.
  const hasLoad = instances.some(({ status, runtime }) => status === 'RUNNING' && runtime?.reachable);
  const services = useServices();
  const hasService = instances.some((instance) => canConnect(instance) && services.has(instance.id));
  return (
    <table
      class={`instances ${isSelecting ? 'selecting' : ''} ${hasLoad ? '' : 'without-load'} ${hasService ? 'with-services' : ''}`}
      aria-rowcount={instances.length + 1 + Number(instances.length > 1)}
    >
      <thead>
        <tr>
          <th scope="col" class="i-choose">
            <input
              type="checkbox"
              aria-label={bulk.selectAll}
              checked={isAll}
              ref={(box) => {
                if (box !== null) box.indeterminate = chosen.length > 0 && !isAll;
              }}
              onChange={() => onChoose(isAll ? [] : instances.map(({ id }) => id))}
            />
          </th>
          <SortHeading of="name" filter={filter} />
          <SortHeading of="status" filter={filter} />
          <SortHeading of="gpus" filter={filter} />
          <SortHeading of="load" filter={filter} />
          <SortHeading of="uptime" filter={filter} />
          <SortHeading of="location" filter={filter} />
          <SortHeading of="rate" filter={filter} />
          <SortHeading of="cost" filter={filter} />
          <th scope="col" class="i-more">
            <span class="hidden">{texts.columns.actions}</span>
          </th>
        </tr>
      </thead>
      <RowGroups rows={instances} rowPx={ROW_PX}>
        {(instance, index) => (
          <Row
            key={instance.id}
            instance={instance}
            index={index}
            isChosen={chosenIds.has(instance.id)}
            service={services.get(instance.id) ?? null}
            onToggle={onToggle}
            onEditLabels={onEditLabels}
          />
        )}
      </RowGroups>
      {instances.length > 1 && <Total of={instances} />}
    </table>
  );
}

/** The last row, with the sums of the columns. That of the costs adds up the displayed amounts. */
function Total({ of: instances }: { of: readonly Instance[] }) {
  const sum = (amountOf: (instance: Instance) => Micro) => sumOf(instances.map(amountOf));
  const shown = useMemo(() => computed(() => sum((one) => downToCent(costNow(one)))), [instances]).value;
  return (
    <tfoot>
      <tr aria-rowindex={instances.length + 2}>
        <td class="i-choose" />
        <th scope="row" class="i-name" colSpan={2}>
          {texts.totalWithoutVolumes}
        </th>
        <td class="i-gpus">{texts.gpusOf(instances.reduce((total, { numGpus }) => total + numGpus, 0))}</td>
        <td class="i-load" />
        <td class="i-uptime" />
        <td class="i-location" />
        <td class="i-rate number" data-unit="USD/h">
          <Rate of={sum(rateOf)} />
        </td>
        <td class="i-cost number">
          <Amount of={untracked(() => sum(costNow))} shown={shown} />
        </td>
        <td class="i-more" />
      </tr>
    </tfoot>
  );
}

/** The columns whose values are right-aligned. */
const NUMBERS: ReadonlySet<Sort> = new Set(['uptime', 'rate', 'cost']);

/** A column's heading, which sorts the list. */
function SortHeading({ of: column, filter }: { of: Sort; filter: InstanceFilter }) {
  const isSorted = filter.sort === column;
  return (
    <th
      scope="col"
      class={`i-${column} ${NUMBERS.has(column) ? 'number' : ''}`}
      title={column === 'uptime' ? texts.uptimeMeans : undefined}
      aria-sort={isSorted ? (filter.isDescending ? 'descending' : 'ascending') : undefined}
    >
      <button
        type="button"
        class="sort"
        onClick={() => setQuery({ sort: nextSort(filter, column) }, { replace: true })}
      >
        {texts.columns[column]}
        {isSorted && <Icon name={filter.isDescending ? 'arrow-down' : 'arrow-up'} />}
      </button>
    </th>
  );
}

interface RowProps {
  instance: Instance;
  /** The row's place, which starts at 1 and includes the header row. */
  index: number;
  isChosen: boolean;
  /** The name of the first service. Null if the instance has none, or until it is known. */
  service: string | null;
  onToggle(id: string): void;
  onEditLabels(instance: Instance): void;
}

/** A row, which is drawn again only if one of its properties differs. Its figures follow their own signals. */
class Row extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    return (Object.keys(next) as (keyof RowProps)[]).some((name) => next[name] !== this.props[name]);
  }

  override render({ instance, index, isChosen, service, onToggle, onEditLabels }: RowProps): ComponentChildren {
    return (
      <tr class={isChosen ? 'chosen' : ''} aria-rowindex={index}>
        <td class="i-choose">
          <input
            type="checkbox"
            aria-label={texts.select(visible(instance.name))}
            checked={isChosen}
            onChange={() => onToggle(instance.id)}
          />
        </td>
        <MainCells
          instance={instance}
          since={
            isRunning(instance) && (
              <span class="row-uptime small quiet">
                <Uptime since={instance.runningSince} />
              </span>
            )
          }
        >
          <RowLabels labels={instance.labels} />
        </MainCells>
        <LoadCell instance={instance} />
        <td class="i-uptime number">
          <Uptime since={instance.runningSince} />
        </td>
        <Location code={instance.region} />
        <RateCell instance={instance} />
        <CostCell instance={instance} />
        <td class="i-more">
          {canConnect(instance) && <ConnectActions instance={instance} service={service} />}
          <InstanceMenu instance={instance} onEditLabels={onEditLabels} />
        </td>
      </tr>
    );
  }
}

/** Returns whether the instance's services and terminal can be reached. */
const canConnect = (instance: Instance): boolean => instance.runtime !== null && isRunning(instance);

/** Reads the name of each instance's first service. It is read again only when instances are added. */
function useServices(): ReadonlyMap<string, string> {
  // Two instances can be deployed in the same second.
  const newest = useComputed(() => {
    const times = settled.value?.instances.map(({ createdAt }) => createdAt) ?? [];
    const last = times.reduce((latest, at) => (at > latest ? at : latest), '');
    return `${last} ${times.filter((at) => at === last).length}`;
  });
  const { data } = useRead(InstanceServices, {}, newest);
  return useMemo(
    () =>
      new Map(
        data.value?.instances?.flatMap(({ id, ports }) => {
          const name = ports.find((port) => port.name !== null)?.name;
          return name == null ? [] : [[id, name] as const];
        }),
      ),
    [data.value],
  );
}

/** The buttons that open an instance's first service and its terminal. A phone shows only the first of them. */
function ConnectActions({ instance: { id, name }, service }: { instance: Instance; service: string | null }) {
  const open = async () => {
    try {
      await openPort(async () => {
        const port = await firstService(id);
        // The service may be gone since its name was read.
        if (port === null) go(`/instances/${id}`);
        return port;
      });
    } catch (fault) {
      say(plainMessageOf(fault), { isBad: true });
    }
  };
  const opens = service === null ? '' : texts.open(visible(service));
  return (
    <>
      {service !== null && (
        <button
          type="button"
          class="ghost menu-button"
          title={opens}
          aria-label={texts.actionOf(opens, visible(name))}
          onClick={() => void open()}
        >
          <Icon name="external-link" />
        </button>
      )}
      <a
        class="button ghost menu-button"
        href={`/instances/${id}?tab=terminal`}
        title={texts.terminal}
        aria-label={texts.actionOf(texts.terminal, visible(name))}
      >
        <Icon name="square-terminal" />
      </a>
    </>
  );
}

/** The uptime. It is empty unless the instance is running. */
function Uptime({ since }: { since: string | null }) {
  // It is drawn again once per minute.
  const text = useMemo(
    () => computed(() => (since === null ? '' : uptime(serverNow.value - secondsOf(since)))),
    [since],
  ).value;
  return (
    <span class="figure" title={since === null ? undefined : texts.runningSince(exactTime(secondsOf(since)))}>
      {text}
    </span>
  );
}

const Location = ({ code }: { code: string }) => (
  <td class="i-location" title={regionName(code)}>
    {regionName(code)}
  </td>
);
