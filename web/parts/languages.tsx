import { chooseLanguage } from '../state/language.js';
import { language } from '../texts/en/locale.js';
import { LANGUAGES } from '../texts/languages.js';
import { Icon } from './icon.js';

/** Lets users choose a language other than their browser's. */
export function Languages({ hasIcon = false }: { hasIcon?: boolean }) {
  return LANGUAGES.filter(({ code }) => code !== language).map(({ code, name }) => (
    <button key={code} type="button" class="plain" lang={code} onClick={() => chooseLanguage(code)}>
      {hasIcon && <Icon name="globe" />}
      {name}
    </button>
  ));
}
