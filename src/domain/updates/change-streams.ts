import { setTimeout as sleep } from 'node:timers/promises';
import type { Prisma } from '../../database/database.js';
import { isUnavailable } from '../../database/faults.js';
import { type AccountState, describeAccount } from '../accounts/accounts.js';
import { isAccepted } from '../accounts/api-keys.js';
import { type Balance, balanceOf } from '../billing/balance.js';
import type { SettlingDeps } from '../billing/deps.js';
import { settledAccount } from '../billing/settlement.js';
import { RUNTIME_SELECT, runtimeOf } from '../fleet/runtime.js';
import type { InstanceRow } from '../instances/instance-row.js';
import { findInstance } from '../instances/instances.js';
import { findOffers, type Offer, type OfferFilter } from '../inventory/offers.js';
import { balanceUnitsAt } from '../kernel/accrual.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import type { Account } from '../kernel/lifecycle.js';
import { latest } from '../kernel/time.js';
import type { PriceSheet } from '../market/price-sheet.js';
import { priceSheet } from '../market/pricing.js';
import type { InstanceLoad } from '../samples/metric-points.js';
import type { PaidTopUp } from '../top-ups/top-up-rows.js';
import { findTopUp, listTopUps } from '../top-ups/top-ups.js';
import type { UpdateDeps } from './deps.js';
import type { Stream, StreamChanges, Subscriber, Topic, Visitor } from './subscriptions.js';

/** Pause before a stream reads again after finding the database unavailable. */
const RETRY_MS = 500;

/**
 * Streams changes to the account's instances, or to one of them. Each event holds the instance's current state, so
 * several changes in quick succession may be combined into one event. The stream begins with the first change. Throws
 * not_found if the id is unknown.
 */
export function instanceChanges(
  deps: SettlingDeps & Pick<UpdateDeps, 'subscriptions'>,
  subscriber: Subscriber,
  id: string | null,
  signal: AbortSignal,
): Promise<AsyncIterableIterator<InstanceRow>> {
  return watch(deps, 'instances', subscriber, signal, changedInstances(deps, subscriber.accountId, id));
}

/** Returns a function that reads the instances changed since its last call. The first call returns none. */
function changedInstances(deps: SettlingDeps, accountId: string, id: string | null) {
  /** Each live instance's last known state, by id. */
  const seen = new Map<string, string>();
  /** Sequence number of the account's newest instance at the last read. */
  let newest: number | null = null;

  const begin = async () => {
    if (id !== null && (await findInstance(deps, accountId, id)) === null) {
      throw new DomainError('not_found', 'no such instance');
    }
    newest = (await settledAccount(deps, accountId)).deployedInstances;
    const where = { accountId, status: { not: 'DESTROYED' as const }, ...(id !== null && { id }) };
    for (const row of await deps.db.prisma.instance.findMany({ where, include })) seen.set(row.id, stateOf(row));
    return [];
  };
  return async ({ instances }: Pick<StreamChanges, 'instances'>): Promise<InstanceRow[]> => {
    if (newest === null) return begin();
    const before = newest;
    await settledAccount(deps, accountId);
    const ids = [...(instances ?? seen.keys())];
    // Only live or new instances can have unsent changes.
    const rows = await deps.db.prisma.instance.findMany({
      where: { accountId, ...(id !== null && { id }), OR: [{ id: { in: ids } }, { sequence: { gt: before } }] },
      orderBy: { sequence: 'asc' },
      include,
    });
    const isNew = (row: InstanceRow) => row.sequence > before || seen.has(row.id);
    const changed = rows.filter((row) => isNew(row) && seen.get(row.id) !== stateOf(row));
    for (const row of changed) {
      if (isOver(row)) seen.delete(row.id);
      else seen.set(row.id, stateOf(row));
      newest = Math.max(newest, row.sequence);
    }
    return changed;
  };
}

/** Includes the container, whose state is part of the instance's state. */
const include = { container: RUNTIME_SELECT.container } as const;

