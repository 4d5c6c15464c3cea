import { locale } from './en/locale.js';

const rules = new Intl.PluralRules(locale);

/** Returns the form for this number: "1 machine", "3 machines". */
export function plural(count: number, forms: { one: string; other: string }): string {
  return rules.select(count) === 'one' ? forms.one : forms.other;
}
