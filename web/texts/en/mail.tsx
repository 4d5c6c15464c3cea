import type { ComponentChildren } from 'preact';
import { number } from '../../figures/number.js';

/** An address or a time, as displayed. */
type Shown = ComponentChildren;

export const texts = {
  title: 'Email',
  what: 'Sends the same events to one email address.',
  paused: (address: Shown, since: Shown, why: string) => (
    <>
      Email to {address} is paused since {since}: {why}. Enter the address again to resume.
    </>
  ),
  unconfirmed: (address: Shown, until: Shown) => (
    <>
      We sent a confirmation link to {address}. Open it by {until}; until then, nothing else is sent.
    </>
  ),
  getsAll: (address: Shown, waiting: number) => (
    <>
      {address} receives all events; {number(waiting)} waiting.
    </>
  ),
  gets: (address: Shown, events: Shown, waiting: number) => (
    <>
      {address} receives {events}; {number(waiting)} waiting.
    </>
  ),
  test: 'Send test email',
  delete: 'Delete address',
  tested: 'A test email is being sent.',
  yourAddress: 'Your email address',
  anotherAddress: 'New address, or the same one again',
  example: 'you@example.com',
  confirm: 'Send confirmation link',
};
