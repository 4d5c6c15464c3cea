/** Seconds of GPU that an instance is billed for at least when its deploy or start sends another one away. */
export const PREEMPTION_MINIMUM_SECONDS = 60n;
