import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { micro, rate, rates } from '../figures/money.js';
import { visible } from '../figures/visible.js';
import { Home as HomeDocument } from '../graph/documents.js';
import { Balance } from '../parts/balance.js';
import { Icon } from '../parts/icon.js';
import { InstanceName } from '../parts/instance-name.js';
import { Empty, Failure } from '../parts/notice.js';
import { PlaceAndCost } from '../parts/place-and-cost.js';
import { Runtime, Status } from '../parts/status.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { type Instance, rateOf, type Settled, settled, sumsAge } from '../state/account.js';
import { type Attention, attentionOf, type HomeRead } from '../state/attention.js';
import { serverNow } from '../state/clock.js';
import { readSheet, sheet } from '../state/market.js';
import { useRead } from '../state/read.js';
import { useTitle } from '../state/title.js';

/** Most rows; the others are on Instances. */
const MOST_INSTANCES = 8;

/** What runs, what it costs, what needs attention, and the first steps until they are done. */
export function Home() {
  useEffect(() => {
    if (sheet.value === null) void readSheet();
  }, []);
  useTitle('Home');
  const known = settled.value;
  const { data, error } = useRead(HomeDocument, {}, sumsAge);
  const read = data.value;
  return (
    <div class="stack">
      <div class="row between">
        <h1 tabIndex={-1}>Home</h1>
        <a class="button primary" href="/machines">
          Rent a machine
        </a>
      </div>
      <Failure error={error.value} />
      {known === null ? (
        <p class="quiet">Reading your account …</p>
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

/** Shown until credit, an SSH key and a first instance have been there. */
function FirstSteps({ known, read }: { known: Settled; read: HomeRead }) {
  const hasRented = (read.instanceHistory?.edges.length ?? 0) > 0;
  const hasCredit = known.balance > 0n || (read.account?.lifetimeSpend ?? 0) > 0;
  const hasKey = (read.sshKeys?.length ?? 0) > 0;
  if (hasRented && hasCredit && hasKey) return null;
  return (
    <section class="panel" aria-labelledby="first-steps">
      <div class="panel-head">
        <h2 id="first-steps">First steps</h2>
      </div>
      <ol class="steps">
        <Step isDone={hasCredit} title="Add credit" href="/money" action="Add credit">
          Rentals are paid by the second from it. Nothing is owed beyond it but kept disks.
        </Step>
        <Step isDone={hasKey} title="Add your SSH key" href="/keys" action="Add an SSH key">
          With its private part you get into every instance. The key that ssh-keygen makes is fine.
        </Step>
        <Step isDone={hasRented} title="Rent a first machine" href="/machines" action="See the machines">
          Choose a model and a template. It runs within seconds, and you can stop it at any moment.
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
          {isDone && <span class="small good"> done</span>}
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
        <h2 id="attention">Needs attention</h2>
        {all.length > 0 && <span class="badge warn">{all.length}</span>}
      </div>
      {all.length === 0 ? (
        <p class="padded quiet">{isRead ? 'Nothing: all is as it should be.' : 'Looking …'}</p>
      ) : (
        <ul class="attention">
          {all.map((one, index) => (
            <li key={index} class={one.isBad ? 'bad-mark' : ''}>
              <Icon name={one.isBad ? 'circle-alert' : 'clock'} />
              <span>
                <span class="hidden">{one.isBad ? 'Urgent: ' : 'Note: '}</span>
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

/** Each kind has a whole sentence of its own. */
function Sentence({ of: one }: { of: Attention }) {
  const at = <At at={one.at} />;
  if (one.kind === 'credit-over')
    return one.at === null ? (
      <>Your credit ran out: everything is stopped.</>
    ) : (
      <>Your credit ran out: everything is stopped, and is destroyed {at} without new credit.</>
    );
  if (one.kind === 'credit-ends') return <>Your credit runs out {at}. What runs stops then.</>;
  if (one.kind === 'month-limit')
    return one.isBad ? (
      <>The limit of this month was reached {at}: what ran has stopped.</>
    ) : (
      <>The limit of this month is reached {at}. What runs stops then.</>
    );
  const name = <strong>{one.instance.name}</strong>;
  if ('volume' in one) {
    const volume = <strong>{visible(one.volume)}</strong>;
    if (one.kind === 'volume-lost')
      return (
        <>
          What {name} wrote to the volume {volume} after {at} is lost.
        </>
      );
    if (one.kind === 'volume-refused')
      return (
        <>
          The volume {volume} of {name} could not be stored. Its last stored state is of {at}.
        </>
      );
    return (
      <>
        The volume {volume} of {name} has not been stored since {at}.
      </>
    );
  }
  switch (one.kind) {
    case 'silent':
      return <>The machine of {name} is not heard from. It may come back by itself.</>;
    case 'failed':
      return (
        <>
          The container of {name} failed: {visible(one.instance.runtime?.message ?? 'its machine does not say why')}
        </>
      );
    case 'not-started':
      return (
        <>
          {name} could not be started. It stopped {at}.
        </>
      );
    case 'preempted':
      return (
        <>
          {name} was stopped {at}: its machine was rented on demand or reserved.
        </>
      );
    case 'ended-badly':
      return (
        <>
          The command of {name} ended {at} with exit code {one.instance.runtime?.exitCode}.
        </>
      );
    case 'stops':
      return (
        <>
          {name} stops by itself {at}.
        </>
      );
    case 'destroyed':
      return (
        <>
          {name} is destroyed by itself {at}. Its disk is erased then.
        </>
      );
    case 'limit':
      return (
        <>
          {name} reaches its spend limit {at}, and stops.
        </>
      );
    default:
      return (
        <>
          {name} has been stopped since {at}. Its disk costs {rate(rateOf(one.instance))} USD/h.
        </>
      );
  }
}

/** Where something can be done about it. */
function Way({ of: one }: { of: Attention }) {
  if (!('instance' in one))
    return (
      <a class="button" href="/money">
        {one.kind === 'month-limit' ? 'Change the limit' : 'Add credit'}
      </a>
    );
  return (
    <a class="button" href={`/instances/${one.instance.id}`}>
      Open<span class="hidden"> {one.instance.name}</span>
    </a>
  );
}

function Rented({ instances }: { instances: readonly Instance[] }) {
  // What runs is what costs most.
  const shown = instances
    .toSorted((one, other) => Number(other.status === 'RUNNING') - Number(one.status === 'RUNNING'))
    .slice(0, MOST_INSTANCES);
  const costs = rates(shown.map(rateOf));
  return (
    <section class="panel" aria-labelledby="rented">
      <div class="panel-head">
        <h2 id="rented">What you rent</h2>
        {instances.length > 0 && (
          <a href="/instances">{instances.length === 1 ? 'Your instance' : `All ${instances.length} instances`}</a>
        )}
      </div>
      {instances.length === 0 ? (
        <Empty title="Nothing is rented">
          <p>What you rent shows here, with its cost to the second.</p>
        </Empty>
      ) : (
        <Table
          isCards
          columns={[['Instance'], ['State'], ['Where'], ['USD/h now', 'number'], ['Cost so far, USD', 'number']]}
        >
          {shown.map((instance, index) => (
            <tr key={instance.id}>
              <InstanceName instance={instance} />
              <td class="wide">
                <Status instance={instance} />
                <Runtime runtime={instance.runtime} />
              </td>
              <PlaceAndCost instance={instance} hourly={costs[index]} />
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
      <h2 id="home-volumes">Volumes</h2>
      <p class="quiet">
        {volumes.length === 1 ? '1 volume' : `${volumes.length} volumes`}, {size} GB, {rate(cost)} USD/h
      </p>
      <a href="/volumes">Your volumes</a>
    </section>
  );
}
