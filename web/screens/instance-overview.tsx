import type { ResultOf } from 'gql.tada';
import type { ComponentChildren } from 'preact';
import { micro, rate } from '../figures/money.js';
import { duration, secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import type { OneInstance } from '../graph/documents.js';
import { SetSpendLimit } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Amount } from '../parts/amount.js';
import { Facts } from '../parts/facts.js';
import { Icon } from '../parts/icon.js';
import { busyOf } from '../parts/load-figure.js';
import { loaded } from '../parts/loaded.js';
import { Runtime, Status, stopReason } from '../parts/status.js';
import { Time } from '../parts/time.js';
import { balanceNow, costNow, type Instance, loadNow, rateOf, secondsSince } from '../state/account.js';
import { regionName } from '../state/market.js';
import { modeOf } from '../state/modes.js';
import { texts } from '../texts/en/instance.js';
import { Connect } from './connect.js';
import { Deadlines } from './deadlines.js';
import { InstanceLabels } from './instance-labels.js';
import { InstanceVolumes } from './instance-volumes.js';
import { Launched } from './launched.js';
import { Limit } from './limit.js';
import { Timeline } from './timeline.js';

export type Read = NonNullable<ResultOf<typeof OneInstance>['instance']>;

export interface OverviewProps {
  instance: Instance;
  read: Read | null;
  start: Read['canStart'];
  onChanged(): void;
}

/** The charts are loaded separately, because they need their own library. */
const InstanceLoad = loaded(async () => (await import('./instance-load.js')).InstanceLoad);

/**
 * Shows an instance's state, how to connect to it, its events and its terms, starting with what matters most in its
 * current state.
 */
export function Overview({ instance, read, start, onChanged }: OverviewProps) {
  const { id, status, runtime } = instance;
  const isRunning = status === 'RUNNING';
  return (
    <>
      <State instance={instance} start={start} />
      <div class="columns instance-columns">
        <div class="stack">
          <Stage instance={instance} />
          {isRunning && (
            <Connect
              instance={instance}
              ssh={read?.ssh ?? null}
              ports={read?.ports ?? []}
              tcpPorts={read?.tcpPorts ?? []}
            />
          )}
          {isRunning && runtime !== null && <InstanceLoad id={id} />}
          <Timeline id={id} />
          <Terms instance={instance} machine={read?.machine ?? null} />
          {!isRunning && runtime !== null && <InstanceLoad id={id} />}
        </div>
        <div class="stack">
          {/* Until it is read, the launch to repeat is unknown. */}
          {read !== null && <Launched instance={instance} launch={read.launch} volumes={read.volumes} />}
          <InstanceLabels instance={instance} />
          {read !== null && read.volumes.length > 0 && (
            <InstanceVolumes instance={instance} volumes={read.volumes} onChanged={onChanged} />
          )}
          {read !== null && status !== 'DESTROYED' && <Ends instance={instance} read={read} onChanged={onChanged} />}
        </div>
      </div>
    </>
  );
}

const STEPS = ['WAITING', 'PULLING', 'RESTORING', 'STARTING', 'RUNNING'] as const;

/**
 * Shows why the instance can't be used yet: the progress of its start, why the start failed, or what being stopped
 * means.
 */
function Stage({ instance: { id, status, runtime, diskGb, diskPriceHr } }: { instance: Instance }) {
  const phase = runtime?.phase;
  if (status === 'DESTROYED') return <StageNote title={texts.destroyed}>{texts.destroyedHint}</StageNote>;
  if (phase === 'FAILED')
    return (
      <StageNote title={texts.failed} tone="bad">
        {texts.failedHint(<a href={`/instances/${id}?tab=log`}>{texts.itsLog}</a>)}
      </StageNote>
    );
  if (status === 'STOPPED')
    return <StageNote title={texts.stopped}>{texts.stoppedHint(diskGb, rate(micro(diskPriceHr)))}</StageNote>;
  const at = (STEPS as readonly unknown[]).indexOf(phase);
  if (at === -1 || phase === 'RUNNING') return null;
  return (
    <section class="panel padded stack-tight" aria-labelledby="stage">
      <h2 id="stage">{texts.preparing}</h2>
      <ol class="steps-of-start">
        {STEPS.filter((step) => step !== 'RESTORING' || phase === 'RESTORING').map((step) => {
          const place = STEPS.indexOf(step);
          return (
            <li key={step} class={place < at ? 'done' : ''} aria-current={place === at ? 'step' : undefined}>
              <Icon name={place < at ? 'circle-check' : place === at ? 'loader-circle' : 'square'} />
              {texts.steps[step]}
              {place === at && <Runtime runtime={runtime} />}
            </li>
          );
        })}
      </ol>
      <p class="small quiet">{texts.preparingHint}</p>
    </section>
  );
}

