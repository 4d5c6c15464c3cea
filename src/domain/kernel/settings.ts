/**
 * The operator's settings, in the units used by the rules. They are filled in from the rows marked for the domain in
 * the table in src/compose/config.ts.
 */
export interface Settings {
  /** Public URL of the service, without a trailing slash. */
  publicUrl: string;
  /** SSH address of instances and the SSH server's public host key. Null if SSH is disabled. */
  ssh: { host: string; port: number; hostKey: string } | null;
}
