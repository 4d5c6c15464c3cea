/**
 * What nobody sees and a language model reads all the same: control characters but for line ends and tabs, those that turn
 * the direction of text, those without a width, tags and variation selectors that hide text in text, private and broken ones.
 */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;

/** The same data, with escapes for such characters in every text. */
export function plain<Data>(data: Data): Data {
  if (typeof data === 'string') return data.replace(UNSEEN, escapeOf) as Data;
  if (Array.isArray(data)) return data.map((one: unknown) => plain(one)) as Data;
  if (typeof data !== 'object' || data === null) return data;
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [plain(name), plain(value)])) as Data;
}

function escapeOf(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`;
}
