import type { Language } from '../texts/languages.js';

const YEAR_S = 365 * 86_400;

/** Makes the gateway serve the page in this language on later visits, regardless of the browser's preference. */
export function chooseLanguage(code: Language): void {
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser.
  document.cookie = `language=${code}; Path=/; Max-Age=${YEAR_S}; SameSite=Lax`;
  location.reload();
}
