import type { ComponentChildren } from 'preact';

/** API keys. */
export const texts = {
  apiKeys: 'API keys',
  apiKeysHint: 'Anyone with a key can do what it permits. Give each program its own, with minimal permissions.',
  none: 'No valid keys',
  noneHint: 'Create one for each program that uses this account.',
  name: 'Name',
  key: 'Key',
  may: 'Permissions',
  limit: 'Limit',
  ends: 'Expires',
  lastUse: 'Last used',
  actions: 'Actions',
  tasks: { details: 'Details', limit: 'Edit limit …', revoke: 'Revoke …' },
  taskOf: (task: string, key: string) => `${task.replace(' …', '')}: ${key}`,
  createdAt: 'Created',
  networks: 'Allowed networks',
  anyNetwork: 'Any',
  activity: 'See what it has changed',
  revoked: (keys: string) => `Revoked: ${keys}`,
  /** A label for a key without a name. */
  keyEnding: (lastFour: string) => `key …${lastFour}`,
  noName: 'unnamed',
  thisSession: 'this session',
  everything: 'Full access',
  readOnly: 'Read only',
  /** Short names of the permissions, by the API's name for the scope. */
  scopes: { READ: 'Read', RENT: 'Rent', ACCESS: 'Access', MONEY: 'Billing', KEYS: 'Keys' },
  never: 'Never',
  neverUsed: 'Never used',
  over: 'expired',
  endsSoon: 'expires soon',
  unused: 'unused',
  unusedHint: 'Unused for 90 days: revoke it?',
  noLimit: 'No limit',
  spentOf: (spent: ComponentChildren, limit: ComponentChildren) => (
    <>
      {spent} of {limit}
    </>
  ),
  thisMonth: 'Spent this month',
  reached: 'reached',
  limitOf: (key: string) => `Limit for ${key}`,
  limitHint: 'When the limit is reached, instances that were last deployed or started with this key stop immediately.',
  maySpend: 'Limit per UTC month',
  revoke: 'Revoke',
  revokeQuestion: (key: string) => `Revoke ${key}?`,
  revokeHint: 'Programs that use it will be refused immediately. This can’t be undone.',
  revokeCurrent:
    'This session was created with this key, so you will be signed out. Without another key, you can’t sign in again.',
};
