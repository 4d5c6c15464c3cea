import { createRequire } from 'node:module';
import { defineConfig } from 'vitest/config';
import { PURE } from './vitest.config.js';

const require = createRequire(import.meta.url);

/** What `npm run mutants` runs: the tests that need neither a database nor a process. */
export default defineConfig({
  resolve: { alias: [{ find: /^graphql$/, replacement: require.resolve('graphql') }] },
  test: { include: PURE, testTimeout: 20_000, maxWorkers: 1 },
});
