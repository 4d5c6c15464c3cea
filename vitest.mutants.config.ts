import { createRequire } from 'node:module';
import { defineConfig } from 'vitest/config';

const require = createRequire(import.meta.url);

/** Tests that `npm run mutants` runs: those that need neither a database nor a process. */
export default defineConfig({
  resolve: { alias: [{ find: /^graphql$/, replacement: require.resolve('graphql') }] },
  test: { include: ['test/rules/**/*.test.ts'], testTimeout: 20_000, maxWorkers: 1 },
});
