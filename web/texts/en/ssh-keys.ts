/** Public keys that let into instances. `key`: its comment or fingerprint. */
export const texts = {
  title: 'SSH keys',
  hint: 'Whoever has the private part gets into every instance of this account.',
  publicKey: 'Public key, the line of a .pub file',
  example: 'ssh-ed25519 AAAA… name',
  add: 'Add the SSH key',
  none: 'No SSH key yet',
  noneHint: 'Make one with ssh-keygen, and add its public part above.',
  comment: 'Comment',
  fingerprint: 'Fingerprint',
  added: 'Added',
  noComment: 'without a comment',
  remove: 'Remove',
  removeKey: (key: string) => `Remove the SSH key ${key}`,
  removed: (key: string) => `The SSH key ${key} is removed.`,
  back: 'The SSH key is back.',
};
