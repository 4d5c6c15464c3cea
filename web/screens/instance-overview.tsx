import { useSignal } from '@preact/signals';
import { micro, rate } from '../figures/money.js';
import { statusOf } from '../figures/status.js';
import { duration, secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { Amount } from '../parts/amount.js';
import { Facts } from '../parts/facts.js';
import { Fold } from '../parts/fold.js';
import { Icon } from '../parts/icon.js';
import { LocalTime } from '../parts/local-time.js';
import { costNow, type Instance, rateOf, secondsSince } from '../state/account.js';
import { modeOf } from '../state/modes.js';
import { texts as deadlines } from '../texts/en/deadlines.js';
import { texts } from '../texts/en/instance.js';
import { Access, Connect, useLinks } from './connect.js';
import { InstanceLoad } from './instance-load.js';
import type { Read } from './instance-read.js';
import { InstanceSettings } from './instance-settings.js';
import { InstanceVolumes } from './instance-volumes.js';
import { Launched } from './launched.js';
import { LimitReached, LimitUse } from './limit.js';
import { Stage } from './stage.js';
import { RecentEvents } from './timeline.js';

export interface OverviewProps {
  instance: Instance;
  read: Read | null;
  start: Read['canStart'];
  onChanged(): void;
}

/**
 * Shows an instance's next action and cost, then its load. Everything else is folded, and its settings are in a dialog.
 */
export function Overview({ instance, read, start, onChanged }: OverviewProps) {
  const { id, runtime } = instance;
  const word = statusOf(instance);
  const isUsable = runtime !== null && (word === 'running' || word === 'unreachable');
  const links = useLinks(id, isUsable);
  const load = runtime !== null && (
    <InstanceLoad id={id} since={secondsOf(instance.createdAt)} ramGb={read?.machine?.ramGb ?? null} />
  );
  return (
    <>
      <section class="panel next" aria-label={texts.state}>
        <div class="next-action">
          <Stage instance={instance} start={start} />
          {isUsable && <Connect instance={instance} links={links} read={read} />}
        </div>
        <Terms instance={instance} read={read} onChanged={onChanged} />
      </section>
      {read !== null && read.volumes.length > 0 && (
        <InstanceVolumes instance={instance} volumes={read.volumes} onChanged={onChanged} />
      )}
      {word === 'running' && load}
      {read !== null && (
        <div class="panel folds">
          {isUsable && <Access id={id} links={links} read={read} />}
          <Launched instance={instance} launch={read.launch} />
          <Machine instance={instance} machine={read.machine} />
          <RecentEvents instance={instance} />
        </div>
      )}
      {word !== 'running' && word !== 'starting' && load}
    </>
  );
}

/** Shows what the instance costs and when it ends automatically, with a button that changes the latter. */
function Terms({ instance, read, onChanged }: Omit<OverviewProps, 'start'>) {
  const { name, status, usage, asOf } = instance;
  const isEditing = useSignal(false);
  const isEnded = status === 'DESTROYED';
  const used = costNow(instance);
  return (
    <div class="next-terms">
      <dl>
        <div>
          <dt>{texts.rate}</dt>
          <dd>
            <Amount of={rateOf(instance)} unit="USD/h" />
          </dd>
        </div>
        <div>
          <dt>{texts.costSoFar}</dt>
          <dd data-figure="cost">
            <Amount of={used} unit="USD" />
          </dd>
        </div>
        <div>
          <dt>{texts.ranFor}</dt>
          <dd>{duration(usage.gpuSeconds + (status === 'RUNNING' ? secondsSince(secondsOf(asOf)) : 0))}</dd>
        </div>
        {!isEnded && (
          <div class="next-ends">
            <dt>{texts.endsBy}</dt>
            <dd>{read !== null && <Ends read={read} used={Number(used) / 1e6} />}</dd>
            <dd>
              <button
                type="button"
                aria-label={texts.editOf(visible(name))}
                aria-disabled={read === null}
                onClick={() => {
                  isEditing.value = read !== null;
                }}
              >
                {texts.edit}
              </button>
            </dd>
          </div>
        )}
      </dl>
      {isEditing.value && read !== null && (
        <InstanceSettings
          instance={instance}
          read={read}
          onChanged={onChanged}
          onClose={() => {
            isEditing.value = false;
          }}
        />
      )}
    </div>
  );
}

/** Lists when the instance ends automatically and its spend limit, as far as they are set. */
function Ends({ read: { stopAt, destroyAt, stopWhenIdle, spendLimit, limitReachedAt }, used }: EndsProps) {
  const isAny = stopAt !== null || destroyAt !== null || stopWhenIdle !== null || spendLimit !== null;
  if (!isAny) return texts.noEnd;
  return (
    <ul class="ends">
      {stopAt !== null && (
        <li>
          <Icon name="clock" /> <span>{deadlines.stops(<LocalTime at={secondsOf(stopAt)} />)}</span>
        </li>
      )}
      {destroyAt !== null && (
        <li>
          <Icon name="trash-2" /> <span>{deadlines.isDestroyed(<LocalTime at={secondsOf(destroyAt)} />)}</span>
        </li>
      )}
      {stopWhenIdle !== null && (
        <li>
          <Icon name="pause" /> <span>{deadlines.stopsIdle(stopWhenIdle)}</span>
        </li>
      )}
      {spendLimit !== null && (
        <li>
          <Icon name="wallet" />
          <div>
            <LimitUse limit={spendLimit} used={used} usedText={texts.limitUsed} />
            <LimitReached of="ofInstance" at={limitReachedAt} />
          </div>
        </li>
      )}
    </ul>
  );
}

interface EndsProps {
  read: Read;
  used: number;
}

/** The folded section with the machine, the terms and the times of the instance's changes. */
function Machine({ instance, machine }: { instance: Instance; machine: Read['machine'] }) {
  const { id, name, mode, hostname, createdAt, stoppedAt, destroyedAt, reservedUntil, diskGb, diskPriceHr } = instance;
  return (
    <Fold
      title={texts.machineAndTerms}
      summary={
        <>
          {machine !== null && (
            <>
              <span class="mono">{machine.id}</span> ·{' '}
            </>
          )}
          {modeOf(mode).name}
        </>
      }
    >
      <Facts
        of={[
          [texts.priced, texts.locked(modeOf(mode).name)],
          [texts.gpuPrice, texts.whileRunning(rate(micro(instance.priceHr)))],
          [texts.disk, texts.untilDestroyed(diskGb, rate(micro(diskPriceHr)))],
          reservedUntil === null ? null : [texts.reservedUntil, <LocalTime at={secondsOf(reservedUntil)} />],
          [texts.rented, <LocalTime at={secondsOf(createdAt)} />],
          stoppedAt === null || destroyedAt !== null
            ? null
            : [texts.stoppedAt, <LocalTime at={secondsOf(stoppedAt)} />],
          destroyedAt === null ? null : [texts.destroyedAt, <LocalTime at={secondsOf(destroyedAt)} />],
          name === id ? null : [texts.id, <span class="mono id">{id}</span>],
          machine === null ? null : [texts.machine, <span class="mono id">{machine.id}</span>],
          machine === null ? null : [texts.cpu, texts.vcpus(visible(machine.cpu), machine.vcpus)],
          machine === null ? null : [texts.memory, texts.gb(machine.ramGb)],
          [texts.hostname, <span class="mono">{hostname}</span>],
        ]}
      />
    </Fold>
  );
}
