import { computed, effect, signal, untracked } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { accrued, type Micro, micro } from '../figures/money.js';
import { newestLoads } from '../figures/newest-loads.js';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { AccountChanged, Loads, Settle } from '../graph/documents.js';
import { Retry } from '../graph/retry.js';
import { Refusal, send } from '../graph/send.js';
import { type Sent, sentNow, serverNow, setServiceTime, startClock } from './clock.js';
import { lookUpSession, session, sessionIsOver } from './session.js';
import { connection, keepFollowing } from './stream.js';

type Answer = ResultOf<typeof Settle>;
type Account = NonNullable<Answer['account']>;
export type Instance = NonNullable<Answer['instances']>[number];

/**
 * The single source of every amount on the page: what the service had settled by a certain second, and the hourly cost
 * since then. Everything shown between two responses is projected from this, using the service's clock.
 */
export interface Settled extends Figures {
  /** Running and stopped instances, newest first. */
  instances: readonly Instance[];
}

/** The account's own figures. */
export interface Figures {
  /** The second that the figures refer to, counted from 1970. */
  asOf: number;
  balance: Micro;
  /** Total hourly cost. */
  burn: Micro;
  monthSpend: Micro;
  /** When the credit runs out, as computed by the service. Null if it never does. */
  exhaustsAt: number | null;
  diskDeleteAt: number | null;
}

export const settled = signal<Settled | null>(null);
/**
 * Figures that a screen has read together with sums that can't be projected, such as those of a statement. While this
 * is set, the whole page shows the amounts as of that second.
 */
export const reading = signal<Figures | null>(null);
/** The account's figures that are shown on the page. */
export const figures = computed<Figures | null>(() => reading.value ?? settled.value);

export type Load = ResultOf<typeof AccountChanged>['accountChanged']['loads'][number]['load'];

/** The newest sample reported for each instance, by id. */
export const loads = signal<ReadonlyMap<string, Load>>(new Map());
const LOAD_SECONDS = 70;

function takeLoads(samples: readonly { instanceId: string; load: Load }[]): void {
  loads.value = newestLoads(loads.value, samples);
}

/** Reads the newest samples, so that a list doesn't have to wait for the next ones. */
export async function readLoads(): Promise<void> {
  const { instances } = await send(Loads, {});
  takeLoads((instances ?? []).flatMap(({ id, load }) => (load === null ? [] : { instanceId: id, load })));
}

/** Returns an instance's current load, or null if there is no sample from the last minute. */
export function loadNow(id: string): Load | null {
  const load = loads.value.get(id);
  return load !== undefined && serverNow.value - secondsOf(load.at) <= LOAD_SECONDS ? load : null;
}

/** Counts changes in the account, so that lists with their own query are refreshed. */
export const accountChanges = signal(0);
/**
 * Counts everything that makes separately read sums outdated: changes, and the passage of time while anything is
 * billed.
 */
export const sumsAge = signal(0);

/**
 * The time that amounts are projected up to. Once the credit has run out, nothing more is billed until the next
 * response.
 */
const projectedTo = computed(() => {
  if (reading.value !== null) return reading.value.asOf;
  const known = settled.value;
  if (known === null || known.exhaustsAt === null || known.exhaustsAt <= known.asOf) return serverNow.value;
  return Math.min(serverNow.value, known.exhaustsAt);
});

/** Returns the number of seconds projected since a response. */
export const secondsSince = (asOf: number): number => Math.max(0, projectedTo.value - asOf);

const burned = computed(() => accrued(figures.value?.burn ?? 0n, secondsSince(figures.value?.asOf ?? 0)));
export const balanceNow = computed(() => (figures.value?.balance ?? 0n) - burned.value);
export const monthSpendNow = computed(() => (figures.value?.monthSpend ?? 0n) + burned.value);

/** Returns a live instance's name, or any other instance's id. */
export function instanceName(id: string): string {
  const known = settled.value?.instances.find((instance) => instance.id === id);
  return visible(known?.name ?? id);
}

/** Returns an instance's hourly cost in its current state. */
export function rateOf({ status, priceHr, diskPriceHr }: Pick<Instance, 'status' | 'priceHr' | 'diskPriceHr'>): Micro {
  if (status === 'DESTROYED') return 0n;
  return micro(diskPriceHr) + (status === 'RUNNING' ? micro(priceHr) : 0n);
}

/** Returns an instance's cost up to now. */
export function costNow(instance: Instance): Micro {
  return micro(instance.usage.total) + accrued(rateOf(instance), secondsSince(secondsOf(instance.asOf)));
}

const SETTLE_EVERY_MS = 30_000;

/**
 * Counts the queries sent and the events received. A response is only used if no further query or event followed its
 * query.
 */
let queries = 0;
let events = 0;
const retry = new Retry();

/**
 * Reads the service's figures again. If an event has overtaken the response, the response may be older, so the figures
 * are requested once more.
 */
