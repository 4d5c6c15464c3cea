import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { decimalsOf, micro, rate } from '../figures/money.js';
import { visible } from '../figures/visible.js';
import { Home as HomeDocument } from '../graph/documents.js';
import { Balance } from '../parts/balance.js';
import { Icon } from '../parts/icon.js';
import { CostCell, MainCells, RateCell } from '../parts/instance-cells.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { type Instance, rateOf, type Settled, settled, sumsAge } from '../state/account.js';
import { type Attention, attentionOf, type HomeRead } from '../state/attention.js';
import { serverNow } from '../state/clock.js';
import { readSheet, sheet } from '../state/market.js';
import { useRead } from '../state/read.js';
import { useTitle } from '../state/title.js';
import { texts } from '../texts/en/home.js';
import { texts as instanceTexts } from '../texts/en/instances.js';
import { screens } from '../texts/en/screens.js';

/** Maximum number of rows. The other instances are on the Instances screen. */
const MAX_INSTANCES = 8;

/** Shows running instances, their cost, what needs attention and, until they are done, the first steps. */
export function Home() {
  useEffect(() => {
    if (sheet.value === null) void readSheet();
  }, []);
  useTitle(screens['/']);
  const known = settled.value;
  const { data, error } = useRead(HomeDocument, {}, sumsAge);
  const read = data.value;
  return (
    <div class="stack">
      <div class="row between">
        <h1 tabIndex={-1}>{screens['/']}</h1>
        <a class="button primary" href="/machines">
          {texts.rent}
        </a>
      </div>
      <Failure error={error.value} />
      {/* The first steps are above the rest, so all parts wait for both reads. */}
      {known === null || (read === null && error.value === null) ? (
        <p class="quiet">{texts.reading}</p>
      ) : (
        <>
          {read !== null && <FirstSteps known={known} read={read} />}
          <NeedsAttention of={attentionOf(known, read, serverNow.value)} isRead={read !== null} />
          <Balance known={known} />
          <Rented instances={known.instances} />
          {read !== null && <VolumesLine volumes={read.volumes ?? []} />}
        </>
      )}
    </div>
  );
}

/** Shows the first steps until the account has had credit, an SSH key and an instance. */
function FirstSteps({ known, read }: { known: Settled; read: HomeRead }) {
  const hasRented = (read.instanceHistory?.edges.length ?? 0) > 0;
  const hasCredit = known.balance > 0n || (read.account?.lifetimeSpend ?? 0) > 0;
  const hasKey = (read.sshKeys?.length ?? 0) > 0;
  if (hasRented && hasCredit && hasKey) return null;
  return (
    <section class="panel" aria-labelledby="first-steps">
      <div class="panel-head">
        <h2 id="first-steps">{texts.firstSteps}</h2>
      </div>
      <ol class="steps">
        <Step isDone={hasCredit} title={texts.creditStep} href="/billing" action={texts.addCredit}>
          {texts.creditWhy}
        </Step>
        <Step isDone={hasKey} title={texts.keyStep} href="/keys" action={texts.addKey}>
          {texts.keyWhy(<code>ssh-keygen</code>)}
        </Step>
        <Step isDone={hasRented} title={texts.rentStep} href="/machines" action={texts.seeMachines}>
          {texts.rentWhy}
        </Step>
      </ol>
    </section>
  );
}

interface StepProps {
  isDone: boolean;
  title: string;
  href: string;
  action: string;
  children: ComponentChildren;
}

function Step({ isDone, title, href, action, children }: StepProps) {
  return (
    <li class={`step${isDone ? ' done' : ''}`}>
      {isDone ? <Icon name="circle-check" /> : <span class="step-mark" aria-hidden="true" />}
      <div>
        <h3>
          {title}
          {isDone && <span class="small good"> {texts.done}</span>}
        </h3>
        {!isDone && <p class="quiet">{children}</p>}
      </div>
      {!isDone && (
        <a class="button" href={href}>
          {action}
        </a>
      )}
    </li>
  );
}

