/**
 * Escapes characters that a terminal or a reader would interpret: control characters (C0, DEL, C1), bidirectional
 * controls and line separators. Use it for untrusted text that is shown on a screen.
 */
export function visible(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, escapeOf);
}

/**
 * Escapes these characters in JSON. The JSON stays equivalent, because `JSON.stringify` leaves them unescaped only
 * within strings.
 */
export function visibleJson(json: string): string {
  return json.replace(/[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, escapeOf);
}

/** Does the same as `visible`, but keeps colours and tabs, which logs may contain. */
export function visibleButColours(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them
  return text.replace(/\u001b\[[\d;]*m|\t|[^\t]/gu, (part) =>
    part.length > 1 || part === '\t' ? part : visible(part),
  );
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
