/** Maximum TCP ports of one launch. */
export const MAX_TCP_PORTS = 5;
/**
 * Maximum TCP ports of an account, including those it released within the quarantine: one account can't use up a range.
 */
export const MAX_TCP_PORTS_OF_ACCOUNT = 50;
/**
 * Seconds for which a released port is not forwarded: clients of the previous instance may still try it, with its
 * passwords.
 */
export const QUARANTINE_SECONDS = 3_600n;
