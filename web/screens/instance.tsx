import { useComputed } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { useEffect, useRef } from 'preact/hooks';
import { micro, rate, usd } from '../figures/money.js';
import { duration, secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { OneInstance, SetSpendLimit } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Actions } from '../parts/actions.js';
import { Amount } from '../parts/amount.js';
import { Facts } from '../parts/facts.js';
import { loaded } from '../parts/loaded.js';
import { Empty, Failure } from '../parts/notice.js';
import { Runtime, Status, stopReason } from '../parts/status.js';
import { chosenTab, Tabs } from '../parts/tabs.js';
import { Time } from '../parts/time.js';
import { accountChanges, balanceNow, costNow, type Instance, rateOf, secondsSince, settled } from '../state/account.js';
import { modelName, readSheet, regionName, sheet } from '../state/market.js';
import { modeOf } from '../state/modes.js';
import { useRead } from '../state/read.js';
import { useTitle } from '../state/title.js';
import { Connect } from './connect.js';
import { Deadlines } from './deadlines.js';
import { InstanceVolumes } from './instance-volumes.js';
import { Launched } from './launched.js';
import { Limit } from './limit.js';

/** What the address calls them, and what they are called. */
const TABS = [
  ['overview', 'Overview'],
  ['terminal', 'Terminal'],
  ['files', 'Files'],
  ['log', 'Log'],
] as const;

/** Its charts come with a library of their own. */
const InstanceLoad = loaded(async () => (await import('./instance-load.js')).InstanceLoad);
const Files = loaded(async () => (await import('./files.js')).Files);
const Logs = loaded(async () => (await import('./logs.js')).Logs);
const Terminals = loaded(async () => (await import('./terminal.js')).Terminals);

type Read = NonNullable<ResultOf<typeof OneInstance>['instance']>;

/** One rental: its state as it is, what it costs, and how to reach it. */
export function InstanceScreen({ id }: { id: string }) {
  useEffect(() => {
    if (sheet.value === null) void readSheet();
  }, []);
  const { data, error, again } = useRead(OneInstance, { id }, accountChanges);
  const followed = useComputed(() => settled.value?.instances.find((instance) => instance.id === id));
  const read = data.value?.instance ?? null;
  // What is followed is the newest; a destroyed one is no longer among it.
  const instance = followed.value ?? read;
  useFocusWhenGone(instance?.status);
  useTitle(instance === null ? `Instance ${id}` : `${instance.numGpus} × ${modelName(instance.gpu)} ${id}`);
  if (instance === null) return <NoInstance error={error.value} isAnswered={data.value !== null} />;
  const start = instance.status === 'STOPPED' ? (read?.canStart ?? null) : null;
  return (
    <div class="stack">
      <div class="row between">
        <div>
          <p class="small">
            <a href="/instances">Instances</a>
          </p>
          <h1 tabIndex={-1}>
            {instance.numGpus} × {modelName(instance.gpu)} <span class="mono quiet">{instance.name}</span>
          </h1>
        </div>
        <Actions instance={instance} cannotStart={start?.refusal?.message ?? null} />
      </div>
      <Tabs label="Of this instance" of={TABS} />
      <Chosen instance={instance} read={read} start={start} onChanged={again} />
    </div>
  );
}

/** What stands beneath the tab that is chosen. */
function Chosen(props: OverviewProps) {
  const { instance, read } = props;
  const { id, status, runtime } = instance;
  const tab = chosenTab(TABS);
  if (tab === 'overview') return <Overview {...props} />;
  if (runtime === null)
    return (
      <p class="notice">
        No host agent runs on this machine: it keeps no log, and neither sends files nor answers in a shell.
      </p>
    );
  if (tab === 'log')
    return (
      <>
        {runtime.message && <p class="notice mono small">{visible(runtime.message)}</p>}
        <Logs id={id} />
      </>
    );
  if (status !== 'RUNNING' && tab === 'terminal')
    return <p class="notice">It does not run: start it to get a shell.</p>;
  if (tab === 'terminal') return <Terminals id={id} />;
  if (status !== 'RUNNING') return <p class="notice">It does not run: start it to see its files.</p>;
  // Where its volumes are is known with what is read.
  return read === null ? (
    <p class="quiet">One moment …</p>
  ) : (
    <Files id={id} volumes={read.volumes.map(({ path }) => path)} />
  );
}

interface OverviewProps {
  instance: Instance;
  read: Read | null;
  start: Read['canStart'];
  onChanged(): void;
}

/** Its state, the ways in, and what was agreed. */
function Overview({ instance, read, start, onChanged }: OverviewProps) {
  return (
    <>
      <State instance={instance} start={start} />
      {instance.runtime !== null && <InstanceLoad id={instance.id} />}
      <div class="columns">
        <div class="stack">
          <Connect
            instance={instance}
            ssh={read?.ssh ?? null}
            ports={read?.ports ?? []}
            tcpPorts={read?.tcpPorts ?? []}
          />
        </div>
        <div class="stack">
          {/* Before it is read nobody knows what to deploy again. */}
          {read !== null && <Launched instance={instance} launch={read.launch} volumes={read.volumes} />}
          {read !== null && read.volumes.length > 0 && (
            <InstanceVolumes instance={instance} volumes={read.volumes} onChanged={onChanged} />
          )}
          {read !== null && instance.status !== 'DESTROYED' && (
            <Ends instance={instance} read={read} onChanged={onChanged} />
          )}
          <MachinePanel region={instance.region} machine={read?.machine ?? null} />
        </div>
      </div>
    </>
  );
}

