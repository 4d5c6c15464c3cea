/** Returns a pattern that matches a character, whether literal or percent-encoded any number of times. */
function encodable(letter: string): string {
  return `(?:${letter}|%(?:25)*${letter.charCodeAt(0).toString(16)})`;
}

function encodableText(text: string): string {
  return Array.from(text, encodable).join('');
}

const KINDS = ['live', 'host', 'join'].map(encodableText).join('|');
const HEX_DIGIT = '(?:[0-9a-f]|%(?:25)*(?:3[0-9]|[46][1-6]))';
/** Matches API keys, host tokens and join codes, including truncated ones. */
const SECRETS = new RegExp(`${encodableText('gpu_')}(?:${KINDS})${encodable('_')}${HEX_DIGIT}+`, 'gi');

/** Replaces the secrets of accounts and machines, because an error message may contain anything sent by a caller. */
export function withoutSecrets(text: string): string {
  return text.replace(SECRETS, '[secret]');
}
