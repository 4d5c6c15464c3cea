/** Error messages. A refusal's own message, which the service writes in English, names the rule and the amount. */
export const texts = {
  lostWrite:
    'The service isn’t responding. Your request may or may not have been carried out; the page shows the result once the connection is back.',
  lostRead: 'The service isn’t responding. The page retries automatically.',
  broken: 'Something went wrong on this page. Reload it.',
  tooOften: 'This account sent too many requests within a minute.',
  sessionOver: 'You are signed out: this session’s key is no longer valid, or the session is 12 hours old.',
  tryAgain: (seconds: number) => (seconds === 0 ? ' Try again now.' : ` Try again in ${seconds} s.`),
  /** `nothing` describes the absent effect, such as "nothing was rented". */
  notArrived: (nothing: string) => `The request didn’t reach the service: ${nothing}. Press the button to resend it.`,
};

/** Replacements for the service's messages, by code. */
export const replacements: Record<string, string> = {
  unauthorized: 'You are signed out: the key isn’t valid, or no longer valid.',
  idempotency_in_progress: 'Your first request is still in progress. Check your instances in a moment.',
  idempotency_mismatch:
    'An earlier request from this dialog was carried out, but its response was lost. Check your instances before you rent again.',
  unavailable: 'The service is busy or restarting. Try again in a moment.',
  internal: 'Something went wrong in the service; it wasn’t your fault. Try again in a moment.',
};

/** Texts for the service's messages, including the values that these contain. They precede the replacements by code. */
export const translations: readonly (readonly [message: RegExp, translate: (...values: string[]) => string])[] = [
  [
    /^the chain of the account's older entries isn't complete yet; retry later$/,
    () => 'The older entries of this account are still being chained. Try again in a minute.',
  ],
];

/**
 * Returns the text that precedes the service's own message, by code, or null if the page is in that message's language.
 */
export const introduction: (code: string) => string | null = () => null;
