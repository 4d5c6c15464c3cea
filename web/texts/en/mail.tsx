import type { ComponentChildren } from 'preact';

export const texts = {
  title: 'Email',
  paused: (since: ComponentChildren, why: string) => (
    <>
      Paused since {since}: {why}. Enter the address again to resume.
    </>
  ),
  unconfirmed: (until: ComponentChildren) => (
    <>We sent a confirmation link. Open it by {until}; until then, nothing else is sent.</>
  ),
  none: 'Add your address to be notified by email.',
  notOffered: 'This service no longer sends email.',
  add: 'Add address',
  isActive: 'active',
  isUnconfirmed: 'unconfirmed',
  isPaused: 'paused',
  test: 'Send test email',
  delete: 'Delete address …',
  deleteNow: 'Delete',
  deleteQuestion: (address: string) => `Delete ${address}?`,
  deleteHint: 'It receives no further email. You can set an address again at any time.',
  tested: 'A test email is being sent.',
  edit: 'Email address',
  yourAddress: 'Your email address',
  link: 'It receives a link to confirm it. Enter the same address again to get a new link or to resume.',
  example: 'you@example.com',
  confirm: 'Send confirmation link',
};
