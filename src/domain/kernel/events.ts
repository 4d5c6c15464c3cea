import { required } from '../../std/required.js';
import type { RowChanges, StopReason } from './lifecycle.js';
import { shownSpend } from './money.js';
import { formatInstant, type Instant } from './time.js';

/** The types of events about which accounts can be notified, each with a description. */
export const EVENT_TYPES = {
  'instance.running':
    'the container was first seen running after this start; on a machine without a host agent: the instance was started',
  'instance.stopped': 'the instance stopped; `reason` says why',
  'instance.failed': 'the instance could not be started and stopped',
  'instance.preempted': 'the instance was preempted by an on-demand or reserved rental and stopped',
  'instance.destroyed': 'the instance was destroyed and its disk erased',
  'instance.ending': 'the instance ends automatically within one hour, or within ten minutes; `cause` says why',
  'instance.gpu_missing':
    'the host no longer finds one of the GPUs; the instance is not charged until the GPU returns, and can be destroyed',
  'instance.idle_soon': 'the instance stops in two minutes because it is idle',
  'balance.ending': 'credit runs out within one hour, or within ten minutes, at the current burn rate',
  'balance.low': "the balance fell to the account's threshold",
  'balance.exhausted': 'credit ran out; all running instances were stopped',
  'balance.credited': 'credit was added',
  'topup.seen': 'a payment for a top-up was seen',
  'topup.confirming': 'the payment is being confirmed',
  'topup.quarantined': 'the payment is quarantined until the operator or the processor confirms it',
  'topup.credited': 'the payment was credited',
  'topup.refused': 'the payment was refused',
  'topup.gone': 'the payment was replaced, or never arrived',
  'topup.reversed': 'the operator reversed a credited payment',
  'key.new_network': 'an API key was used from a new network; not sent for its first network',
  'webhook.paused': 'deliveries to another webhook of the account were paused',
  'webhook.test': 'a test was requested',
  'mail.paused': "email to the account's address was paused",
  'mail.test': 'a test was requested',
} as const;

export type EventType = keyof typeof EVENT_TYPES;

/** A new event. Its subject is an instance id or `account`. Events with the same subject are delivered in order. */
export interface NewEvent {
  accountId: string;
  type: EventType;
  subject: string;
  at: Instant;
  data: Readonly<Record<string, unknown>>;
  /**
   * Identifies an event that several gateways may detect, so that it is written only once. At most 200 characters long.
   */
  once?: string;
}

export const ACCOUNT_SUBJECT = 'account';

const STOPS: Readonly<Partial<Record<StopReason, EventType>>> = {
  PREEMPTED: 'instance.preempted',
  START_FAILED: 'instance.failed',
};

/**
 * Returns the events for rows about to be written. `runsImmediately` means that instances run without being started by
 * an agent.
 */
export function eventsOf(changes: RowChanges, runsImmediately: boolean): NewEvent[] {
  const instances = new Map([...changes.created, ...changes.updated].map((instance) => [instance.id, instance]));
  const events: NewEvent[] = [];
  const add = (type: EventType, instanceId: string, at: Instant, data: object = {}) => {
    const { accountId, gpu, machineId } = required(instances.get(instanceId), 'instance of an event');
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
    if (resource === 'DISK') add('instance.destroyed', instanceId, endedAt, { reason });
    else if (instance.status !== 'DESTROYED')
      add((instance.stopReason && STOPS[instance.stopReason]) ?? 'instance.stopped', instanceId, endedAt, { reason });
  }
  for (const { resource, instanceId, startedAt } of changes.opened)
    if (resource === 'GPU' && runsImmediately) add('instance.running', instanceId, startedAt);
  for (const { id, accountId, kind, units, at } of changes.entries) {
    if (kind !== 'CREDIT') continue;
    const data = { entry: id, usd: usdOf(shownSpend(units)) };
    events.push({ accountId, type: 'balance.credited', subject: ACCOUNT_SUBJECT, at, data });
  }
  for (const { id, exhaustedAt, diskDeleteAt } of changes.accounts) {
    if (exhaustedAt === null) continue;
    // While credit is exhausted, every change to the account produces this event again, but it is written only once.
    const once = `exhausted/${exhaustedAt}`;
    const data = { disks_destroyed_at: diskDeleteAt === null ? null : formatInstant(diskDeleteAt) };
    events.push({ accountId: id, type: 'balance.exhausted', subject: ACCOUNT_SUBJECT, at: exhaustedAt, data, once });
  }
  return events;
}

/** Formats USD as a decimal string, as in statements, because not all JSON parsers read numbers exactly. */
export function usdOf(micro: bigint): string {
  const digits = String(micro < 0n ? -micro : micro).padStart(7, '0');
  return `${micro < 0n ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
