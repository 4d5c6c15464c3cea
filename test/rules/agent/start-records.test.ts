import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ContainerDetail } from '../../../src/agent/engine/engine.js';
import { StartRecords } from '../../../src/agent/start-records.js';

const ID = 'i-00000001';
let dir: string;
let boot: string;
let records: StartRecords;
/** A container that is not running, as the engine reports it. */
const container = (startedAt: string, exitCode: number | null = 0) =>
  ({ instanceId: ID, startedAt, exitCode }) as ContainerDetail;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'start-records-'));
  boot = 'first';
  records = new StartRecords(dir, async () => boot);
});
afterEach(() => rmSync(dir, { recursive: true }));

test("a command's exit counts only for the start that launched it", async () => {
  expect(await records.hasEnded(container('t1'), 1)).toBe(false);
  await records.begin(ID, { start: 1, runBefore: null });
  expect(await records.hasEnded(container('', null), 1)).toBe(false);
  expect(await records.hasEnded(container('t1'), 1)).toBe(true);
  expect(await records.hasEnded(container('t1'), 2)).toBe(false);
  await records.begin(ID, { start: 2, runBefore: 't1' });
  expect(await records.hasEnded(container('t1'), 2)).toBe(false);
  expect(await records.hasEnded(container('t2'), 2)).toBe(true);
});

test("a stop by the host or agent doesn't count as the command's own end", async () => {
  await records.begin(ID, { start: 1, runBefore: null });
  boot = 'second';
  expect(await records.hasEnded(container('t1', 255), 1)).toBe(false);
  await records.begin(ID, { start: 1, runBefore: 't1' });
  expect(await records.hasEnded(container('t2'), 1)).toBe(true);
  boot = 'third';
  expect(await records.hasEnded(container('t2'), 1)).toBe(true);
  await records.erase(ID);
  expect(await records.hasEnded(container('t2'), 1)).toBe(false);
});
