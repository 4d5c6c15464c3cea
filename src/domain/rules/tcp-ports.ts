/** Of one launch. */
export const MAX_TCP_PORTS = 5;
/** Of the instances of an account, with those that it gave back within the quarantine: one account can't use up a range. */
export const MAX_TCP_PORTS_OF_ACCOUNT = 50;
/** A port that was given back leads nowhere for so long: clients of the one before may still try it, with its passwords. */
export const QUARANTINE_SECONDS = 3_600n;
