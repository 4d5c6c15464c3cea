import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { isUnavailable } from '../../database/faults.js';
import { isAccepted } from '../accounts/api-keys.js';
import { type Balance, balanceOf } from '../billing/balance.js';
import { settled } from '../billing/settlement.js';
import type { Deps } from '../deps.js';
import type { InstanceRow } from '../instances/instance-row.js';
import { findInstance } from '../instances/instances.js';
import { findOffers, type Offer, type OfferFilter } from '../inventory/offers.js';
import { balanceUnitsAt } from '../rules/accrual.js';
import { DomainError } from '../rules/errors.js';
import type { Account } from '../rules/lifecycle.js';
import { latest } from '../rules/time.js';
import type { News, Stream, Subject, Subscriber } from './subscriptions.js';

/** While the database is away a stream looks again so often. */
const LOOK_AGAIN_MS = 500;

/**
 * Each change of one of the account's instances, or of one of them alone: the instance as it is when the event is made,
 * so that several changes at once may be one event. Begins with the first change; refuses an unknown id with not_found.
 */
export async function instanceChanges(
  deps: Deps,
  subscriber: Subscriber,
  id: string | null,
  signal: AbortSignal,
): Promise<AsyncIterableIterator<InstanceRow>> {
  const { accountId } = subscriber;
  /** The state of undestroyed instances when last looked at, by id. */
  const seen = new Map<string, string>();
  /** The account's newest instance then. */
  let newest: number | null = null;

  const begin = async () => {
    if (id !== null && (await findInstance(deps, accountId, id)) === null) {
      throw new DomainError('not_found', 'no such instance');
    }
    newest = (await settled(deps, accountId)).deployedInstances;
    const where = { accountId, status: { not: 'DESTROYED' as const }, ...(id !== null && { id }) };
    for (const row of await deps.db.prisma.instance.findMany({ where })) seen.set(row.id, stateOf(row));
    return [];
  };
  const look = async ({ instances }: News): Promise<InstanceRow[]> => {
    if (newest === null) return begin();
    const before = newest;
    await settled(deps, accountId);
    const ids = [...(instances ?? seen.keys())];
    // Whatever was not told is among what was alive and what is new.
    const rows = await deps.db.prisma.instance.findMany({
      where: { accountId, ...(id !== null && { id }), OR: [{ id: { in: ids } }, { sequence: { gt: before } }] },
      orderBy: { sequence: 'asc' },
    });
    const isNew = (row: InstanceRow) => row.sequence > before || seen.has(row.id);
    const changed = rows.filter((row) => isNew(row) && seen.get(row.id) !== stateOf(row));
    for (const row of changed) {
      if (row.status === 'DESTROYED') seen.delete(row.id);
      else seen.set(row.id, stateOf(row));
      newest = Math.max(newest, row.sequence);
    }
    return changed;
  };
  return watch(deps, 'instances', subscriber, signal, look);
}

/** Different in every state an instance is ever in. */
function stateOf({ status, gpuIntervals }: InstanceRow): string {
  return `${status} ${gpuIntervals}`;
}

/** The balance now, and again whenever it is no longer what the one told last leads to: credit or burn changed. */
export function balanceChanges(
  deps: Deps,
  subscriber: Subscriber,
  signal: AbortSignal,
): Promise<AsyncIterableIterator<Balance>> {
  let told: Account | null = null;
  return watch(deps, 'balance', subscriber, signal, async () => {
    const account = await settled(deps, subscriber.accountId);
    if (told !== null && isSameLine(told, account)) return [];
    told = account;
    return [balanceOf(account, deps.clock.now())];
  });
}

function isSameLine(told: Account, account: Account): boolean {
  const at = latest(told.settledAt, account.settledAt);
  return told.burnRate === account.burnRate && balanceUnitsAt(told, at) === balanceUnitsAt(account, at);
}

/** The offers now, and again whenever they are others. Refuses a filter out of bounds. */
export function offerChanges(
  deps: Deps,
  subscriber: Subscriber | null,
  filter: OfferFilter,
  signal: AbortSignal,
): Promise<AsyncIterableIterator<Offer[]>> {
  let told: Offer[] | null = null;
  return watch(deps, 'offers', subscriber, signal, async () => {
    const offers = await findOffers(deps, filter);
    if (isDeepStrictEqual(told, offers)) return [];
    told = offers;
    return [offers];
  });
}

/**
 * Opens a stream, until `signal` or its reader ends it. `look` gives the events that the news makes; the first look is
 * over, and its refusal is told, before this resolves. The key is looked at first: once it is refused the stream ends
 * with unauthorized.
 */
async function watch<T>(
  deps: Deps,
  subject: Subject,
  subscriber: Subscriber | null,
  signal: AbortSignal,
  look: (news: News) => Promise<T[]>,
): Promise<AsyncIterableIterator<T>> {
  const stream = deps.subscriptions.open(subject, subscriber);
  signal.addEventListener('abort', () => stream.close(), { once: true });
  if (signal.aborted) stream.close();
  const read = async (news: News): Promise<T[]> => {
    // What changes while no notices come in is not told: it is read once they do.
    await deps.db.notices.ready();
    if (news.access && subscriber !== null && !(await isAccepted(deps, subscriber.keyId))) {
      throw new DomainError('unauthorized', 'the API key is no longer accepted');
    }
    return news.content ? look(news) : [];
  };
  try {
    const news = await stream.news();
    const first = news === null ? [] : await read(news);
    return closable(eventsOf(stream, first, read), stream);
  } catch (error) {
    stream.close();
    throw error;
  }
}

async function* eventsOf<T>(stream: Stream, first: T[], read: (news: News) => Promise<T[]>): AsyncGenerator<T, void> {
  try {
    let events = first;
    for (;;) {
      for (const event of events) if (!stream.isClosed) yield event;
      const news = await stream.news();
      if (news === null) return;
      events = await read(news).catch(async (error) => {
        if (!isUnavailable(error)) throw error;
        await sleep(LOOK_AGAIN_MS, undefined, { ref: false });
        stream.hearOfAnything();
        return [];
      });
    }
  } finally {
    stream.close();
  }
}

/** A generator that waits can't be returned from: the stream is closed, which ends the wait. */
function closable<T>(events: AsyncGenerator<T, void>, stream: Stream): AsyncIterableIterator<T> {
  return {
    next: () => events.next(),
    return: () => {
      stream.close();
      return events.return();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
