import type { ComponentChildren } from 'preact';
import { loneRate, micro } from '../figures/money.js';
import { runningFirst } from '../figures/status.js';
import { visible } from '../figures/visible.js';
import { Home as HomeDocument } from '../graph/documents.js';
import { Copy } from '../parts/copy.js';
import { Icon } from '../parts/icon.js';
import { CostCell, MainCells, RateCell } from '../parts/instance-cells.js';
import { LoadCell, useLoads } from '../parts/load-figure.js';
import { loaded } from '../parts/loaded.js';
import { LocalTime } from '../parts/local-time.js';
import { MoneyFigures } from '../parts/money-figures.js';
import { Failure } from '../parts/notice.js';
import { contactUrl, OperatorContact } from '../parts/operator-contact.js';
import { Table } from '../parts/table.js';
import { type Instance, rateOf, type Settled, settled, sumsAge } from '../state/account.js';
import { type Attention, attentionOf, type HomeRead } from '../state/attention.js';
import { serverNow } from '../state/clock.js';
import { useSheet } from '../state/market.js';
import { useRead } from '../state/read.js';
import { hasSsh } from '../state/session.js';
import { useTitle } from '../state/title.js';
import { texts } from '../texts/en/home.js';
import { texts as instanceTexts } from '../texts/en/instances.js';
import { screens } from '../texts/en/screens.js';
import { FirstGpus, FirstTemplates } from './first-rental.js';
import { InstanceMenu } from './instance-menu.js';

const RecentSpend = loaded(async () => (await import('./recent-spend.js')).RecentSpend);
/** Maximum number of rows. The other instances are on the Instances screen. */
const MAX_INSTANCES = 8;

/** Shows what needs attention, the cost, the instances and, until they are done, the first steps. */
export function Home() {
  useSheet();
  useTitle(screens['/']);
  const known = settled.value;
  const { data, error } = useRead(HomeDocument, {}, sumsAge);
  const read = data.value;
  // The first steps are above the rest, so all parts wait for both reads.
  const isReady = known !== null && (read !== null || error.value !== null);
  const steps = isReady && read !== null ? stepsOf(known, read) : null;
  const hasSteps = steps?.some(({ isDone }) => !isDone) ?? false;
  const hasSpent = (read?.account?.lifetimeSpend ?? 0) > 0;
  // Until the first rental, all figures except the balance are zero.
  const hasMoney = hasSpent || (known?.instances.length ?? 0) > 0;
  const attention = isReady ? attentionOf(known, read, serverNow.value) : [];
  return (
    <div class="stack">
      <div class="row between home-head">
        <h1 tabIndex={-1}>{screens['/']}</h1>
        {read !== null && !hasSteps && attention.length === 0 && (
          <p class="quiet">
            <Icon name="circle-check" /> {texts.nothing}
          </p>
        )}
        {isReady && !hasSteps && (
          <a class="button primary" href="/deploy">
            {screens['/deploy']}
          </a>
        )}
      </div>
      <Failure error={error.value} />
      {!isReady ? (
        <p class="quiet">{texts.reading}</p>
      ) : (
        <>
          {hasSteps && <FirstSteps steps={steps!} />}
          {attention.length > 0 && <NeedsAttention of={attention} />}
          {hasMoney && (
            <section class="panel" aria-label={texts.cost}>
              <MoneyFigures volumes={read?.volumes?.length ?? 0} limit={read?.account?.monthlyLimit ?? null} />
            </section>
          )}
          <Rented known={known} volumes={read?.volumes ?? []} />
          {known.instances.length === 0 && <FirstTemplates />}
          {!hasSteps && hasSpent && <RecentSpend />}
        </>
      )}
    </div>
  );
}

interface Step {
  isDone: boolean;
  title: string;
  why: ComponentChildren;
  /** URL of the page for the step. Null if the user can't do it yet, or only elsewhere. */
  href: string | null;
  /** The button’s text, or what takes its place. Null if there is nothing to press. */
  action: ComponentChildren;
}

/** Returns the first steps, which end with the first instance. */
function stepsOf(known: Settled, read: HomeRead): readonly Step[] {
  const credit = creditStep(known, read);
  const steps = [
    credit,
    {
      isDone: (read.sshKeys?.length ?? 0) > 0,
      title: texts.keyStep,
      why: texts.keyWhy(<code>ssh-keygen -t ed25519</code>),
      href: '/keys',
      action: texts.addKey,
    },
    {
      isDone: (read.instanceHistory?.edges.length ?? 0) > 0,
      title: texts.rentStep,
      why: texts.rentWhy,
      // Before that, the offers below are the way to it.
      href: credit.isDone ? '/deploy' : null,
      action: credit.isDone ? screens['/deploy'] : null,
    },
  ];
  return hasSsh.value ? steps : steps.filter(({ href }) => href !== '/keys');
}

/** The step to the first credit, which is either paid here or requested from the operator. */
function creditStep(known: Settled, read: HomeRead): Step {
  const isDone = known.balance > 0n || (read.account?.lifetimeSpend ?? 0) > 0;
  // Null if it could not be read.
  if (read.topUpAssets?.length !== 0)
    return { isDone, title: texts.creditStep, why: texts.creditWhy, href: '/billing', action: texts.addCredit };
  const id = read.account?.id;
  const href = contactUrl(id);
  const account = <code class="nowrap">{id}</code>;
  return {
    isDone,
    title: texts.askForCredit,
    why:
      href === null
        ? texts.askForCreditWhy(account)
        : texts.contactForCredit(
            <OperatorContact account={id} />,
            <span class="step-account">
              {account}
              {id !== undefined && <Copy text={id} label={texts.copyAccount} isIcon />}
            </span>,
          ),
    href,
    action: href === null ? id !== undefined && <Copy text={id} label={texts.copyAccount} /> : texts.ask,
  };
}

