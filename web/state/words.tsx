import type { ComponentChildren } from 'preact';
import { visible } from '../figures/visible.js';
import { Refusal, Unreachable } from '../graph/send.js';
import { before, instead, known, texts } from '../texts/en/errors.js';

/** Matches the account's own rate limit, whose value is shown elsewhere. */
const ACCOUNT_LIMIT = /^more than \d/;

interface Words {
  /** In the language of the page. */
  text: string;
  /** The service's own message, in English, if the page has no equivalent. */
  own: string | null;
}

/** A refusal's own message names the rule and the amount, so it is the best available. */
function explained(error: unknown): Words {
  const said = (text: string): Words => ({ text, own: null });
  if (error instanceof Unreachable) return said(error.isWrite ? texts.lostWrite : texts.lostRead);
  if (!(error instanceof Refusal)) return said(texts.broken);
  const { code, message } = error;
  if (code === 'rate_limited' && ACCOUNT_LIMIT.test(message)) return said(texts.tooOften);
  if (instead[code] !== undefined) return said(instead[code]);
  for (const [pattern, words] of known) {
    const found = pattern.exec(message);
    if (found !== null) return said(visible(words(...found.slice(1))));
  }
  const own = sentence(code === 'rate_limited' ? message.replace(/; try again .*/, '') : message);
  const text = before(code);
  return text === null ? said(own) : { text, own };
}

/** Returns an error's message for people. */
export function wordsFor(error: unknown): ComponentChildren {
  const { text, own } = explained(error);
  if (own === null) return text;
  return (
    <>
      {text} <span lang="en">{own}</span>
    </>
  );
}

/** Returns the same as plain text, where no element is possible. */
export function plainWordsFor(error: unknown): string {
  const { text, own } = explained(error);
  return own === null ? text : `${text} ${own}`;
}

export function sentence(text: string): string {
  return visible(`${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`);
}
