/**
 * Shows what a terminal or a reader would obey as escapes: control characters (C0, DEL, C1), those that turn the direction
 * of text, and separators of lines. For text of others, on its way to somebody's screen.
 */
export function visible(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, escapeOf);
}

/** The same JSON: what `JSON.stringify` leaves of them is within its strings. */
export function visibleJson(json: string): string {
  return json.replace(/[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, escapeOf);
}

/** As `visible`, but for colours and tabs, which a log may have. */
export function visibleButColours(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/\u001b\[[\d;]*m|\t|[^\t]/gu, (part) =>
    part.length > 1 || part === '\t' ? part : visible(part),
  );
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
