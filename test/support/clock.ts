import { domainSettings, readConfig } from '../../src/compose/config.js';
import type { Settings } from '../../src/domain/kernel/settings.js';
import type { Clock, Instant } from '../../src/domain/kernel/time.js';

/** A clock that advances only when the test says so. */
export class TestClock implements Clock {
  #ms: number;

  constructor(start = '2026-11-20T12:00:00Z') {
    this.#ms = new Date(start).getTime();
  }

  now(): Instant {
    return BigInt(Math.floor(this.#ms / 1_000));
  }

  nowMs(): number {
    return this.#ms;
  }

  /** Moves the clock, in steps of a millisecond. Negative amounts move it backwards. */
  advance(seconds: bigint | number): void {
    this.#ms += Math.round(Number(seconds) * 1_000);
  }

  set(instant: Instant | string): void {
    this.#ms = typeof instant === 'string' ? new Date(instant).getTime() : Number(instant) * 1_000;
  }
}

export function testSettings(overrides: Partial<Settings> = {}): Settings {
  return {
    ...domainSettings(readConfig({})),
    serviceDomain: 'gpu.test',
    publicUrl: 'http://gateway.test',
    ssh: null,
    rateLimitPerMinute: 0,
    ...overrides,
  };
}