type InstanceWithContainer = Prisma.InstanceGetPayload<{ include: typeof include }>;

/** Returns a string that differs for every state of an instance and its container. */
function stateOf(row: InstanceWithContainer): string {
  const runtime = runtimeOf(row);
  if (runtime === null) return `${row.status} ${row.gpuIntervals}`;
  const { phase, pulledBytes, totalBytes, message, exitCode, restarts } = runtime;
  return [row.status, row.gpuIntervals, phase, pulledBytes, totalBytes, exitCode, restarts, message].join(' ');
}

/** Whether the instance will have no further events. */
function isOver({ status, container }: InstanceWithContainer): boolean {
  return status === 'DESTROYED' && (container === null || container.erasedAt !== null);
}

/**
 * Streams changes to the account's top-ups, or to one of them. Each event holds the top-up's state after a payment was
 * seen, confirmed, credited or quarantined. With an id, the first event shows the top-up as it is now. Throws not_found
 * if the id is unknown.
 */
export function topUpChanges(
  deps: Pick<UpdateDeps, 'db' | 'clock' | 'subscriptions'>,
  subscriber: Subscriber,
  id: string | null,
  signal: AbortSignal,
): Promise<AsyncIterableIterator<PaidTopUp>> {
  return watch(deps, 'topUps', subscriber, signal, changedTopUps(deps, subscriber.accountId, id));
}

/**
 * Returns a function that reads the top-ups changed since its last call. The first call returns none, or the requested
 * one.
 */
function changedTopUps(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  accountId: string,
  id: string | null,
): () => Promise<PaidTopUp[]> {
  /** Each top-up's last sent state, by id. Null before the first read. */
  let lastSent: Map<string, string> | null = null;
  return async () => {
    const found = id === null ? await listTopUps(deps, accountId) : [await findTopUp(deps, accountId, id)];
    const topUps = found.filter((topUp) => topUp !== null);
    if (id !== null && topUps.length === 0) throw new DomainError('not_found', 'no such top-up');
    const before = lastSent;
    lastSent = new Map(topUps.map((topUp) => [topUp.id, fingerprintOf(topUp)]));
    if (before === null) return id === null ? [] : topUps;
    // The client that created a top-up already has it from the response, so events begin with the first payment.
    return topUps.filter((topUp) => topUp.payments.length > 0 && before.get(topUp.id) !== fingerprintOf(topUp));
  };
}

/** Returns a string that changes whenever a payment does. */
function fingerprintOf({ payments }: PaidTopUp): string {
  return payments.map(({ transaction, state, confirmations }) => `${transaction} ${state} ${confirmations}`).join();
}

/**
 * Streams the balance. Sends the current one, and another whenever credit or burn rate has changed so that the balance
 * departs from what the last event predicts.
 */
export function balanceChanges(
  deps: SettlingDeps & Pick<UpdateDeps, 'subscriptions'>,
  subscriber: Subscriber,
  signal: AbortSignal,
): Promise<AsyncIterableIterator<Balance>> {
  let lastSent: Account | null = null;
  return watch(deps, 'balance', subscriber, signal, async () => {
    const account = await settledAccount(deps, subscriber.accountId);
    if (lastSent !== null && isSameCourse(lastSent, account)) return [];
    lastSent = account;
    return [balanceOf(deps, account)];
  });
}

function isSameCourse(lastSent: Account, account: Account): boolean {
  const at = latest(lastSent.settledAt, account.settledAt);
  return lastSent.burnRate === account.burnRate && balanceUnitsAt(lastSent, at) === balanceUnitsAt(account, at);
}

/** The current account and what has changed since the previous event. */
export interface AccountChange {
  account: AccountState;
  instances: InstanceRow[];
  topUps: PaidTopUp[];
  /** Instances with a new sample. An event with nothing but loads repeats the previous event's account. */
  loads: InstanceLoad[];
}

/** Maximum number of instances per event. Any others follow immediately. */
const INSTANCES_PER_EVENT = 100;
/** Maximum number of loads per event. */
export const LOADS_PER_EVENT = 20;

