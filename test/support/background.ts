import { afterAll, beforeAll, vi } from 'vitest';

/** The gateways of a file set no timers: what its tests count is what requests do. Called before they are opened. */
export function withoutTimers(): void {
  beforeAll(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
  afterAll(() => void vi.useRealTimers());
}
