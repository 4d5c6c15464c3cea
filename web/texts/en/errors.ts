/** What went wrong. A refusal's own sentence, which the service writes in English, says which rule and which amount. */
export const texts = {
  lostWrite:
    'The service does not answer. What you asked for may or may not have happened; the page shows it as soon as the connection is back.',
  lostRead: 'The service does not answer. The page asks again by itself.',
  broken: 'Something broke in this page. Reload it.',
  tooOften: 'Too many requests from this account within a minute.',
  sessionOver: 'You are signed out: the key of this session is no longer accepted, or the session is 12 hours old.',
  tryAgain: (seconds: number) => (seconds === 0 ? ' Try again now.' : ` Try again in ${seconds} s.`),
  /** `nothing`: what did not happen, as "nothing was rented". */
  notArrived: (nothing: string) => `The request did not arrive: ${nothing}. Press the button to send it again.`,
};

/** By code, in place of the service's sentence. */
export const instead: Record<string, string> = {
  unauthorized: 'You are signed out: the key is not accepted, or no longer.',
  idempotency_in_progress: 'Your first request is still under way. Look at your instances in a moment.',
  idempotency_mismatch:
    'An earlier request of this dialog was carried out, though its answer was lost. Look at your instances before you rent again.',
  unavailable: 'The service is busy or restarting. Try again in a moment.',
  internal: 'Something broke in the service. Nothing you did wrong; try again in a moment.',
};

/** Sentences of the service that the language says itself, with what they name. In English they are as they are. */
export const known: readonly (readonly [sentence: RegExp, said: (...named: string[]) => string])[] = [];

/** By code, before the service's own sentence where that is in another language; null where it is in this one. */
export const before: (code: string) => string | null = () => null;
