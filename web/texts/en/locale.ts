import type { Language } from '../languages.js';

/** The language of this folder. */
export const language: Language = 'en';
/** How dates and numbers are written: 24 hours, the day before the month. */
export const locale: string = 'en-GB';
