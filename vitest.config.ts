import { createRequire } from 'node:module';
import { defineConfig } from 'vitest/config';
import { Budgets } from './test/support/budgets.js';
import { FailedFiles } from './test/support/failed-files.js';
import { LeftOut } from './test/support/left-out.js';
import { LongestFirst } from './test/support/longest-first.js';

/** The file that receives the names of failed test files. */
const { FAILED_FILES } = process.env;
const budgets = new Budgets();
const require = createRequire(import.meta.url);

export default defineConfig({
  // Libraries that load graphql as CommonJS and tests that import it must get the same copy.
  resolve: { alias: [{ find: /^graphql$/, replacement: require.resolve('graphql') }] },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/global-setup.ts',
    setupFiles: 'test/support/each-file.ts',
    // A worker loads the gateway once for all of its files. Loading it for each would cost 3 CPU-seconds a file.
    isolate: false,
    // One more than two cores: tests wait for containers, clocks and processes about a third of the time.
    maxWorkers: 3,
    // Allows for slow machines. Tests that measure a duration set their own bound.
    testTimeout: 90_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 10_000 } },
    // Keeps transformed modules below node_modules, for later runs and for the workers of this one.
    experimental: { fsModuleCache: true },
    sequence: { sequencer: LongestFirst },
    reporters: [
      'default',
      budgets,
      new LeftOut(),
      ...(FAILED_FILES === undefined ? [] : [new FailedFiles(FAILED_FILES, budgets)]),
    ],
  },
});
