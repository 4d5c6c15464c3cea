/**
 * Quotes text for shells, Python, JSON and GraphQL, so that each of them reads exactly that text. Characters that would
 * be interpreted rather than displayed (controls, direction marks) are escaped, so that a command can be read before it
 * is run and can safely be pasted into a terminal.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;
const ALL_HIDDEN = new RegExp(HIDDEN, 'g');
/** Matches words whose characters have no special meaning in any shell. */
const PLAIN = /^[\w@%+:,./-][\w@%+=:,./-]*$/;

/** Quotes a string for bash and zsh. It may contain any characters except NUL, which no argument can contain. */
export function shellWord(text: string): string {
  if (PLAIN.test(text)) return text;
  if (!HIDDEN.test(text)) return inQuotes(text);
  const escaped = text.replace(/[\\']/g, '\\$&').replace(ALL_HIDDEN, (character) => octal(character));
  return `$'${escaped}'`;
}

/** Quotes a string for every shell, using single quotes. Line breaks are kept. */
export const inQuotes = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Quotes a string for JSON, Python and GraphQL, where the same notation is valid. */
export const stringLiteral = (text: string): string => jsonText(text);

/** Formats a value as JSON with strings quoted in this way. Each level is indented by two spaces. */
export const jsonText = (value: unknown, indent = '  '): string =>
  JSON.stringify(value, null, indent).replace(ALL_HIDDEN, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

function octal(character: string): string {
  return [...new TextEncoder().encode(character)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}
