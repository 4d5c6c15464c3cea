/**
 * Matches characters that are invisible to people but not to a language model: control characters other than line ends
 * and tabs, bidirectional controls, zero-width characters, tags and variation selectors that can hide text in other
 * text, and private-use or broken characters.
 */
const INVISIBLE = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;

/** Returns the same data with these characters escaped in every string. */
export function plain<Data>(data: Data): Data {
  if (typeof data === 'string') return data.replace(INVISIBLE, escapeOf) as Data;
  if (Array.isArray(data)) return data.map((one: unknown) => plain(one)) as Data;
  if (typeof data !== 'object' || data === null) return data;
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [plain(name), plain(value)])) as Data;
}

function escapeOf(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`;
}
