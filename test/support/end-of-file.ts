import { afterAll, vi } from 'vitest';
import { dropTestDatabases } from './database.js';

// Vitest runs the hooks of a setup file after those of the test file.
afterAll(async () => {
  // A process that continues with the next file keeps every spy, and a spy keeps its calls: one of
  // `Object.setPrototypeOf` held each request of all later files, and through it their gateways.
  vi.restoreAllMocks();
  vi.resetAllMocks();
  await dropTestDatabases();
});
