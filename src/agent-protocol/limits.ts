/** Limits that the gateway's rules rely on. Unlike the protocol, this file needs no package, so rules can import it. */

/** Maximum seconds that a stopped container has to exit before it is killed. */
export const MAX_STOP_SECONDS = 300;
/**
 * Maximum seconds without contact with the gateway after which an agent stops its containers. It is also the default.
 * If an agent waited longer, the gateway would pass its volumes on while its containers still run.
 */
export const MAX_CUT_OFF_SECONDS = 900;
