import type { ComponentChildren } from 'preact';
import { plural } from '../plural.js';

/** A time in whole minutes, hours or days. */
function spanOf(minutes: number): string {
  const [hours, days] = [Math.floor(minutes / 60), Math.floor(minutes / 1_440)];
  if (days > 0) return plural(days, { one: '1 day', other: `${days} days` });
  if (hours > 0) return plural(hours, { one: '1 hour', other: `${hours} hours` });
  return minutes < 1 ? 'less than a minute' : plural(minutes, { one: '1 minute', other: `${minutes} minutes` });
}

export const texts = {
  recipients: 'Recipients',
  what: 'Your email address and your programs.',
  whatWithoutMail: 'Your programs. This service sends no email.',
  webhook: 'Webhook',
  new: 'New webhook',
  edit: 'Edit webhook',
  address: 'URL that receives events',
  signed: 'Requests are signed according to Standard Webhooks with a secret that you get next.',
  create: 'Create webhook',
  secret: 'Webhook secret',
  copySecret: 'Copy secret',
  none: 'No webhooks yet',
  noneHint: 'Create one to notify your program when an instance starts, stops or ends, and when credit runs low.',
  /** The number of kinds of notifications that a recipient receives. */
  receives: (some: number, all: number) => (some === all ? 'all notifications' : `${some} of ${all} notifications`),
  waiting: (count: number) => plural(count, { one: '1\u00a0event waiting', other: `${count}\u00a0events waiting` }),
  isPaused: 'paused',
  isActive: 'active',
  isUnused: 'unused',
  isFailing: 'failing',
  testOf: (url: string) => `Send test to ${url}`,
  notices: 'Events',
  noticesWhat: 'Choose which events each recipient is notified of. Changes are saved immediately.',
  noticesWithout: 'Add a recipient to be notified of them.',
  /** The kinds of events, each with what it reports. */
  kinds: {
    instances: ['Instances', 'Start, failure, stop, preemption and deletion'],
    ends: ['Upcoming stops', '1 hour and again 10 minutes before a deadline, limit or empty balance'],
    low: ['Low balance', ''],
    credit: ['Credit', 'Top-ups, exhausted credit and pending payments'],
    network: ['New network', 'Use of an API key from a new network'],
    delivery: ['Delivery problems', 'Email or a webhook paused after failed deliveries'],
  } satisfies Record<string, [name: string, when: string]>,
  lowAt: (amount: ComponentChildren) => <>Once, at a balance of {amount}</>,
  lowOff: 'No threshold set',
  setThreshold: 'Set threshold',
  sendTo: (kind: string, recipient: string) => `${kind}: ${recipient}`,
  /** Headings of the columns of checkboxes. */
  byMail: 'By email',
  to: (recipient: string) => `To ${recipient}`,
  lastSent: (at: ComponentChildren) => <>last sent {at}</>,
  isLast: 'A recipient receives at least one kind of notification.',
  notOpen: 'Confirm or resume the address first.',
  paused: (since: ComponentChildren, reason: string) => (
    <>
      Paused since {since}: {reason}. Events in the meantime aren’t sent.
    </>
  ),
  test: 'Send test',
  pause: 'Pause',
  resume: 'Resume',
  rotateSecret: 'Rotate secret',
  delete: 'Delete …',
  deleteNow: 'Delete',
  deleteQuestion: 'Delete this webhook?',
  deleteHint: (url: ComponentChildren) => (
    <>{url} receives no further events, and those that are waiting are dropped.</>
  ),
  deliveries: 'Deliveries',
  /** The newest event that is still being delivered. */
  pendingFor: (event: ComponentChildren, minutes: number) => (
    <>
      {event} pending for {spanOf(minutes)}
    </>
  ),
  /** Any other newest event, its state and its age. */
  last: (event: ComponentChildren, state: string, at: ComponentChildren) => (
    <>
      {event} {state} {at}
    </>
  ),
  deleteThis: (url: string) => `Delete the webhook to ${url}`,
  nothingSent: 'Nothing was sent in the last 30 days.',
  columns: {
    event: 'Event',
    about: 'Subject',
    state: 'State',
    attempts: 'Response',
    when: 'Time',
    actions: 'Actions',
  },
  account: 'your account',
  states: { PENDING: 'pending', DELIVERED: 'delivered', GIVEN_UP: 'failed' },
  next: (at: ComponentChildren) => <>again {at}</>,
  queued: 'queued',
  again: 'Send again',
  againThis: (type: string) => `Send again: ${type}`,
  notWhilePaused: 'Resume the webhook to send events again.',
  attempts: (count: number) => plural(count, { one: '1 attempt', other: `${count} attempts` }),
  notTried: 'not tried yet',
  attemptsOf: (event: string) => `Attempts: ${event}`,
  showAttempts: (count: number) => `Show attempts (${count})`,
  responded: (status: number) => `responded ${status}`,
  noResponse: (why: string) => `no response: ${why}`,
};
