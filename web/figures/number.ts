import { locale } from '../texts/en/locale.js';

const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
const separator = (type: 'group' | 'decimal'): string =>
  new Intl.NumberFormat(locale).formatToParts(12_345.6).find((part) => part.type === type)!.value;

const wholePercent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 });
const precisePercent = new Intl.NumberFormat(locale, { style: 'percent', minimumFractionDigits: 2 });

/** The thousands separator, followed by the decimal separator. */
export const GROUP = separator('group');
export const POINT = separator('decimal');

/** Formats a whole number: "12,345". */
export const number = (count: number): string => whole.format(count);

/** Formats a percentage: "97%". In German, a no-break space precedes the sign. */
export const percent = (value: number): string => wholePercent.format(value / 100);

/** Formats a percentage with two decimals: "99.50%". */
export const exactPercent = (value: number): string => precisePercent.format(value / 100);

/** Formats a number with `decimals` decimals: "1.24". */
export const fixed = (value: number, decimals: number): string => value.toFixed(decimals).replace('.', POINT);
