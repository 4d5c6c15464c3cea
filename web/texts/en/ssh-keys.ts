/** Public keys that give access to instances. `key` is a key's comment or fingerprint. */
export const texts = {
  title: 'SSH keys',
  hint: 'Anyone with the private part can access every instance of this account.',
  publicKey: 'Public key (the line of a .pub file)',
  example: 'ssh-ed25519 AAAA… name',
  add: 'Add SSH key',
  none: 'No SSH keys yet',
  noneHint: 'Create one with ssh-keygen and add its public part above.',
  comment: 'Comment',
  fingerprint: 'Fingerprint',
  added: 'Added',
  noComment: 'no comment',
  remove: 'Remove',
  removeKey: (key: string) => `Remove SSH key ${key}`,
  removed: (key: string) => `SSH key ${key} removed.`,
  restored: 'SSH key restored.',
};
