/**
 * Characters that people can't see but a language model reads: control characters except line ends and tabs, direction
 * marks, zero-width characters, tags and variation selectors that hide text in text, and private or broken ones.
 */
const INVISIBLE = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;

/** Returns the same data, with such characters escaped in every text. */
export function plain<Data>(data: Data): Data {
  if (typeof data === 'string') return data.replace(INVISIBLE, escapeOf) as Data;
  if (Array.isArray(data)) return data.map((one: unknown) => plain(one)) as Data;
  if (typeof data !== 'object' || data === null) return data;
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [plain(name), plain(value)])) as Data;
}

function escapeOf(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`;
}
