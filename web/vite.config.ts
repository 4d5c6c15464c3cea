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
    // URLs are relative, because a proxy may serve the gateway under its own path.
    base: '/',
    plugins: [inLanguage(languageOf(mode)), xtermWithinPolicy()],
    build: {
      outDir: resolve(import.meta.dirname, '../dist/console'),
      emptyOutDir: isFirst,
      target: 'es2022',
      // The page's policy allows only files of its own origin: no data: addresses, no inline script.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      rolldownOptions: {
        // Otherwise, there would be one file per combination for code that the first screen shares with later ones, and
        // so more initial requests.
        output: { codeSplitting: { groups: [{ name: 'base', minShareCount: 2 }] } },
      },
    },
  };
});
