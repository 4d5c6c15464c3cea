import { resolve } from 'node:path';
import { defineConfig } from 'vite';
import { writeArt } from './build/art.js';
import { inLanguage, languageOf } from './build/languages.js';
import { xtermWithinPolicy } from './build/xterm-policy.js';
import { LANGUAGES } from './texts/languages.js';

/** One build for each language: `vite build --mode de`. The first empties the folder and makes the pictures. */
export default defineConfig(({ mode }) => {
  const isFirst = mode === LANGUAGES[0].code;
  if (isFirst) writeArt();
  return {
    root: import.meta.dirname,
    // Relative addresses: a proxy may serve the gateway under a path of its own.
    base: '/',
    plugins: [inLanguage(languageOf(mode)), xtermWithinPolicy()],
    build: {
      outDir: resolve(import.meta.dirname, '../dist/console'),
      emptyOutDir: isFirst,
      target: 'es2022',
      // The policy of the page allows files of its own origin and nothing else: no data: addresses, no inline script.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      rolldownOptions: {
        // What the first screen shares with those loaded later would be a file for each that shares it: more requests at first.
        output: { codeSplitting: { groups: [{ name: 'base', minShareCount: 2 }] } },
      },
    },
  };
});
