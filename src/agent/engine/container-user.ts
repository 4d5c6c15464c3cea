const ROOT = '0';

/**
 * Returns a user in the engine's format. `root` becomes user id 0, because the image's /etc/passwd may be missing, or a
 * renter may have mapped `root` to another id.
 */
export function engineUser(user: string): string {
  const [name, ...group] = user.split(':');
  return [name === 'root' ? ROOT : name, ...group].join(':');
}

/**
 * Whether a command's user is root without a group. Runtimes can then run the command without reading any file in the
 * container.
 */
export function isRoot(user: string | null): boolean {
  return user !== null && engineUser(user) === ROOT;
}
