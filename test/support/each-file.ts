import { afterAll, beforeAll, vi } from 'vitest';
import { cpuSeconds } from './cpu.js';
import { dropTestDatabases } from './database.js';
import { timeReferenceWork } from './reference-work.js';

let startedAt = 0;

beforeAll(() => {
  startedAt = cpuSeconds();
});

// Vitest runs these hooks of a setup file before the first and after the last test of each file.
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of fixtures from the first parameter's pattern
afterAll(async ({}, { file }) => {
  // A process that continues with the next file keeps every spy, and a spy keeps its calls. A spy of
  // `Object.setPrototypeOf`, for example, held every request of all later files and, through them, their gateways.
  vi.restoreAllMocks();
  vi.resetAllMocks();
  clearSpies();
  await dropTestDatabases();
  file.meta.cpuSeconds = cpuSeconds() - startedAt;
  file.meta.referenceMs = timeReferenceWork();
});

/**
 * Empties Vitest's list of spies. Otherwise, Vitest keeps each spy until the process ends and with it the object that
 * was spied on, which is often part of a gateway. The list can be accessed only through the function that iterates over
 * it.
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
