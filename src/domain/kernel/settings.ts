/**
 * The operator's settings, in the units that the rules use. They are filled in from the rows of the table in
 * src/compose/config.ts that are marked for the domain.
 */
export interface Settings {
  /** Public URL of the service, without a trailing slash. */
  publicUrl: string;
  /** Address for SSH access to instances, and the SSH server's public host key. Null if SSH is disabled. */
  ssh: { host: string; port: number; hostKey: string } | null;
}