/**
 * Combines the balance, instance and top-up streams. The stream begins with the current account, so readers must then
 * query the instances and top-ups themselves. A reader that requests loads receives the changed ones every 10 s.
 */
export function accountChanges(
  deps: SettlingDeps & Pick<UpdateDeps, 'loadWatch' | 'subscriptions'>,
  subscriber: Subscriber,
  signal: AbortSignal,
  wantsLoads = false,
): Promise<AsyncIterableIterator<AccountChange>> {
  const { accountId } = subscriber;
  const readInstances = changedInstances(deps, accountId, null);
  const readTopUps = changedTopUps(deps, accountId, null);
  let lastSent: Account | null = null;
  /**
   * Each change can be read only once. If a later read fails, the changes read so far are kept here for the next event.
   */
  let unsent: Pick<AccountChange, 'instances' | 'topUps'> = { instances: [], topUps: [] };
  let lastState: AccountState | null = null;
  const follow = (stream: Stream) => deps.loadWatch.follow(accountId, (loads) => stream.addLoads(loads));
  const readContent = async (changes: StreamChanges): Promise<AccountChange[]> => {
    if (changes.topUps) unsent.topUps.push(...(await readTopUps()));
    unsent.instances.push(...(await readInstances(changes)));
    // Read last, so that it reflects the changes to the account's instances.
    const account = await settledAccount(deps, accountId);
    const isSame = lastSent !== null && isSameCourse(lastSent, account);
    if (isSame && unsent.instances.length === 0 && unsent.topUps.length === 0) return [];
    const state = await describeAccount(deps, account);
    lastSent = account;
    lastState = state;
    const { instances, topUps } = unsent;
    unsent = { instances: [], topUps: [] };
    const events: AccountChange[] = [];
    for (let from = 0; from === 0 || from < instances.length; from += INSTANCES_PER_EVENT) {
      const part = instances.slice(from, from + INSTANCES_PER_EVENT);
      events.push({ account: state, instances: part, topUps: from === 0 ? topUps : [], loads: [] });
    }
    return events;
  };
  const read = async (changes: StreamChanges): Promise<AccountChange[]> => {
    const events = changes.content ? await readContent(changes) : [];
    const account = lastState;
    if (account === null) return events;
    const loads = partsOf(changes.loads).map((part) => ({ account, instances: [], topUps: [], loads: part }));
    return [...events, ...loads];
  };
  return watch(deps, 'account', subscriber, signal, read, wantsLoads ? follow : undefined);
}

/** Maximum number of load values per event. An instance with 64 GPUs has 716. */
const LOAD_VALUES_PER_EVENT = 4_000;
const VALUES_OF_LOAD = 12;
const VALUES_OF_GPU = 11;

function partsOf(loads: readonly InstanceLoad[]): InstanceLoad[][] {
  const parts: InstanceLoad[][] = [];
  let part: InstanceLoad[] = [];
  let room = 0;
  for (const load of loads) {
    const values = VALUES_OF_LOAD + VALUES_OF_GPU * load.load.gpus.length;
    if (values > room || part.length === LOADS_PER_EVENT) {
      part = [];
      parts.push(part);
      room = LOAD_VALUES_PER_EVENT;
    }
    part.push(load);
    room -= values;
  }
  return parts;
}

/**
 * Streams the offers. Sends the current list, and another whenever it changes. Throws if a filter is out of bounds.
 * Readers of the same list share it.
 */
export function offerChanges(
  deps: Pick<UpdateDeps, 'db' | 'clock' | 'sharedOffers' | 'subscriptions' | 'inventory'>,
  reader: Subscriber | Visitor,
  filter: OfferFilter,
  signal: AbortSignal,
): Promise<AsyncIterableIterator<readonly Offer[]>> {
  const { sharedOffers } = deps;
  const { gpu, region, numMin, priceMax, cudaMin, limit, includePreemptible } = filter;
  const key = JSON.stringify([gpu, region, numMin, priceMax, cudaMin, limit, includePreemptible]);
  let lastSent: readonly Offer[] | null = null;
  return watch(deps, 'offers', reader, signal, async () => {
    const offers = await sharedOffers.get(key, () => findOffers(deps, filter));
    if (lastSent !== null && !sharedOffers.differ(key, lastSent, offers)) return [];
    lastSent = offers;
    return [offers];
  });
}