async function settle(): Promise<void> {
  if (session.value !== 'in') return;
  queries += 1;
  const [own, eventsBefore, sent] = [queries, events, sentNow()];
  try {
    const { account, instances } = await send(Settle, {});
    if (own !== queries || account === null || instances === null) return;
    retry.end();
    if (eventsBefore !== events) return await settle();
    take(account, instances, sent);
  } catch (error) {
    if (error instanceof Refusal && error.code === 'unauthorized') sessionIsOver();
    if (own === queries) retry.after(error, () => void settle());
  }
}

/** Applies the response to a write and queries the write's effect on the balance. */
export const takeInstance = (instance: Instance): void => takeInstances([instance]);

/** Does the same for several writes with a single query. */
export function takeInstances(instances: readonly Instance[]): void {
  const known = settled.value;
  if (known !== null) settled.value = { ...known, instances: merged(known.instances, instances) };
  countChange();
  void settle();
}

/** Applies a query's response, which contains all instances, or an event, which contains those that have changed. */
function take(account: Account, changed: readonly Instance[], sent: Sent | null): void {
  const asOf = secondsOf(account.asOf);
  const known = settled.value;
  // A slow response must not undo a later event.
  if (known !== null && asOf < known.asOf) return;
  setServiceTime(asOf, sent);
  const next: Settled = {
    ...figuresOf(account),
    instances: sent !== null ? changed : merged(known?.instances ?? [], changed),
  };
  settled.value = next;
  if (known !== null && hasChanged(known, next)) countChange();
}

export function figuresOf(account: Account): Figures {
  return {
    asOf: secondsOf(account.asOf),
    balance: micro(account.balance),
    burn: micro(account.burnPerHour),
    monthSpend: micro(account.monthSpend),
    exhaustsAt: account.exhaustsAt === null ? null : secondsOf(account.exhaustsAt),
    diskDeleteAt: account.diskDeleteAt === null ? null : secondsOf(account.diskDeleteAt),
  };
}

function merged(known: readonly Instance[], changed: readonly Instance[]): readonly Instance[] {
  const before = new Set(known.map(({ id }) => id));
  const added = changed.filter(({ id }) => !before.has(id)).toReversed();
  const latest = new Map(changed.map((instance) => [instance.id, instance]));
  return [...added, ...known.map((instance) => latest.get(instance.id) ?? instance)].filter(
    ({ status }) => status !== 'DESTROYED',
  );
}

function countChange(): void {
  accountChanges.value += 1;
  sumsAge.value += 1;
}

/**
 * Returns whether anything other than the time has changed: the credit, the burn rate or an instance's state. Progress
 * in downloading an image doesn't count.
 */
function hasChanged(before: Settled, after: Settled): boolean {
  if (before.burn !== after.burn) return true;
  const states = ({ instances }: Settled) => instances.map(({ id, status }) => `${id} ${status}`).join();
  const expected = before.balance - accrued(before.burn, after.asOf - before.asOf);
  return states(before) !== states(after) || after.balance - expected > 1n || expected - after.balance > 1n;
}

/**
 * Looks up the session, and keeps the account's figures current for as long as there is one. Must be called only once.
 */
export function startAccount(): void {
  void lookUpUntilAnswered();
  effect(() => (session.value === 'in' ? untracked(follow) : undefined));
}

function follow(): () => void {
  const stopFollowing = keepFollowing(
    AccountChanged,
    {},
    {
      // Events don't report earlier changes, so these are queried, and data that screens have already read is
      // refreshed.
      onOpen: () => {
        countChange();
        void settle();
      },
      onEvent: ({ accountChanged: { account, instances, topUps, loads: samples } }) => {
        if (samples.length > 0) {
          // The account is the same as in the previous event.
          takeLoads(samples);
          return;
        }
        events += 1;
        if (settled.value !== null) take(account, instances, null);
        if (topUps.length > 0) countChange();
      },
      onRefused: ({ code }) => {
        if (code === 'unauthorized') sessionIsOver();
        return code !== 'unauthorized';
      },
    },
  );
  const settleIfSeen = () => {
    if (document.hidden) return;
    void settle();
    if (settled.value?.burn !== 0n) sumsAge.value += 1;
  };
  const stopClock = startClock(settleIfSeen);
  const timer = setInterval(settleIfSeen, SETTLE_EVERY_MS);
  addEventListener('focus', settleIfSeen);
  return () => {
    stopFollowing();
    stopClock();
    clearInterval(timer);
    removeEventListener('focus', settleIfSeen);
    retry.end();
    settled.value = null;
    loads.value = new Map();
  };
}

const RETRY_MS = 1_000;

async function lookUpUntilAnswered(): Promise<void> {
  for (;;) {
    try {
      return await lookUpSession();
    } catch {
      connection.value = 'lost';
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}
