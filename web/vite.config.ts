import { defineConfig } from 'vite';
import { writeArt } from './build/art.js';
import { xtermWithinPolicy } from './build/xterm-policy.js';

writeArt();

export default defineConfig({
  root: import.meta.dirname,
  // Relative addresses: a proxy may serve the gateway under a path of its own.
  base: '/',
  plugins: [xtermWithinPolicy()],
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    target: 'es2022',
    // The policy of the page allows files of its own origin and nothing else: no data: addresses, no inline script.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
