import type { ComponentChildren } from 'preact';

/** API keys. */
export const texts = {
  lead: (
    <>
      See what each key has changed in <a href="/activity">Activity</a>. To be notified of events by webhook or email,
      see <a href="/notifications">Notifications</a>.
    </>
  ),
  apiKeys: 'API keys',
  apiKeysHint: 'Anyone with a key can do what it permits. Give each program its own key, with minimal permissions.',
  none: 'No valid keys',
  noneHint: 'Create one above.',
  name: 'Name',
  key: 'Key',
  may: 'Permissions',
  limit: 'Limit',
  ends: 'Expires',
  lastUse: 'Last used',
  revoke: 'Revoke',
  revoked: (keys: string) => `Revoked: ${keys}`,
  /** A label for a key without a name. */
  keyEnding: (lastFour: string) => `key …${lastFour}`,
  noName: 'unnamed',
  thisSession: 'this session',
  created: (at: ComponentChildren) => <>created {at}</>,
  everything: 'everything',
  from: (networks: string) => `from ${networks}`,
  change: 'Change',
  changeLimit: (key: string) => `Change the limit for ${key}`,
  revokeKey: (key: string) => `Revoke ${key}`,
  never: 'never',
  over: 'expired',
  endsSoon: 'expires soon',
  unused: 'unused for 90 days: revoke it?',
  noLimit: 'none',
  spentOf: (spent: string, limit: string) => `${spent} of ${limit} USD`,
  thisMonth: 'this month',
  reached: (at: ComponentChildren) => <>reached {at}</>,
  limitOf: (key: string) => `Limit for ${key}`,
  limitHint: 'When the limit is reached, instances that were last deployed or started with this key stop immediately.',
  maySpend: 'Limit per UTC month',
  limitUsed: 'spent this month',
  revokeQuestion: (key: string) => `Revoke ${key}?`,
  revokeHint: 'Programs that use it will be refused immediately. This can’t be undone.',
  revokeCurrent:
    'This session was created with this key, so you will be signed out. Without another key, you can’t sign in again.',
  keep: 'Keep it',
};
