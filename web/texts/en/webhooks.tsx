import type { ComponentChildren } from 'preact';
import { plural } from '../plural.js';

export const texts = {
  webhooks: 'Webhooks',
  what: 'Send events to your own programs.',
  address: 'URL that receives events, signed according to Standard Webhooks',
  create: 'Create webhook',
  secret: 'The secret of this webhook. It is shown only once.',
  copySecret: 'Copy secret',
  none: 'No webhooks yet',
  noneHint: 'Create one to notify your program when an instance starts, stops or ends, and when credit runs low.',
  allEvents: 'all events',
  waiting: (count: number) => plural(count, { one: '1 event waiting', other: `${count} events waiting` }),
  nothingWaits: 'no events waiting',
  paused: (since: ComponentChildren, reason: string) => (
    <>
      Paused since {since}: {reason}. Events in the meantime aren’t sent.
    </>
  ),
  test: 'Send test',
  pause: 'Pause',
  resume: 'Resume',
  rotateSecret: 'Rotate secret',
  delete: 'Delete',
  deleteThis: (url: string) => `Delete the webhook to ${url}`,
  nothingSent: 'Nothing was sent in the last 30 days. Send a test to check whether your program responds.',
  columns: { event: 'Event', about: 'Subject', state: 'State', attempts: 'Attempts', again: 'Send again' },
  account: 'your account',
  states: { PENDING: 'pending', DELIVERED: 'delivered', GIVEN_UP: 'failed' },
  next: (at: ComponentChildren) => <>next attempt {at}</>,
  queued: 'queued',
  again: 'Send again',
  againThis: (type: string) => `Send again: ${type}`,
  notWhilePaused: 'Resume the webhook to send events again.',
  attempts: (count: number) => plural(count, { one: '1 attempt', other: `${count} attempts` }),
  notTried: 'not tried yet',
  attempt: (number: number, at: ComponentChildren, outcome: string, ms: number) => (
    <>
      {number}. {at}: {outcome}, {ms} ms
    </>
  ),
  responded: (status: number) => `responded ${status}`,
  noResponse: (why: string) => `no response: ${why}`,
};
