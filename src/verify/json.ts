/** A value of a document. Numbers are integers below 2^53. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Maximum depth of nested arrays and objects. Documents have at most seven levels. */
const MAX_DEPTH = 16;

/** Thrown if a text can't be read as JSON, for example because it is truncated. */
export class UnreadableError extends Error {}

/** A violation of the encoding in JSON that can be read otherwise. */
export interface EncodingFault {
  where: string;
  what: string;
}

/**
 * Parses a JSON text more strictly than JSON.parse: names must not repeat, and numbers must be integers in canonical
 * form. Reports violations instead of stopping at them.
 */
export function parseJson(text: string): { value: Json; faults: EncodingFault[] } {
  const reader = new Reader(text);
  const value = reader.document();
  return { value, faults: reader.faults };
}

/** Returns the canonical form of a value (RFC 8785). */
export function canonical(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = Object.keys(value).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name] as Json)}`).join(',')}}`;
}

/** Like Array.isArray, but also for readonly arrays. */
export function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

/** A string token without escapes has no character that ends it, starts an escape, or must be escaped. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON doesn't allow them in strings
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const INTEGER = /^(?:0|-?[1-9][0-9]{0,15})$/;
const SPACE = /[ \t\r\n]*/y;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};
const LITERALS: readonly (readonly [string, null | boolean])[] = [
  ['null', null],
  ['true', true],
  ['false', false],
];

class Reader {
  readonly faults: EncodingFault[] = [];
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): Json {
    this.#take(SPACE);
    const value = this.#value('', 0);
    this.#take(SPACE);
    if (this.#at < this.#text.length) throw this.#unreadable();
    return value;
  }

  #value(where: string, depth: number): Json {
    if (depth > MAX_DEPTH) throw new UnreadableError(`has more than ${MAX_DEPTH} nested levels`);
    const first = this.#text[this.#at];
    if (first === '{') return this.#object(where, depth);
    if (first === '[') return this.#array(where, depth);
    if (first === '"') return this.#string(where);
    for (const [literal, value] of LITERALS) {
      if (!this.#text.startsWith(literal, this.#at)) continue;
      this.#at += literal.length;
      return value;
    }
    return this.#number(where);
  }

  #object(where: string, depth: number): Json {
    // Without a prototype, a member named __proto__ is like any other.
    const members: Record<string, Json> = Object.create(null);
    this.#list('}', () => {
      if (this.#text[this.#at] !== '"') throw this.#unreadable();
      const name = this.#string(where);
      const path = where === '' ? name : `${where}.${name}`;
      this.#take(SPACE);
      this.#expect(':');
      this.#take(SPACE);
      const value = this.#value(path, depth + 1);
      if (name in members) this.#fault(path, 'occurs more than once');
      else members[name] = value;
    });
    return members;
  }

  #array(where: string, depth: number): Json {
    const items: Json[] = [];
    this.#list(']', () => items.push(this.#value(`${where}[${items.length}]`, depth + 1)));
    return items;
  }

  #list(end: string, readItem: () => void): void {
    this.#at += 1;
    this.#take(SPACE);
    if (this.#text[this.#at] === end) {
      this.#at += 1;
      return;
    }
    for (;;) {
      readItem();
      this.#take(SPACE);
      if (this.#text[this.#at] === end) break;
      this.#expect(',');
      this.#take(SPACE);
    }
    this.#at += 1;
  }

  #string(where: string): string {
    this.#at += 1;
    let text = this.#take(PLAIN);
    while (this.#text[this.#at] === '\\') text += this.#escape() + this.#take(PLAIN);
    this.#expect('"');
    if (LONE_SURROGATE.test(text)) this.#fault(where, 'contains half of a surrogate pair');
    return text;
  }

  #escape(): string {
    const letter = this.#text[this.#at + 1] ?? '';
    if (letter === 'u') {
      const digits = this.#text.slice(this.#at + 2, this.#at + 6);
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw this.#unreadable();
      this.#at += 6;
      return String.fromCharCode(Number.parseInt(digits, 16));
    }
    const escaped = ESCAPES[letter];
    if (escaped === undefined) throw this.#unreadable();
    this.#at += 2;
    return escaped;
  }

  #number(where: string): number {
    const digits = this.#take(NUMBER);
    if (digits === '') throw this.#unreadable();
    const value = Number(digits);
    if (INTEGER.test(digits) && Number.isSafeInteger(value)) return value;
    this.#fault(where, `must be an integer below 2^53; got ${shortened(digits)}`);
    return 0;
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [taken = ''] = pattern.exec(this.#text) ?? [];
    this.#at += taken.length;
    return taken;
  }

  #expect(character: string): void {
    if (this.#text[this.#at] !== character) throw this.#unreadable();
    this.#at += 1;
  }

  #fault(where: string, what: string): void {
    this.faults.push({ where, what });
  }

  #unreadable(): UnreadableError {
    const isEnd = this.#at >= this.#text.length;
    return new UnreadableError(isEnd ? 'is truncated' : `isn't JSON at character ${this.#at + 1}`);
  }
}

/** Maximum length of a quoted value in a fault. */
const MAX_QUOTED = 60;

export function shortened(text: string, maxLength: number = MAX_QUOTED): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}…`;
}
