import { language } from '../texts/en/locale.js';
import { LANGUAGES } from '../texts/languages.js';

const YEAR_S = 365 * 86_400;

/** For those who want another language than their browser's: the gateway sends the page in it from then on. */
export function Languages() {
  return LANGUAGES.filter(({ code }) => code !== language).map(({ code, name }) => (
    <button
      key={code}
      type="button"
      class="plain"
      lang={code}
      onClick={() => {
        // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser.
        document.cookie = `language=${code}; Path=/; Max-Age=${YEAR_S}; SameSite=Lax`;
        location.reload();
      }}
    >
      {name}
    </button>
  ));
}
