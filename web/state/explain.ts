import { visible } from '../figures/visible.js';
import { Refusal, Unreachable } from '../graph/send.js';
import { introduction, replacements, texts, translations } from '../texts/en/errors.js';

/** Matches the message about the account's own rate limit, whose value is shown elsewhere. */
const ACCOUNT_LIMIT = /^more than \d/;

/** An error whose message is in the page's language, because the page itself detected it. */
export class ExplainedError extends Error {}

interface Message {
  /** The message in the page's language. */
  text: string;
  /** The service's own message, in English, if the page has no equivalent. */
  own: string | null;
}

/** Explains an error. A refusal's own message names the rule and the amount, so it is the best one available. */
export function explain(error: unknown): Message {
  const only = (text: string): Message => ({ text, own: null });
  if (error instanceof Unreachable) return only(error.isWrite ? texts.lostWrite : texts.lostRead);
  if (error instanceof ExplainedError) return only(error.message);
  if (!(error instanceof Refusal)) return only(texts.broken);
  const { code, message } = error;
  if (code === 'rate_limited' && ACCOUNT_LIMIT.test(message)) return only(texts.tooOften);
  for (const [pattern, translate] of translations) {
    const found = pattern.exec(message);
    if (found !== null) return only(visible(translate(...found.slice(1))));
  }
  if (replacements[code] !== undefined) return only(replacements[code]);
  const own = sentence(code === 'rate_limited' ? message.replace(/; try again .*/, '') : message);
  const text = introduction(code);
  return text === null ? only(own) : { text, own };
}

function sentence(text: string): string {
  return visible(`${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`);
}
