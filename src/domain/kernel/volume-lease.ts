import { MAX_CUT_OFF_SECONDS, MAX_STOP_SECONDS } from '../../agent-protocol/limits.js';
import type { Instant } from './time.js';

/**
 * If an instance isn't running, its volume leases end once its host has sent no heartbeat for this long. By then, every
 * agent has noticed that it has no contact and has stopped its containers.
 */
const LEASE_SECONDS_WITHOUT_HEARTBEAT = BigInt(MAX_CUT_OFF_SECONDS + MAX_STOP_SECONDS);
export const LEASE_MINUTES_WITHOUT_HEARTBEAT = LEASE_SECONDS_WITHOUT_HEARTBEAT / 60n;
/**
 * Number of days after an instance's destruction during which its volumes can still be saved. Afterwards, the host may
 * erase the files, because their disk space is rented to others.
 */
export const SAVED_WITHIN_DAYS = 7;
/**
 * A gateway must have been listening for this many seconds before it considers hosts silent, because it received no
 * reports while it was down.
 */
const LISTENING_SECONDS = 60n;

/**
 * Returns the cutoff for silent hosts. If a host's last heartbeat was before the cutoff, the leases of its stopped
 * instances have ended. `since` is the time at which the gateway started listening.
 */
export function silentBefore(now: Instant, since: Instant): Instant {
  return now - since < LISTENING_SECONDS ? 0n : now - LEASE_SECONDS_WITHOUT_HEARTBEAT;
}
