import type { Language } from '../languages.js';

export const language: Language = 'de';
export const locale: string = 'de-DE';
