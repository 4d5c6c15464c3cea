import { useComputed } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { micro, rate, usd } from '../figures/money.js';
import { duration, secondsOf } from '../figures/time.js';
import { OneInstance, SetSpendLimit } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Actions } from '../parts/actions.js';
import { Amount } from '../parts/amount.js';
import { Facts } from '../parts/facts.js';
import { Empty, Failure } from '../parts/notice.js';
import { Runtime, Status, stopReason } from '../parts/status.js';
import { Time } from '../parts/time.js';
import { accountChanges, balanceNow, costNow, rateOf, secondsSince, settled } from '../state/account.js';
import { modelName, readSheet, regionName, sheet } from '../state/market.js';
import { modeOf } from '../state/modes.js';
import { useRead } from '../state/read.js';
import { useTitle } from '../state/title.js';
import { Connect } from './connect.js';
import { Deadlines } from './deadlines.js';
import { Launched } from './launched.js';
import { Limit } from './limit.js';
import { Logs } from './logs.js';

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
  if (instance === null)
    return (
      <div class="stack">
        <h1 tabIndex={-1}>Instance</h1>
        <Failure error={error.value} />
        {data.value !== null && (
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
  const { mode, status, createdAt, stoppedAt, destroyedAt, reservedUntil, runtime, usage } = instance;
  const start = status === 'STOPPED' ? (read?.canStart ?? null) : null;
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
      <section class="panel padded stack" aria-label="State">
        <div class="row" role="status">
          <Status instance={instance} />
          <span class="quiet">{stopReason(instance)}</span>
          <Runtime runtime={runtime} />
        </div>
        {runtime?.message && <p class="notice mono small">{runtime.message}</p>}
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
        <Facts
          of={[
            ['Priced', `${modeOf(mode).name}, locked`],
            ['GPUs', `${rate(micro(instance.priceHr))} USD/h while it runs`],
            ['Disk', `${instance.diskGb} GB, ${rate(micro(instance.diskPriceHr))} USD/h until destroyed`],
            reservedUntil === null ? null : ['Reserved until', <Time at={secondsOf(reservedUntil)} />],
            [
              'Ran for',
              duration(usage.gpuSeconds + (status === 'RUNNING' ? secondsSince(secondsOf(instance.asOf)) : 0)),
            ],
            ['Rented', <Time at={secondsOf(createdAt)} />],
            instance.name === id ? null : ['Id', <span class="mono">{id}</span>],
            stoppedAt === null || destroyedAt !== null ? null : ['Stopped', <Time at={secondsOf(stoppedAt)} />],
            destroyedAt === null ? null : ['Destroyed', <Time at={secondsOf(destroyedAt)} />],
          ]}
        />
      </section>
      <div class="columns">
        <div class="stack">
          <Connect
            instance={instance}
            ssh={read?.ssh ?? null}
            ports={read?.ports ?? []}
            tcpPorts={read?.tcpPorts ?? []}
          />
          {runtime !== null && <Logs id={id} />}
        </div>
        <div class="stack">
          {/* Before it is read nobody knows what to deploy again. */}
          {read !== null && <Launched instance={instance} launch={read.launch} />}
          {read !== null && status !== 'DESTROYED' && (
            <>
              <Deadlines
                id={id}
                stopAt={read.stopAt}
                destroyAt={read.destroyAt}
                stopWhenIdle={read.stopWhenIdle}
                onChanged={again}
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
                  onChanged={again}
                />
              </section>
            </>
          )}
          <section class="panel padded stack-tight" aria-labelledby="machine">
            <h2 id="machine">Machine</h2>
            <Facts
              of={[
                ['Region', regionName(instance.region)],
                read === null ? null : ['Machine', <span class="mono">{read.machine.id}</span>],
                read === null ? null : ['CPU', `${read.machine.cpu}, ${read.machine.vcpus} vCPUs`],
                read === null ? null : ['Memory', `${read.machine.ramGb} GB`],
              ]}
            />
          </section>
        </div>
      </div>
    </div>
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
