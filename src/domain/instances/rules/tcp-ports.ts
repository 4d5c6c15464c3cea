/** Maximum TCP ports per launch. */
export const MAX_TCP_PORTS = 5;
/**
 * Maximum TCP ports per account, including released ports that are still quarantined. Otherwise a single account could
 * use up the whole range.
 */
export const MAX_TCP_PORTS_OF_ACCOUNT = 50;
/**
 * Seconds for which a released port isn't forwarded. Clients of the previous instance might still connect to it and
 * send their passwords.
 */
export const QUARANTINE_SECONDS = 3_600n;
