/** Maximum number of TCP ports per launch. */
export const MAX_TCP_PORTS = 5;
/**
 * Maximum number of TCP ports per account, including released ports that are still quarantined. Without this limit, a
 * single account could use up the whole range.
 */
export const MAX_TCP_PORTS_OF_ACCOUNT = 50;
/**
 * Number of seconds before a released port is forwarded again. Clients of the previous instance might otherwise connect
 * to the next one and send their passwords to it.
 */
export const QUARANTINE_SECONDS = 3_600n;
