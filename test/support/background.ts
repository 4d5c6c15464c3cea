import { afterAll, beforeAll, vi } from 'vitest';

/**
 * Prevents the gateways of a file from setting timers, so that its tests count only the effects of requests. Call it
 * before opening them.
 */
export function withoutTimers(): void {
  beforeAll(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
  afterAll(() => void vi.useRealTimers());
}
