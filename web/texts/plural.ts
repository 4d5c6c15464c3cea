import { locale } from './en/locale.js';

const rules = new Intl.PluralRules(locale);

/** Returns the form for this number: "1 machine", "3 machines". */
export function plural(count: number, forms: { one: string; other: string }): string {
  return rules.select(count) === 'one' ? forms.one : forms.other;
}

/** Joins the texts whose number isn't zero: "2 running, 1 stopped". */
export const listed = (parts: readonly (readonly [count: number, text: string])[]): string =>
  parts.flatMap(([count, text]) => (count === 0 ? [] : text)).join(', ');
