import { useComputed, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { micro, rate, sum } from '../figures/money.js';
import { portOf } from '../figures/port.js';
import { fileSize } from '../figures/size.js';
import { statusOf, TONES } from '../figures/status.js';
import { byLocalDay, duration, exactTime, secondsOf, timeToSecond } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { Amount } from '../parts/amount.js';
import { DayName } from '../parts/day-name.js';
import { Fold } from '../parts/fold.js';
import { Icon } from '../parts/icon.js';
import { LocalTime } from '../parts/local-time.js';
import { Failure } from '../parts/notice.js';
import { reasonText, Status } from '../parts/status.js';
import { costNow, type Instance } from '../state/account.js';
import { serverNow } from '../state/clock.js';
import { keyNames, readKeyNames } from '../state/key-names.js';
import { withQuery } from '../state/location.js';
import { type Phase, phasesAfter, type TimelineEntry, useTimeline } from '../state/timeline.js';
import { attempts, operations, refusals, refusedText } from '../texts/en/operations.js';
import { states } from '../texts/en/status.js';
import { texts } from '../texts/en/timeline.js';

type Kind = TimelineEntry['kind'];
type Filter = keyof typeof texts.filters;

/** The icon, colour and filter for each kind. */
const LOOKS: Record<Kind, readonly [icon: string, tone: '' | 'good' | 'warn' | 'bad', filter: Filter]> = {
  RENTED: ['rocket', 'good', 'state'],
  STARTED: ['play', 'good', 'state'],
  RUNNING: ['circle-check', 'good', 'state'],
  FAILED: ['circle-alert', 'bad', 'state'],
  UNREACHABLE: ['triangle-alert', 'warn', 'state'],
  REACHABLE: ['network', 'good', 'state'],
  GPU_MISSING: ['triangle-alert', 'warn', 'state'],
  GPU_BACK: ['cpu', 'good', 'state'],
  VOLUME_STORED: ['cloud-upload', '', 'volumes'],
  VOLUME_LOST: ['circle-alert', 'bad', 'volumes'],
  CHANGED: ['sliders-horizontal', '', 'changes'],
  IDLE: ['clock', 'warn', 'state'],
  LIMIT_REACHED: ['scale', 'warn', 'state'],
  STOPPED: ['square', 'warn', 'state'],
  DESTROYED: ['trash-2', '', 'state'],
  CREDITED: ['undo-2', 'good', 'state'],
};
const ICONS: Readonly<Record<string, string>> = {
  addSshKey: 'key-round',
  removeSshKey: 'key-round',
  moveInstance: 'arrow-right',
};

interface Read {
  cursor: string;
  node: TimelineEntry;
  /** The phase that follows the entry. Null if it is unknown. */
  phase: Phase | null;
}

interface Shown extends Read {
  /** Equal entries directly preceding this one. There can be many, because a volume is saved every few minutes. */
  others: TimelineEntry[];
  /** The state until the entry shown below this one, and for how many seconds. Null for the oldest. */
  below: { seconds: number; state: Phase['state'] | null } | null;
}

/** Minimum seconds between two entries for which the time between them is shown. */
const MIN_BETWEEN = 60;

/**
 * Merges repeated saves of volumes into one line. `hasStates` is whether no change of the state is missing between the
 * entries.
 */
function mergeSaves(entries: readonly Read[], hasStates: boolean): Shown[] {
  const shown: Shown[] = [];
  for (const entry of entries) {
    const { node } = entry;
    const last = shown.at(-1);
    if (node.kind === 'VOLUME_STORED' && last?.node.kind === node.kind && last.node.volumeName === node.volumeName)
      last.others.push(node);
    else shown.push({ ...entry, others: [], below: null });
  }
  for (const [index, { node, phase }] of shown.slice(1).entries()) {
    const seconds = secondsOf(shown[index]!.node.at) - secondsOf(node.at);
    shown[index]!.below = { seconds, state: (hasStates && phase?.state) || null };
  }
  return shown;
}

/** Returns the entries with the phases that follow them. */
function withPhases(edges: readonly { cursor: string; node: TimelineEntry }[], { runtime }: Instance): Read[] {
  const phases = phasesAfter(
    edges.map(({ node }) => node),
    runtime !== null,
  );
  return edges.map((edge, index) => ({ ...edge, phase: phases[index] ?? null }));
}

/** Lists all events of an instance, newest first, below its current state. */
export function Timeline({ instance }: { instance: Instance }) {
  const { entries: edges, hasMore, error, more } = useTimeline(instance.id);
  const entries = edges && withPhases(edges, instance);
  const filter = useSignal<Filter>('all');
  useEffect(() => void readKeyNames(), []);
  const hasStates = filter.value === 'all' || filter.value === 'state';
  const wanted = entries?.filter(({ node }) => filter.value === 'all' || LOOKS[node.kind][2] === filter.value) ?? [];
  return (
    <section class="panel" aria-label={texts.title}>
      <div class="panel-head">
        <fieldset class="segments" aria-label={texts.filter}>
          {Object.entries(texts.filters).map(([value, label]) => (
            <button
              key={value}
              type="button"
              aria-pressed={filter.value === value}
              onClick={() => {
                filter.value = value as Filter;
              }}
            >
              {label}
            </button>
          ))}
        </fieldset>
      </div>
      <div class="padded stack">
        <Failure error={error} />
        {entries === null && error === null && <p class="quiet">{texts.reading}</p>}
        {entries?.length === 0 && <p class="quiet">{texts.none}</p>}
        {entries !== null && entries.length > 0 && wanted.length === 0 && (
          <p class="quiet">{texts.noneOfThese(hasMore)}</p>
        )}
        {wanted.length > 0 && (
          <div class="timeline">
            {hasStates && instance.status !== 'DESTROYED' && (
              <Now instance={instance} phase={entries?.[0]?.phase ?? null} />
            )}
            <Entries of={mergeSaves(wanted, hasStates)} />
          </div>
        )}
        {hasMore && (
          <div>
            <button type="button" onClick={more}>
              {texts.older}
            </button>
          </div>
        )}
      </div>
    </section>
  );
}

/** Number of events that the overview shows. */
const RECENT = 5;

/** The folded section with an instance's newest events. */
export function RecentEvents({ instance }: { instance: Instance }) {
  const { entries, error } = useTimeline(instance.id);
  useEffect(() => void readKeyNames(), []);
  const shown = mergeSaves(withPhases(entries ?? [], instance), true).slice(0, RECENT);
  const newest = shown[0]?.node;
  const summary = newest && (
    <>
      {titleOf(newest)}, <LocalTime at={secondsOf(newest.at)} />
    </>
  );
  return (
    <Fold title={texts.recent} summary={summary ?? '\u200b'}>
      <div class="stack">
        <Failure error={error} />
        <div class="timeline">
          <Entries of={shown} />
        </div>
        <p>
          <a href={withQuery({ tab: 'activity' })}>{texts.all}</a>
        </p>
      </div>
    </Fold>
  );
}

const Entries = ({ of: entries }: { of: readonly Shown[] }) => (
  <>
    {byLocalDay(entries, ({ node }) => secondsOf(node.at)).map(({ key, at, rows }) => (
      <section key={key}>
        <h2 class="timeline-day">
          <DayName at={at} />
        </h2>
        <ol>
          {rows.map((shown) => (
            <Entry key={shown.cursor} {...shown} />
          ))}
        </ol>
      </section>
    ))}
  </>
);

/** The instance's current state, how long it has lasted, and the cost so far. */
function Now({ instance, phase }: { instance: Instance; phase: Phase | null }) {
  // Some states begin without an event.
  const lasted = phase?.state === statusOf(instance) ? duration(serverNow.value - phase.since) : null;
  return (
    <p class="timeline-now">
      <Status instance={instance} />
      {lasted !== null && <span class="quiet small">{lasted}</span>}
      <span class="timeline-figure">{texts.soFar(<Amount of={costNow(instance)} unit="USD" />)}</span>
    </p>
  );
}

function Entry({ node, others, below }: Shown) {
  const [icon, tone] = LOOKS[node.kind];
  const isRefused = node.asked?.code != null;
  const at = secondsOf(node.at);
  const title =
    others.length === 0 ? titleOf(node) : texts.volumeSavedTimes(visible(node.volumeName ?? ''), others.length + 1);
  return (
    <li class={`tone-${isRefused ? 'bad' : tone} until-${below?.state ? TONES[below.state] : ''}`}>
      <div class="timeline-when">
        <time dateTime={node.at} title={exactTime(at)}>
          {timeToSecond(at)}
        </time>
      </div>
      <span class="timeline-rail">
        <span class="timeline-mark">
          <Icon name={ICONS[node.asked?.operation ?? ''] ?? icon} />
        </span>
      </span>
      <div class="timeline-what">
        <p class="timeline-title">{title}</p>
        <Details of={node} />
        {others.length > 0 && (
          <details>
            <summary class="small">{texts.which}</summary>
            <ul class="small quiet">
              {others.map((other) => (
                <li key={other.at}>
                  <LocalTime at={secondsOf(other.at)} />
                  {other.sizeBytes !== null && `, ${fileSize(other.sizeBytes)}`}
                </li>
              ))}
            </ul>
          </details>
        )}
      </div>
      <span class="timeline-figure figure">{figureOf(node)}</span>
      {below !== null && below.seconds >= MIN_BETWEEN && (
        <span class="timeline-between quiet">
          {texts.between(below.state && states[below.state], duration(below.seconds))}
        </span>
      )}
    </li>
  );
}

function titleOf(entry: TimelineEntry): string {
  const { kind, asked } = entry;
  const volume = visible(entry.volumeName ?? '');
  switch (kind) {
    case 'RENTED':
      return asked?.operation === 'moveInstance' ? texts.movedFrom(visible(asked.targets[0] ?? '')) : texts.rented;
    case 'STARTED':
      return texts.started;
    case 'RUNNING':
      return texts.running;
    case 'FAILED':
      return texts.failed;
    case 'UNREACHABLE':
      return texts.unreachable;
    case 'REACHABLE':
      return texts.reachable;
    case 'GPU_MISSING':
      return texts.gpuMissing;
    case 'GPU_BACK':
      return texts.gpuBack;
    case 'VOLUME_STORED':
      return texts.volumeSaved(volume);
    case 'VOLUME_LOST':
      return texts.volumeLost(volume);
    case 'CHANGED':
      return changeText(asked);
    case 'IDLE':
      return texts.idle;
    case 'LIMIT_REACHED':
      return texts.limitReached;
    case 'STOPPED':
      return texts.stopped;
    case 'DESTROYED':
      return texts.destroyed;
    case 'CREDITED':
      return texts.credited(entry.creditReason && texts.creditReasons[entry.creditReason]);
  }
}

/** Names a change, or the request for it if it was refused. */
function changeText(asked: TimelineEntry['asked']): string {
  const operation = asked?.operation ?? '';
  if (asked?.code == null) return operations[operation] ?? visible(operation);
  return refusedText(attempts[operation] ?? visible(operation), asked.times);
}

/** Returns the rate, size or amount for an entry's last column. Null if it has none. */
function figureOf({ kind, ratePerHour, amount, sizeBytes }: TimelineEntry): string | null {
  if (ratePerHour !== null) return texts.hourly(rate(micro(ratePerHour)));
  if (sizeBytes !== null) return fileSize(sizeBytes);
  if (amount === null) return null;
  const usd = sum(micro(amount));
  return texts.cost(kind === 'CREDITED' ? `+${usd}` : usd);
}

/** Returns why an entry happened and what it concerns, as briefly as possible. */
function detailsOf({ kind, stopReason, hostFault, seconds, asked }: TimelineEntry): string[] {
  const details: string[] = [];
  // The key that requested a stop says the same.
  if (stopReason !== null && (stopReason !== 'USER' || asked === null)) details.push(reasonText(stopReason));
  if (hostFault === true) details.push(texts.hostFault);
  if (kind === 'GPU_MISSING') details.push(texts.notBilled);
  if (seconds !== null) details.push(kind === 'CREDITED' ? duration(seconds) : texts.ran(duration(seconds)));
  if (kind === 'CHANGED' && asked?.operation === 'moveInstance' && asked.targets[1] !== undefined)
    details.push(texts.movedTo(visible(asked.targets[1])));
  const [port] = asked?.targets.flatMap((target) => portOf(target) ?? []) ?? [];
  if (port !== undefined) details.push(texts.port(port));
  if (asked?.code != null) details.push(refusals[asked.code] ?? visible(asked.code));
  return details;
}

/** Shows an entry's details, and who requested it from which address. */
function Details({ of: entry }: { of: TimelineEntry }) {
  const { asked } = entry;
  const name = useComputed(() => (asked === null ? '' : (keyNames.value.get(asked.keyId) ?? asked.keyId)));
  const details = detailsOf(entry);
  if (asked !== null) details.push(asked.byConsole ? texts.byConsole(name.value) : texts.byKey(name.value));
  if (details.length === 0) return null;
  return (
    <p class="small quiet" title={asked === null ? undefined : texts.from(visible(asked.address))}>
      {details.join(' · ')}
    </p>
  );
}
