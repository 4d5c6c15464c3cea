import { domainSettings, readConfig } from '../../src/config.js';
import type { Settings } from '../../src/domain/deps.js';
import { type Clock, type Instant, instantOf } from '../../src/domain/rules/time.js';

/** A clock that stands still until it is told otherwise. */
export class TestClock implements Clock {
  #now: Instant;

  constructor(start = '2026-11-20T12:00:00Z') {
    this.#now = instantOf(new Date(start));
  }

  now(): Instant {
    return this.#now;
  }

  /** Backwards too. */
  advance(seconds: bigint | number): void {
    this.#now += BigInt(seconds);
  }

  set(instant: Instant | string): void {
    this.#now = typeof instant === 'string' ? instantOf(new Date(instant)) : instant;
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
