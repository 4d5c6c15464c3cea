import type { ResultOf } from 'gql.tada';
import { secondsOf } from '../figures/time.js';
import type { Home } from '../graph/documents.js';
import type { Instance, Settled } from './account.js';

export type HomeRead = ResultOf<typeof Home>;

/**
 * Something that may need the owner's attention. `at` is the time at which it happens or happened, in seconds since
 * 1970.
 */
export type Attention =
  | { kind: 'credit-over'; isBad: true; at: number | null }
  | { kind: 'credit-ends'; isBad: boolean; at: number }
  | { kind: 'month-limit'; isBad: boolean; at: number }
  | { kind: InstanceKind; isBad: boolean; at: number | null; instance: Instance }
  | { kind: VolumeKind; isBad: boolean; at: number | null; instance: Instance; volume: string };

type InstanceKind =
  | 'silent'
  | 'failed'
  | 'not-started'
  | 'preempted'
  | 'ended-badly'
  | 'stops'
  | 'destroyed'
  | 'limit'
  | 'costs-stopped';
type VolumeKind = 'volume-lost' | 'volume-unsaved' | 'volume-refused';

/** Events further in the future than this are not shown yet. */
const SOON_SECONDS = 86_400;
/** Credit that runs out within this time is urgent. */
const URGENT_SECONDS = 6 * 3_600;
/**
 * Volumes of running instances are saved every 10 minutes, so something must be wrong if one hasn't been saved for this
 * long.
 */
const UNSAVED_AFTER_SECONDS = 1_800;
/** A disk that hasn't been used for this long may have been forgotten. */
const FORGOTTEN_AFTER_SECONDS = 3 * 86_400;
/** Maximum number of items shown. */
const MAX_SHOWN = 50;

/** Returns up to 50 items that need attention. Urgent ones come first, followed by the soonest. */
export function attentionOf(known: Settled, read: HomeRead | null, now: number): readonly Attention[] {
  const details = new Map(read?.instances?.map((instance) => [instance.id, instance]));
  const all = [
    ...ofCredit(known, read, now),
    ...known.instances.flatMap((instance) => {
      const more = details.get(instance.id);
      return [...ofInstance(instance, now), ...(more === undefined ? [] : ofDetails(instance, more, now))];
    }),
  ];
  const order = ({ isBad, at }: Attention) => (isBad ? 0 : 1e12) + (at ?? 0);
  return all.toSorted((one, other) => order(one) - order(other)).slice(0, MAX_SHOWN);
}

function ofCredit({ balance, exhaustsAt, diskDeleteAt }: Settled, read: HomeRead | null, now: number): Attention[] {
  const reached = read?.account?.limitReachedAt ?? null;
  const limitAt = reached === null ? null : secondsOf(reached);
  const found: Attention[] = [];
  if (exhaustsAt !== null && exhaustsAt <= now) found.push({ kind: 'credit-over', isBad: true, at: diskDeleteAt });
  else if (balance <= 0n && diskDeleteAt !== null) found.push({ kind: 'credit-over', isBad: true, at: diskDeleteAt });
  else if (exhaustsAt !== null && exhaustsAt - now < SOON_SECONDS)
    found.push({ kind: 'credit-ends', isBad: exhaustsAt - now < URGENT_SECONDS, at: exhaustsAt });
  if (limitAt !== null && limitAt - now < SOON_SECONDS)
    found.push({ kind: 'month-limit', isBad: limitAt <= now, at: limitAt });
  return found;
}

/** Returns the items that can be derived from the followed state itself. */
function ofInstance(instance: Instance, now: number): Attention[] {
  const { status, stopReason, stoppedAt, runtime } = instance;
  const stopped = stoppedAt === null ? null : secondsOf(stoppedAt);
  const about = (kind: InstanceKind, isBad: boolean, at: number | null): Attention[] => [{ kind, isBad, at, instance }];
  if (status === 'RUNNING') {
    if (runtime === null) return [];
    if (!runtime.reachable || runtime.phase === 'UNREACHABLE') return about('silent', true, null);
    return runtime.phase === 'FAILED' ? about('failed', true, null) : [];
  }
  if (stopReason === 'START_FAILED') return about('not-started', true, stopped);
  if (stopReason === 'PREEMPTED') return about('preempted', false, stopped);
  if (stopReason === 'COMMAND_ENDED' && runtime?.exitCode) return about('ended-badly', false, stopped);
  const isForgotten = stopped !== null && now - stopped > FORGOTTEN_AFTER_SECONDS;
  return isForgotten ? about('costs-stopped', false, stopped) : [];
}

type Details = NonNullable<HomeRead['instances']>[number];

/** Returns the items that can be derived from the separately read details: deadlines, limits and volumes. */
function ofDetails(instance: Instance, { stopAt, destroyAt, limitReachedAt, volumes }: Details, now: number) {
  const found: Attention[] = [];
  const soon = (kind: InstanceKind, instant: string | null, isBad: boolean) => {
    const at = instant === null ? null : secondsOf(instant);
    if (at !== null && at > now && at - now < SOON_SECONDS) found.push({ kind, isBad, at, instance });
  };
  const isRunning = instance.status === 'RUNNING';
  if (isRunning) soon('stops', stopAt, false);
  if (isRunning) soon('limit', limitReachedAt, false);
  soon('destroyed', destroyAt, true);
  for (const { holdsLease, lostSince, lastSnapshotAt, message, volume } of volumes) {
    if (volume.deletedAt !== null) continue;
    const about = { instance, volume: volume.name };
    const saved = secondsOf(lastSnapshotAt ?? instance.createdAt);
    if (lostSince !== null) found.push({ kind: 'volume-lost', isBad: true, at: secondsOf(lostSince), ...about });
    else if (!holdsLease) continue;
    else if (message !== null) found.push({ kind: 'volume-refused', isBad: true, at: saved, ...about });
    else if (now - saved > UNSAVED_AFTER_SECONDS)
      found.push({ kind: 'volume-unsaved', isBad: true, at: saved, ...about });
  }
  return found;
}
