import { createRequire } from 'node:module';
import { defineConfig } from 'vitest/config';

const require = createRequire(import.meta.url);

export default defineConfig({
  resolve: {
    // Libraries that load graphql as CommonJS and tests that import it must meet the same copy.
    alias: [{ find: /^graphql$/, replacement: require.resolve('graphql') }],
  },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    // Nothing is judged by its time: a slow machine is given as long as it takes.
    testTimeout: 90_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 10_000 } },
    // The database server shares the two cores.
    maxWorkers: 2,
  },
});
