import { resolve } from 'node:path';
import { defineConfig } from 'vite';
import { writeArt } from './build/art.js';
import { inLanguage, languageOf } from './build/languages.js';
import { xtermWithinPolicy } from './build/xterm-policy.js';
import { LANGUAGES } from './texts/languages.js';

/**
 * There is one build per language, such as `vite build --mode de`. The first one empties the folder and creates the
 * images.
 */
export default defineConfig(({ mode }) => {
  const isFirst = mode === LANGUAGES[0].code;
  if (isFirst) writeArt();
  return {
    root: import.meta.dirname,
    // URLs are absolute, because screens with nested paths share the same page.
    base: '/',
    plugins: [inLanguage(languageOf(mode), 'index'), xtermWithinPolicy()],
    build: {
      outDir: resolve(import.meta.dirname, '../dist/console'),
      emptyOutDir: isFirst,
      target: 'es2022',
      // The page's policy allows only files on its own origin. It forbids data: URLs and inline scripts.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      rolldownOptions: {
        // Otherwise, each combination of screens that share code would get its own file, and the first screen would
        // need more requests. The timeline is shared only by an instance's tabs, which no first visit needs.
        output: {
          codeSplitting: { groups: [{ name: 'base', minShareCount: 2, test: (id) => !/\/timeline\.tsx?$/.test(id) }] },
        },
      },
    },
  };
});
