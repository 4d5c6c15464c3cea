import { afterAll, vi } from 'vitest';

/** Files that share a process leave nothing behind for the next one. */
afterAll(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  vi.resetConfig();
});
