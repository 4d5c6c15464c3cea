import { renameSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';
import { texts as german } from '../texts/de/page.js';
import { texts as english } from '../texts/en/page.js';
import { LANGUAGES, type Language } from '../texts/languages.js';

const ENGLISH = '/texts/en/';
const PAGES: Record<Language, Record<string, string>> = { en: english, de: german };

/** Returns a build's language, which is its mode. */
export function languageOf(mode: string): Language {
  const found = LANGUAGES.find(({ code }) => code === mode);
  if (found === undefined) throw new Error(`no texts in ${mode}: ${LANGUAGES.map(({ code }) => code).join(', ')}`);
  return found.code;
}

/**
 * Replaces the English texts that the source imports with this language's texts, and adds the language to the name of
 * the page's file.
 */
export function inLanguage(language: Language, page: string): Plugin {
  let folder = '';
  return {
    name: 'in-language',
    enforce: 'pre',
    configResolved: (config) => {
      folder = config.build.outDir;
    },
    resolveId: {
      filter: { id: /\/en\/[\w-]+\.js$/ },
      async handler(source, importer, options) {
        const found = await this.resolve(source, importer, { ...options, skipSelf: true });
        return found === null ? null : { ...found, id: found.id.replace(ENGLISH, `/texts/${language}/`) };
      },
    },
    transformIndexHtml: (html) =>
      html
        .replace('lang="en"', `lang="${language}"`)
        .replace(/\{(\w+)\}/g, (_, name: string) => PAGES[language][name]!),
    writeBundle: () => renameSync(join(folder, `${page}.html`), join(folder, `${page}.${language}.html`)),
  };
}