function NeedsAttention({ of: all, isRead }: { of: readonly Attention[]; isRead: boolean }) {
  return (
    <section class="panel" aria-labelledby="attention">
      <div class="panel-head">
        <h2 id="attention">{texts.attention}</h2>
        {all.length > 0 && <span class="badge warn">{all.length}</span>}
      </div>
      {all.length === 0 ? (
        <p class="padded quiet">{isRead ? texts.nothing : texts.looking}</p>
      ) : (
        <ul class="attention">
          {all.map((one, index) => (
            <li key={index} class={one.isBad ? 'bad-mark' : ''}>
              <Icon name={one.isBad ? 'circle-alert' : 'clock'} />
              <span>
                <span class="hidden">{one.isBad ? texts.urgent : texts.note}</span>
                <Sentence of={one} />
              </span>
              <Way of={one} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

const At = ({ at }: { at: number | null }) => (at === null ? null : <Time at={at} />);

/** Describes an item that needs attention. Each kind has its own complete sentence. */
function Sentence({ of: one }: { of: Attention }) {
  const at = <At at={one.at} />;
  if (one.kind === 'credit-over') return one.at === null ? texts.creditOver : texts.creditOverUntil(at);
  if (one.kind === 'credit-ends') return texts.creditEnds(at);
  if (one.kind === 'month-limit') return one.isBad ? texts.limitWasReached(at) : texts.limitIsReached(at);
  const name = <strong>{one.instance.name}</strong>;
  if ('volume' in one) {
    const volume = <strong>{visible(one.volume)}</strong>;
    if (one.kind === 'volume-lost') return texts.volumeLost(volume, name, at);
    return one.kind === 'volume-refused'
      ? texts.volumeRefused(volume, name, at)
      : texts.volumeUnsaved(volume, name, at);
  }
  switch (one.kind) {
    case 'silent':
      return texts.silent(name);
    case 'failed':
      return texts.failed(name, machineMessage(one.instance.runtime?.message));
    case 'not-started':
      return texts.notStarted(name, at);
    case 'preempted':
      return texts.preempted(name, at);
    case 'ended-badly':
      return texts.endedBadly(name, at, one.instance.runtime?.exitCode);
    case 'stops':
      return texts.stops(name, at);
    case 'destroyed':
      return texts.destroyed(name, at);
    case 'limit':
      return texts.limit(name, at);
    default:
      return texts.costsStopped(name, at, rate(rateOf(one.instance)));
  }
}

/** Shows the machine's message, which is in English. */
function machineMessage(message: string | null | undefined): ComponentChildren {
  return message == null ? texts.failedSilently : <span lang="en">{visible(message)}</span>;
}

/** Links to a solution for the problem, if there is one. */
function Way({ of: one }: { of: Attention }) {
  if (!('instance' in one))
    return (
      <a class="button" href="/billing">
        {one.kind === 'month-limit' ? texts.changeLimit : texts.addCredit}
      </a>
    );
  return (
    <a class="button" href={`/instances/${one.instance.id}`}>
      {texts.open(one.instance.name, (text) => (
        <span class="hidden">{text}</span>
      ))}
    </a>
  );
}

function Rented({ instances }: { instances: readonly Instance[] }) {
  // Running instances come first, because they cost the most.
  const shown = instances
    .toSorted((one, other) => Number(other.status === 'RUNNING') - Number(one.status === 'RUNNING'))
    .slice(0, MAX_INSTANCES);
  const decimals = decimalsOf(shown.map(rateOf), 3);
  const { name, status, gpus, rate, cost } = instanceTexts.columns;
  return (
    <section class="panel" aria-labelledby="rented">
      <div class="panel-head">
        <h2 id="rented">{texts.rented}</h2>
        {instances.length > 0 && <a href="/instances">{texts.allInstances(instances.length)}</a>}
      </div>
      {instances.length === 0 ? (
        <Empty icon="square-terminal" title={texts.noneRented}>
          <p>{texts.noneRentedWhat}</p>
        </Empty>
      ) : (
        <Table
          class="instances"
          columns={[
            [name, undefined, 'i-name'],
            [status, undefined, 'i-status'],
            [gpus, undefined, 'i-gpus'],
            [rate, 'number', 'i-rate'],
            [cost, 'number', 'i-cost'],
          ]}
        >
          {shown.map((instance) => (
            <tr key={instance.id}>
              <MainCells instance={instance} />
              <RateCell instance={instance} decimals={decimals} />
              <CostCell instance={instance} />
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}

function VolumesLine({ volumes }: { volumes: NonNullable<HomeRead['volumes']> }) {
  if (volumes.length === 0) return null;
  const size = volumes.reduce((sum, { sizeGb }) => sum + sizeGb, 0);
  const cost = volumes.reduce((sum, { priceHr }) => sum + micro(priceHr), 0n);
  return (
    <section class="panel padded row between" aria-labelledby="home-volumes">
      <h2 id="home-volumes">{texts.volumes}</h2>
      <p class="quiet">{texts.volumesCost(volumes.length, size, rate(cost))}</p>
      <a href="/volumes">{texts.yourVolumes}</a>
    </section>
  );
}
