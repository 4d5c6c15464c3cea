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
  forgetSpies();
  await dropTestDatabases();
  file.meta.cpuSeconds = cpuSeconds() - startedAt;
});

/**
 * Empties Vitest's list of spies. It keeps each until the process ends, and with it the object that was spied on, which often is
 * a part of a gateway. Vitest gives no way to the list but the one that walks it.
 */
function forgetSpies(): void {
  const { forEach } = Set.prototype;
  let spies: Set<unknown> | undefined;
  Set.prototype.forEach = function (this: Set<unknown>, ...given) {
    spies ??= this;
    return forEach.apply(this, given);
  };
  try {
    vi.clearAllMocks();
  } finally {
    Set.prototype.forEach = forEach;
  }
  spies?.clear();
}
