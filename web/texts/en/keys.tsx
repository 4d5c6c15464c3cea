import type { ComponentChildren } from 'preact';

/** API keys. */
export const texts = {
  title: 'Keys and secrets',
  lead: (
    <>
      <a href="/activity">Activity</a>: what each key asked for. <a href="/webhooks">Notices</a>: who is told of what
      happens, by webhook or mail.
    </>
  ),
  apiKeys: 'API keys',
  apiKeysHint: 'Whoever has one can do what it may. Give each program a key of its own, with as little as it needs.',
  none: 'No key is accepted',
  noneHint: 'Create one above.',
  name: 'Name',
  key: 'Key',
  may: 'May',
  limit: 'Limit',
  ends: 'Ends',
  lastUse: 'Last use',
  revoke: 'Revoke',
  revoked: (keys: string) => `Revoked: ${keys}`,
  /** How a key without a name is called. */
  keyEnding: (lastFour: string) => `the key …${lastFour}`,
  noName: 'without a name',
  thisSession: 'this session',
  made: (at: ComponentChildren) => <>made {at}</>,
  everything: 'everything',
  from: (networks: string) => `from ${networks}`,
  change: 'Change',
  changeLimit: (key: string) => `Change the limit of ${key}`,
  revokeKey: (key: string) => `Revoke ${key}`,
  never: 'never',
  over: 'over',
  endsSoon: 'ends soon',
  unused: 'unused for 90 days: revoke it?',
  noLimit: 'none',
  spentOf: (spent: string, limit: string) => `${spent} of ${limit} USD`,
  thisMonth: 'this month',
  reached: (at: ComponentChildren) => <>reached {at}</>,
  limitOf: (key: string) => `Limit of ${key}`,
  limitHint: 'What it deployed or started last stops at the second at which the limit is reached.',
  maySpend: 'May spend in a UTC month',
  spentByIt: 'spent by it this month',
  revokeQuestion: (key: string) => `Revoke ${key}?`,
  revokeHint: 'Programs that use it are refused at once. This cannot be undone.',
  revokeCurrent:
    'This session was made from this key: you are signed out with it. Without another key you cannot sign in again.',
  keep: 'Keep it',
};