function StageNote({ title, tone = '', children }: { title: string; tone?: string; children: ComponentChildren }) {
  return (
    <section class={`panel padded stack-tight ${tone}`} aria-labelledby="stage">
      <h2 id="stage">{title}</h2>
      <p class="quiet">{children}</p>
    </section>
  );
}

/** Shows the instance's activity, why it can't start, its cost and its load. */
function State({ instance, start }: { instance: Instance; start: Read['canStart'] }) {
  const { id, runtime, status, usage, asOf } = instance;
  const load = status === 'RUNNING' ? loadNow(id) : null;
  const gpu = load === null ? null : busyOf(load);
  return (
    <section class="panel padded stack" aria-label={texts.state}>
      <div class="glance">
        <div class="glance-state" role="status">
          <Status instance={instance} /> <span class="quiet">{stopReason(instance)}</span>
          <Runtime runtime={runtime} />
        </div>
        <dl>
          <Figure name={texts.costsNow}>
            <Amount of={rateOf(instance)} unit="USD/h" />
          </Figure>
          <Figure name={texts.costSoFar}>
            <Amount of={costNow(instance)} unit="USD" />
          </Figure>
          <Figure name={texts.ranFor}>
            {duration(usage.gpuSeconds + (status === 'RUNNING' ? secondsSince(secondsOf(asOf)) : 0))}
          </Figure>
          {gpu !== null && (
            <Figure name={texts.gpuLoad}>
              <Busy percent={gpu} />
            </Figure>
          )}
          {load?.cpuPercent != null && (
            <Figure name={texts.cpuLoad}>
              <Busy percent={load.cpuPercent} />
            </Figure>
          )}
        </dl>
      </div>
      {runtime?.message && <p class="notice mono small">{visible(runtime.message)}</p>}
      {start?.refusal != null && (
        <p class="notice warn">
          {texts.cannotStart(visible(start.refusal.message), rate(rateOf(instance)))}
          {balanceNow.value < micro(start.coverNeeded) && (
            <>
              {' '}
              <a href="/billing">{texts.addCredit}</a>
            </>
          )}
        </p>
      )}
    </section>
  );
}

function Figure({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt class="quiet small">{name}</dt>
      <dd class="headline figure">{children}</dd>
    </div>
  );
}

function Busy({ percent }: { percent: number }) {
  return (
    <>
      {percent.toFixed(0)} <span class="unit">%</span>
      <meter class="busy" min={0} max={100} value={percent} aria-hidden="true" />
    </>
  );
}

/** Shows the instance's terms, its location and the times of its events. */
function Terms({ instance, machine }: { instance: Instance; machine: Read['machine'] | null }) {
  const { id, name, mode, region, createdAt, stoppedAt, destroyedAt, reservedUntil, diskGb, diskPriceHr } = instance;
  return (
    <section class="panel padded stack-tight" aria-labelledby="terms">
      <h2 id="terms">{texts.terms}</h2>
      <Facts
        of={[
          [texts.priced, texts.locked(modeOf(mode).name)],
          [texts.gpuPrice, texts.whileRunning(rate(micro(instance.priceHr)))],
          [texts.disk, texts.untilDestroyed(diskGb, rate(micro(diskPriceHr)))],
          reservedUntil === null ? null : [texts.reservedUntil, <Time at={secondsOf(reservedUntil)} />],
          [texts.rented, <Time at={secondsOf(createdAt)} />],
          stoppedAt === null || destroyedAt !== null ? null : [texts.stoppedAt, <Time at={secondsOf(stoppedAt)} />],
          destroyedAt === null ? null : [texts.destroyedAt, <Time at={secondsOf(destroyedAt)} />],
          name === id ? null : [texts.id, <span class="mono">{id}</span>],
          [texts.region, regionName(region)],
          machine === null ? null : [texts.machine, <span class="mono">{machine.id}</span>],
          machine === null ? null : [texts.cpu, texts.vcpus(visible(machine.cpu), machine.vcpus)],
          machine === null ? null : [texts.memory, texts.gb(machine.ramGb)],
        ]}
      />
    </section>
  );
}

/** Shows when the instance ends automatically and its spending limit. */
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
        <h2 id="spend-limit">{texts.limit}</h2>
        <Limit
          label={texts.limitLabel}
          usedText={texts.limitUsed}
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
