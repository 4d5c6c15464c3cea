import { Refusal, Unreachable } from '../graph/send.js';

const PLAIN: Record<string, string> = {
  unauthorized: 'You are signed out: the key is not accepted, or no longer.',
  rate_limited: 'Too many requests from this account within a minute: it goes on in a few seconds.',
  idempotency_in_progress: 'Your first request is still under way. Look at your instances in a moment.',
  idempotency_mismatch:
    'An earlier request of this dialog was carried out, though its answer was lost. Look at your instances before you rent again.',
  unavailable: 'The service is busy or restarting. Try again in a moment.',
  internal: 'Something broke in the service. Nothing you did wrong; try again in a moment.',
};

/** A refusal's own words say which rule and which amount: they are the best there is. */
export function wordsFor(error: unknown): string {
  if (error instanceof Unreachable)
    return 'The service does not answer. What you asked for may or may not have happened; the page shows it as soon as the connection is back.';
  if (error instanceof Refusal) return PLAIN[error.code] ?? sentence(error.message);
  return 'Something broke in this page. Reload it.';
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}
