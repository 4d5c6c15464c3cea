import { createRequire } from 'node:module';
import { defineConfig } from 'vitest/config';
import { FailedFiles } from './test/support/failed-files.js';
import { LeftOut } from './test/support/left-out.js';
import { LongestFirst } from './test/support/longest-first.js';

/** Where the names of the files that failed are to be written. */
const { FAILED_FILES } = process.env;
const require = createRequire(import.meta.url);

/** Neither a database nor a process: `npm run mutants` runs these alone. */
export const PURE = [
  'test/rules/**/*.test.ts',
  'test/seed/inventory.test.ts',
  'test/agent/{gpu-access,hardware,limiter,lost-gpu,outputs,pull-pace,pull-progress,registries,shared-pulls,topology}.test.ts',
  'test/http/{memory-buckets,session-cookie,token-buckets}.test.ts',
  'test/payments/{shkeeper-fee,signature}.test.ts',
];

const shared = {
  // Libraries that load graphql as CommonJS and tests that import it must meet the same copy.
  resolve: { alias: [{ find: /^graphql$/, replacement: require.resolve('graphql') }] },
};
const patient = {
  // A slow machine is given time; tests that measure a duration state their own bound.
  testTimeout: 90_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 10_000 } },
  setupFiles: 'test/support/end-of-file.ts',
};

/** A process for each file would load the gateway 250 times; one for all of them would reach 4 GB of heap. */
const GROUPS: Record<string, string> = {
  programs: 'test/{access,agent,cli,console,deploy,process,sdk,upgrades}/**/*.test.ts',
  domain: 'test/{billing,database,faults,fleet,market,payments,volumes,webhooks}/**/*.test.ts',
};

/** Test files that follow each other in a process, with a database. */
const group = (name: string, include: string, exclude: string[]) => ({
  ...shared,
  test: { ...patient, isolate: false, globalSetup: 'test/support/global-setup.ts', name, include: [include], exclude },
});

export default defineConfig({
  test: {
    // One more than two cores: about a third of the time tests wait for containers, clocks and processes.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', new LeftOut(), ...(FAILED_FILES === undefined ? [] : [new FailedFiles(FAILED_FILES)])],
    projects: [
      ...Object.entries(GROUPS).map(([name, files]) => group(name, files, PURE)),
      // Whatever no other group names: no new folder is left out.
      group('surfaces', 'test/**/*.test.ts', [...PURE, ...Object.values(GROUPS)]),
      { ...shared, test: { ...patient, isolate: false, name: 'rules', include: PURE } },
    ],
  },
});
