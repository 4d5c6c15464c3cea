import type { Language } from '../languages.js';

/** The language of this folder. */
export const language: Language = 'en';
/** Format of dates and numbers: 24 hours, the day before the month. */
export const locale: string = 'en-GB';