/** Shows the first steps. The next one that the user can do has the screen's primary button. */
function FirstSteps({ steps }: { steps: readonly Step[] }) {
  const done = steps.filter(({ isDone }) => isDone).length;
  const next = steps.findIndex(({ isDone, href }) => !isDone && href !== null);
  return (
    <section class="panel" aria-labelledby="first-steps">
      <div class="panel-head">
        <h2 id="first-steps">{texts.firstSteps}</h2>
        <span class="steps-progress small quiet">
          {texts.progress(done, steps.length)}
          <progress value={done} max={steps.length} aria-hidden="true" />
        </span>
      </div>
      <ol class="steps">
        {steps.map(({ isDone, title, why, href, action }, index) => (
          <li key={title} class={`step${isDone ? ' done' : index === next ? ' step-next' : ''}`}>
            {isDone ? (
              <Icon name="circle-check" />
            ) : (
              <span class="step-mark" aria-hidden="true">
                {index + 1}
              </span>
            )}
            <div>
              <h3>
                {title}
                {isDone && <span class="hidden">{texts.done}</span>}
              </h3>
              {!isDone && <p class="small quiet">{why}</p>}
            </div>
            {!isDone &&
              (href === null ? (
                action
              ) : (
                <a class={`button${index === next ? ' primary' : ''}`} href={href}>
                  {action}
                </a>
              ))}
          </li>
        ))}
      </ol>
    </section>
  );
}

function NeedsAttention({ of: all }: { of: readonly Attention[] }) {
  return (
    <section class="panel" aria-labelledby="attention">
      <div class="panel-head">
        <h2 id="attention">{texts.attention}</h2>
        <span class={`badge ${all[0]!.isBad ? 'bad' : 'warn'}`}>{all.length}</span>
      </div>
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
    </section>
  );
}

const At = ({ at }: { at: number | null }) => (at === null ? null : <LocalTime at={at} />);

/** Describes an item that needs attention. Each kind has its own complete sentence. */
function Sentence({ of: one }: { of: Attention }) {
  const at = <At at={one.at} />;
  if (one.kind === 'credit-over') return one.at === null ? texts.creditOver : texts.creditOverUntil(at);
  if (one.kind === 'credit-ends') return texts.creditEnds(at);
  if (one.kind === 'month-limit') return one.isBad ? texts.limitWasReached(at) : texts.limitIsReached(at);
  const { id, name: known } = one.instance;
  const name = <strong class={known === id ? 'mono' : ''}>{known}</strong>;
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
      return texts.notStarted(name, at, machineMessage(one.instance.runtime?.message));
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
      return texts.costsStopped(name, at, loneRate(rateOf(one.instance)));
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

interface RentedProps {
  known: Settled;
  volumes: NonNullable<HomeRead['volumes']>;
}

function Rented({ known: { instances, balance }, volumes }: RentedProps) {
  return (
    <section class="panel" aria-labelledby="rented">
      {instances.length === 0 ? (
        <FirstGpus hasCredit={balance > 0n} />
      ) : (
        <>
          <div class="panel-head">
            <h2 id="rented">{texts.rented}</h2>
            <a href="/instances">{texts.allInstances(instances.length)}</a>
          </div>
          <InstanceTable instances={instances} />
        </>
      )}
      {volumes.length > 0 && <VolumesLine volumes={volumes} />}
    </section>
  );
}

function InstanceTable({ instances }: { instances: readonly Instance[] }) {
  useLoads();
  // Running instances come first, because they cost the most.
  const shown = runningFirst(instances).slice(0, MAX_INSTANCES);
  // Without a host agent, no load is ever known.
  const hasLoad = shown.some(({ status, runtime }) => status === 'RUNNING' && runtime !== null);
  const { name, status, gpus, load, rate, cost, actions } = instanceTexts.columns;
  return (
    <Table
      class="instances at-home"
      columns={[
        [name, undefined, 'i-name'],
        [status, undefined, 'i-status'],
        [gpus, undefined, 'i-gpus'],
        ...(hasLoad ? [[load, undefined, 'i-load'] as const] : []),
        [rate, 'number', 'i-rate'],
        [cost, 'number', 'i-cost'],
        [actions, 'unseen', 'i-more'],
      ]}
    >
      {shown.map((instance) => (
        <tr key={instance.id}>
          <MainCells instance={instance} />
          {hasLoad && <LoadCell instance={instance} />}
          <RateCell instance={instance} />
          <CostCell instance={instance} />
          <td class="i-more">
            <InstanceMenu instance={instance} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function VolumesLine({ volumes }: { volumes: NonNullable<HomeRead['volumes']> }) {
  const size = volumes.reduce((sum, { sizeGb }) => sum + sizeGb, 0);
  const cost = volumes.reduce((sum, { priceHr }) => sum + micro(priceHr), 0n);
  return (
    <p class="home-volumes small">
      <span class="quiet">
        <Icon name="hard-drive" /> {texts.volumesCost(volumes.length, size, loneRate(cost))}
      </span>
      <a href="/volumes">{screens['/volumes']}</a>
    </p>
  );
}
