import { afterAll, vi } from 'vitest';

// A process that goes from file to file keeps every spy, and a spy keeps whatever it was called with: one of
// `Object.setPrototypeOf` held each request of all later files, and by it their gateways.
afterAll(() => {
  vi.restoreAllMocks();
  vi.resetAllMocks();
});
