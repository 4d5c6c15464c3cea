/** Passkeys. `key` is the name of an API key. */
export const texts = {
  title: 'Passkeys',
  add: 'New passkey',
  hint: 'They sign you in with your fingerprint, face or PIN instead of an API key.',
  none: 'No passkeys',
  noneHint: 'Add one to sign in on this device without an API key.',
  name: 'Name',
  nameExample: 'Work laptop',
  key: 'API key',
  created: 'Created',
  lastUse: 'Last used',
  neverUsed: 'Never used',
  actions: 'Actions',
  thisSession: 'this session',
  onlyAt: (host: string) => `for ${host}`,
  create: 'Create passkey',
  addHint: (key: string) =>
    `The passkey signs in as the API key “${key}”, with the same permissions. If you revoke that key, the passkey stops working too.`,
  added: (name: string) => `Passkey ${name} added.`,
  revoke: 'Revoke',
  revoked: (name: string) => `Passkey ${name} revoked.`,
  revokeQuestion: (name: string) => `Revoke passkey ${name}?`,
  revokeHint:
    'It can no longer sign in, and its sessions end immediately. Its API key remains valid. You can then delete the passkey from your device.',
  revokeCurrent: 'This session was opened with this passkey, so you will be signed out.',

  signIn: 'Sign in with a passkey',
  notUsed:
    'You didn’t choose a passkey in time, or this device has none for this site. You can sign in with an API key.',
  notCreated: 'No passkey was created: the request was cancelled, took too long, or isn’t supported by this device.',
  alreadyHere: 'This device already has a passkey for this API key.',
  notAccepted: 'This passkey isn’t valid: it or its API key has been revoked or has expired.',
};