function NoInstance({ error, isAnswered }: { error: unknown; isAnswered: boolean }) {
  return (
    <div class="stack">
      <h1 tabIndex={-1}>Instance</h1>
      <Failure error={error} />
      {isAnswered && (
        <section class="panel">
          <Empty title="You have no such instance">
            <a class="button" href="/instances">
              See your instances
            </a>
          </Empty>
        </section>
      )}
    </div>
  );
}

/** What it does, why it can't start, and what it costs. */
function State({ instance, start }: { instance: Instance; start: Read['canStart'] }) {
  const { runtime } = instance;
  return (
    <section class="panel padded stack" aria-label="State">
      <div class="row" role="status">
        <Status instance={instance} />
        <span class="quiet">{stopReason(instance)}</span>
        <Runtime runtime={runtime} />
      </div>
      {runtime?.message && <p class="notice mono small">{visible(runtime.message)}</p>}
      {start?.refusal != null && (
        <p class="notice warn">
          It cannot be started now: {start.refusal.message}. Until then its disk costs {rate(rateOf(instance))} USD/h.
          {balanceNow.value < micro(start.coverNeeded) && (
            <>
              {' '}
              <a href="/money">Add credit</a>
            </>
          )}
        </p>
      )}
      <div class="facts">
        <div>
          <p class="quiet small">Cost so far</p>
          <p class="headline figure">
            <Amount of={usd(costNow(instance), 4)} unit="USD" />
          </p>
        </div>
        <div>
          <p class="quiet small">Costs now</p>
          <p class="headline figure">
            <Amount of={rate(rateOf(instance))} unit="USD/h" />
          </p>
        </div>
      </div>
      <Terms instance={instance} />
    </section>
  );
}

/** What was agreed, and when what happened. */
function Terms({ instance }: { instance: Instance }) {
  const { id, mode, status, createdAt, stoppedAt, destroyedAt, reservedUntil, usage } = instance;
  return (
    <Facts
      of={[
        ['Priced', `${modeOf(mode).name}, locked`],
        ['GPUs', `${rate(micro(instance.priceHr))} USD/h while it runs`],
        ['Disk', `${instance.diskGb} GB, ${rate(micro(instance.diskPriceHr))} USD/h until destroyed`],
        reservedUntil === null ? null : ['Reserved until', <Time at={secondsOf(reservedUntil)} />],
        ['Ran for', duration(usage.gpuSeconds + (status === 'RUNNING' ? secondsSince(secondsOf(instance.asOf)) : 0))],
        ['Rented', <Time at={secondsOf(createdAt)} />],
        instance.name === id ? null : ['Id', <span class="mono">{id}</span>],
        stoppedAt === null || destroyedAt !== null ? null : ['Stopped', <Time at={secondsOf(stoppedAt)} />],
        destroyedAt === null ? null : ['Destroyed', <Time at={secondsOf(destroyedAt)} />],
      ]}
    />
  );
}

/** When it ends by itself, and what it may cost. */
function Ends({ instance, read, onChanged }: { instance: Instance; read: Read; onChanged(): void }) {
  const { id } = instance;
  return (
    <>
      <Deadlines
        id={id}
        stopAt={read.stopAt}
        destroyAt={read.destroyAt}
        stopWhenIdle={read.stopWhenIdle}
        onChanged={onChanged}
      />
      <section class="panel padded stack-tight" aria-labelledby="spend-limit">
        <h2 id="spend-limit">What it may cost</h2>
        <Limit
          label="May cost in all"
          words="spent by it"
          limit={read.spendLimit}
          used={Number(costNow(instance)) / 1e6}
          reachedAt={read.limitReachedAt}
          set={(usd) => send(SetSpendLimit, { id, spendLimit: usd })}
          onChanged={onChanged}
        />
      </section>
    </>
  );
}

function MachinePanel({ region, machine }: { region: string; machine: Read['machine'] | null }) {
  return (
    <section class="panel padded stack-tight" aria-labelledby="machine">
      <h2 id="machine">Machine</h2>
      <Facts
        of={[
          ['Region', regionName(region)],
          machine === null ? null : ['Machine', <span class="mono">{machine.id}</span>],
          machine === null ? null : ['CPU', `${visible(machine.cpu)}, ${machine.vcpus} vCPUs`],
          machine === null ? null : ['Memory', `${machine.ramGb} GB`],
        ]}
      />
    </section>
  );
}

/** What could be done to it goes with its state: a focus that was there moves to the heading. */
function useFocusWhenGone(status: string | undefined): void {
  const last = useRef(status);
  useEffect(() => {
    if (last.current !== undefined && last.current !== status && document.activeElement === document.body)
      document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
    last.current = status;
  }, [status]);
}
