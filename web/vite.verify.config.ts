import { resolve } from 'node:path';
import { defineConfig } from 'vite';
import { inLanguage, languageOf } from './build/languages.js';
import { inOneFile } from './build/one-file.js';

const MAX_BYTES = 1_000_000;

/** Builds the page that verifies statements, which is one file per language, so that it works offline and when saved. */
export default defineConfig(({ mode }) => ({
  root: import.meta.dirname,
  publicDir: false,
  plugins: [inLanguage(languageOf(mode), 'verify'), inOneFile()],
  build: {
    outDir: resolve(import.meta.dirname, '../dist/console'),
    // The folder also contains the console.
    emptyOutDir: false,
    target: 'es2022',
    assetsInlineLimit: MAX_BYTES,
    modulePreload: false,
    reportCompressedSize: false,
    rolldownOptions: { input: resolve(import.meta.dirname, 'verify.html') },
  },
}));
