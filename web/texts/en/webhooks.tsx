import type { ComponentChildren } from 'preact';
import { plural } from '../plural.js';

export const texts = {
  webhooks: 'Webhooks',
  what: 'Programs of yours that are told.',
  address: 'Address that events are sent to, signed by Standard Webhooks',
  create: 'Create a webhook',
  secret: 'Its secret, shown this once',
  copySecret: 'Copy the secret',
  none: 'No webhooks yet',
  noneHint: 'A webhook tells a program of yours when an instance starts, stops or ends, and when credit runs low.',
  allEvents: 'all events',
  waiting: (count: number) => plural(count, { one: '1 event waits', other: `${count} events wait` }),
  nothingWaits: 'nothing waits',
  paused: (since: ComponentChildren, reason: string) => (
    <>
      Paused since {since}: {reason}. What happens meanwhile is not sent.
    </>
  ),
  test: 'Send a test',
  pause: 'Pause',
  resume: 'Resume',
  newSecret: 'New secret',
  delete: 'Delete',
  deleteThis: (url: string) => `Delete the webhook to ${url}`,
  nothingSent: 'Nothing was sent to it within 30 days. Send a test to see whether it answers.',
  columns: { event: 'Event', about: 'About', state: 'State', attempts: 'Attempts', again: 'Send again' },
  account: 'your account',
  states: { PENDING: 'waits', DELIVERED: 'delivered', GIVEN_UP: 'given up' },
  next: (at: ComponentChildren) => <>next try {at}</>,
  nextInTurn: 'sent as soon as it is its turn',
  again: 'Send again',
  againThis: (type: string) => `Send again: ${type}`,
  notWhilePaused: 'Resume the webhook to send something again.',
  attempts: (count: number) => plural(count, { one: '1 attempt', other: `${count} attempts` }),
  notTried: 'not tried yet',
  attempt: (number: number, at: ComponentChildren, outcome: string, ms: number) => (
    <>
      {number}. {at}: {outcome}, {ms} ms
    </>
  ),
  answered: (status: number) => `answered ${status}`,
  noAnswer: (why: string) => `no answer: ${why}`,
};
