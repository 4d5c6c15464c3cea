/**
 * A text as it is written in a shell, in Python, in JSON and in GraphQL, so that each of them reads exactly it. What would be obeyed
 * rather than seen (controls, marks that turn the direction of text) stands there as an escape: such a command can be read before
 * it is run, and pasted into a terminal without doing anything on its way.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;
const ALL_HIDDEN = new RegExp(HIDDEN, 'g');
/** What no shell gives a meaning to. */
const PLAIN = /^[\w@%+:,./-][\w@%+=:,./-]*$/;

/** For bash and zsh, whatever the text is but for NUL, which no argument can hold. */
export function shellWord(text: string): string {
  if (PLAIN.test(text)) return text;
  if (!HIDDEN.test(text)) return inQuotes(text);
  const escaped = text.replace(/[\\']/g, '\\$&').replace(ALL_HIDDEN, (character) => octal(character));
  return `$'${escaped}'`;
}

/** Between single quotes, for every shell: lines stay lines. */
export const inQuotes = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A string of JSON, and one of Python and of GraphQL too. */
export const stringLiteral = (text: string): string => jsonText(text);

/** JSON with its strings so, two spaces a level. */
export const jsonText = (value: unknown, indent = '  '): string =>
  JSON.stringify(value, null, indent).replace(ALL_HIDDEN, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

function octal(character: string): string {
  return [...new TextEncoder().encode(character)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}