const THE_SHEET = '';

/**
 * Streams the price sheet. Sends the current one, and another whenever a price or the offers change, even if one
 * machine merely replaces another of the same model. Readers share the sheet.
 */
export function priceSheetChanges(
  deps: Pick<UpdateDeps, 'db' | 'clock' | 'settings' | 'inventory' | 'sharedSheet' | 'subscriptions'>,
  reader: Subscriber | Visitor,
  signal: AbortSignal,
): Promise<AsyncIterableIterator<PriceSheet>> {
  const { inventory, sharedSheet } = deps;
  let lastSent: number | null = null;
  return watch(deps, 'offers', reader, signal, async () => {
    await inventory.current();
    // Read before the sheet, so that a concurrent change is sent twice rather than never.
    const { version } = inventory;
    if (lastSent === version) return [];
    const sheet = await sharedSheet.get(THE_SHEET, () => priceSheet(deps));
    lastSent = version;
    return [sheet];
  });
}

/**
 * Opens a stream that `signal` or its reader can end. `readEvents` turns changes into events. Its first call completes
 * before this function resolves, and if that call fails, this function rejects. The key is checked before each read.
 * Once it is no longer accepted, the stream ends with unauthorized.
 */
async function watch<T>(
  deps: Pick<UpdateDeps, 'db' | 'clock' | 'subscriptions'>,
  topic: Topic,
  reader: Subscriber | Visitor,
  signal: AbortSignal,
  readEvents: (changes: StreamChanges) => Promise<T[]>,
  /** Feeds the stream from another source until the returned function is called. */
  follow: (stream: Stream) => () => void = () => () => {},
): Promise<AsyncIterableIterator<T>> {
  const stream = deps.subscriptions.open(topic, reader);
  signal.addEventListener('abort', () => stream.close(), { once: true });
  if (signal.aborted) stream.close();
  const checkAndRead = async (changes: StreamChanges): Promise<T[]> => {
    // Changes are missed while no notices arrive, so the stream doesn't read until they are received again.
    await deps.db.notices.ready();
    const expiresAt = ('keyId' in reader && reader.expiresAt) || null;
    const isOver = expiresAt !== null && expiresAt <= deps.clock.now();
    if (isOver || (changes.access && 'keyId' in reader && !(await isAccepted(deps, reader)))) {
      throw new DomainError('unauthorized', 'the API key is no longer accepted');
    }
    return changes.content || changes.loads.length > 0 ? readEvents(changes) : [];
  };
  try {
    const changes = await stream.nextChanges();
    const first = changes === null ? [] : await checkAndRead(changes);
    if (!stream.isClosed) stream.onClosed = follow(stream);
    return closable(eventsOf(stream, first, checkAndRead), stream);
  } catch (error) {
    stream.close();
    throw error;
  }
}

async function* eventsOf<T>(
  stream: Stream,
  first: T[],
  read: (changes: StreamChanges) => Promise<T[]>,
): AsyncGenerator<T, void> {
  try {
    let events = first;
    for (;;) {
      for (const event of events) if (!stream.isClosed) yield event;
      const changes = await stream.nextChanges();
      if (changes === null) return;
      events = await read(changes).catch(async (error) => {
        if (!isUnavailable(error)) throw error;
        await sleep(RETRY_MS, undefined, { ref: false });
        stream.markAllChanged();
        return [];
      });
    }
  } finally {
    stream.close();
  }
}

/**
 * Wraps the generator so that `return` closes the stream, which ends its wait. On its own, `return` has no effect on a
 * generator that is awaiting.
 */
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
