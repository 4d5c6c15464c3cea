import { visible } from '../figures/visible.js';
import { Refusal, Unreachable } from '../graph/send.js';

const PLAIN: Record<string, string> = {
  unauthorized: 'You are signed out: the key is not accepted, or no longer.',
  idempotency_in_progress: 'Your first request is still under way. Look at your instances in a moment.',
  idempotency_mismatch:
    'An earlier request of this dialog was carried out, though its answer was lost. Look at your instances before you rent again.',
  unavailable: 'The service is busy or restarting. Try again in a moment.',
  internal: 'Something broke in the service. Nothing you did wrong; try again in a moment.',
};

/** A refusal's own words say which rule and which amount: they are the best there is. */
export function wordsFor(error: unknown): string {
  if (error instanceof Unreachable)
    return error.isWrite
      ? 'The service does not answer. What you asked for may or may not have happened; the page shows it as soon as the connection is back.'
      : 'The service does not answer. The page asks again by itself.';
  if (!(error instanceof Refusal)) return 'Something broke in this page. Reload it.';
  if (error.code === 'rate_limited')
    return error.message.startsWith('more than')
      ? 'Too many requests from this account within a minute.'
      : sentence(error.message.replace(/; try again .*/, ''));
  return PLAIN[error.code] ?? sentence(error.message);
}

/** When something that is bounded goes on. */
export const waitWords = (seconds: number): string => (seconds === 0 ? 'now' : `in ${seconds} s`);

export function sentence(text: string): string {
  return visible(`${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`);
}
