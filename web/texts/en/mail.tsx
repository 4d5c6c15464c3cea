import type { ComponentChildren } from 'preact';
import { number } from '../../figures/number.js';

/** An address or a time, as it is shown. */
type Shown = ComponentChildren;

export const texts = {
  title: 'Mail',
  what: 'The same events, to one address.',
  paused: (address: Shown, since: Shown, why: string) => (
    <>
      {address} is not sent to since {since}: {why}. Set it again to go on.
    </>
  ),
  unconfirmed: (address: Shown, until: Shown) => (
    <>
      {address} was sent a link. Open it until {until}: nothing else is sent before.
    </>
  ),
  getsAll: (address: Shown, waiting: number) => (
    <>
      {address} gets all events; {number(waiting)} waiting.
    </>
  ),
  gets: (address: Shown, events: Shown, waiting: number) => (
    <>
      {address} gets {events}; {number(waiting)} waiting.
    </>
  ),
  test: 'Send a test mail',
  delete: 'Delete the address',
  tested: 'A test mail is on its way.',
  yourAddress: 'Your mail address',
  anotherAddress: 'Another address, or the same again',
  example: 'you@example.com',
  confirm: 'Send me a link to confirm it',
};
