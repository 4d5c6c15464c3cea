const ROOT = '0';

/**
 * Returns a user in the form for engines. `root` is the id 0 even if the image's /etc/passwd, which a renter may have
 * written, maps it to another id or is missing.
 */
export function engineUser(user: string): string {
  const [name, ...group] = user.split(':');
  return [name === 'root' ? ROOT : name, ...group].join(':');
}

/** Whether the user of a command is root without a group: runtimes need no file of the container for it. */
export function isRoot(user: string | null): boolean {
  return user !== null && engineUser(user) === ROOT;
}
