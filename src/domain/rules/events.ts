import type { RowChanges } from './lifecycle.js';
import { shownSpend } from './money.js';
import { formatInstant, type Instant } from './time.js';

/** What accounts are told of, and when. */
export const EVENT_TYPES = {
  'instance.running':
    'its container was first seen running in this start; a machine without a host agent: it was started',
  'instance.stopped': 'it stopped; `reason` says why',
  'instance.failed': 'it could not be started, and stopped',
  'instance.preempted': 'it had to leave for an on-demand or reserved rental, and stopped',
  'instance.destroyed': 'it was destroyed, and its disk erased',
  'instance.ending': 'it ends by itself in an hour, or in ten minutes; `cause` says why',
  'instance.gpu_missing':
    'its host no longer finds a GPU of it; it is not paid for until it is back, and can be destroyed',
  'instance.idle_soon': 'it stops in two minutes, because nothing happens on it',
  'balance.ending': 'credit runs out in an hour, or in ten minutes, at the present burn',
  'balance.low': 'the balance fell to the threshold of the account',
  'balance.exhausted': 'credit ran out: everything that ran has stopped',
  'balance.credited': 'credit was added',
  'topup.seen': 'a payment of a top-up was seen',
  'topup.confirming': 'it is being confirmed',
  'topup.quarantined': 'it is kept aside until the operator or the processor has confirmed it',
  'topup.credited': 'it was credited',
  'topup.refused': 'it is not credited',
  'topup.gone': 'it was replaced, or never came',
  'topup.reversed': 'the operator took back what was credited',
  'key.new_network': 'an API key was used from a network for the first time; not told of its first',
  'webhook.paused': 'deliveries to another webhook of the account are paused',
  'webhook.test': 'somebody asked for it',
  'mail.paused': 'mail to the address of the account is paused',
  'mail.test': 'somebody asked for it',
} as const;

export type EventType = keyof typeof EVENT_TYPES;

/** Events of one subject are delivered in order: an instance's id, or `account`. */
export interface NewEvent {
  accountId: string;
  type: EventType;
  subject: string;
  at: Instant;
  data: Readonly<Record<string, unknown>>;
  /** Of an event that several gateways may notice: what it is told once of, at most 200 characters. */
  once?: string;
}

export const OF_ACCOUNT = 'account';

const STOPS: Readonly<Record<string, EventType>> = { PREEMPTED: 'instance.preempted', START_FAILED: 'instance.failed' };

/** What rows that are about to be written make true. `runsAtOnce`: no agent has to start what was opened. */
export function eventsOf(changes: RowChanges, runsAtOnce: boolean): NewEvent[] {
  const instances = new Map([...changes.created, ...changes.updated].map((instance) => [instance.id, instance]));
  const events: NewEvent[] = [];
  const tell = (type: EventType, instanceId: string, at: Instant, data: object = {}) => {
    const { accountId, gpu, machineId } = instances.get(instanceId)!;
    events.push({
      accountId,
      type,
      subject: instanceId,
      at,
      data: { instance: instanceId, gpu, machine: machineId, ...data },
    });
  };
  for (const { resource, instanceId, endedAt } of changes.closed) {
    const instance = instances.get(instanceId);
    if (instance === undefined || endedAt === null) continue;
    const reason = instance.stopReason?.toLowerCase() ?? null;
    if (resource === 'DISK') tell('instance.destroyed', instanceId, endedAt, { reason });
    else if (instance.status !== 'DESTROYED')
      tell(STOPS[instance.stopReason!] ?? 'instance.stopped', instanceId, endedAt, { reason });
  }
  for (const { resource, instanceId, startedAt } of changes.opened)
    if (resource === 'GPU' && runsAtOnce) tell('instance.running', instanceId, startedAt);
  for (const { id, accountId, kind, units, at } of changes.entries) {
    if (kind !== 'CREDIT') continue;
    const data = { entry: id, usd: usdOf(shownSpend(units)) };
    events.push({ accountId, type: 'balance.credited', subject: OF_ACCOUNT, at, data });
  }
  for (const { id, exhaustedAt, diskDeleteAt } of changes.accounts) {
    if (exhaustedAt === null) continue;
    // Noted with each change while it lasts; told once.
    const once = `exhausted/${exhaustedAt}`;
    const data = { disks_destroyed_at: diskDeleteAt === null ? null : formatInstant(diskDeleteAt) };
    events.push({ accountId: id, type: 'balance.exhausted', subject: OF_ACCOUNT, at: exhaustedAt, data, once });
  }
  return events;
}

/** Decimal text, as in statements: JSON numbers are not exact everywhere. */
export function usdOf(micro: bigint): string {
  const digits = String(micro < 0n ? -micro : micro).padStart(7, '0');
  return `${micro < 0n ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
