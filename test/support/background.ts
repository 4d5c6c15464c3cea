import { afterAll, beforeAll, vi } from 'vitest';

/**
 * Keeps the gateways of a test file from setting timers, so that its tests see only the effects of requests. Must be
 * called before the gateways are opened.
 */
export function withoutTimers(): void {
  beforeAll(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
  afterAll(() => void vi.useRealTimers());
}
