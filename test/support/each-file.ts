import { afterAll, beforeAll, vi } from 'vitest';
import { cpuSeconds } from './cpu.js';
import { dropTestDatabases } from './database.js';

let startedAt = 0;

beforeAll(() => {
  startedAt = cpuSeconds();
});

// Vitest runs these hooks of a setup file before the first and after the last of the test file.
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of fixtures from the first parameter's pattern
afterAll(async ({}, { file }) => {
  // A process that continues with the next file keeps every spy, and a spy keeps its calls: one of
  // `Object.setPrototypeOf` held each request of all later files, and through it their gateways.
  vi.restoreAllMocks();
  vi.resetAllMocks();
  await dropTestDatabases();
  file.meta.cpuSeconds = cpuSeconds() - startedAt;
});
