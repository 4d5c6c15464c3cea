import { afterAll, beforeAll, vi } from 'vitest';
import { cpuSeconds } from './cpu.js';
import { dropTestDatabases } from './database.js';

let startedAt = 0;

beforeAll(() => {
  startedAt = cpuSeconds();
});

// Vitest runs these hooks of a setup file before the first and after the last test of each file.
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of fixtures from the first parameter's pattern
afterAll(async ({}, { file }) => {
  // A process that continues with the next file keeps every spy, and a spy keeps its calls: one of
  // `Object.setPrototypeOf` held each request of all later files, and through them their gateways.
  vi.restoreAllMocks();
  vi.resetAllMocks();
  clearSpies();
  await dropTestDatabases();
  file.meta.cpuSeconds = cpuSeconds() - startedAt;
});

/**
 * Empties Vitest's list of spies. Vitest keeps each one until the process ends, and with it the object that was spied
 * on, often a part of a gateway. The list is accessible only by the function that iterates over it.
 */
function clearSpies(): void {
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
