import { afterAll, beforeAll, expect, test } from 'vitest';
import { deploy } from '../../../src/domain/instances/instances.js';
import { findMachine, importMachines } from '../../../src/domain/inventory/machines.js';
import type { FileRecord } from '../../../src/domain/kernel/import.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

let domain: TestDomain;

beforeAll(async () => {
  domain = await openTestDomain();
});
afterAll(() => domain.close());

const fields = (id: string, changes = {}) => ({
  ...{ id, gpu: 'p40', num_gpus: 1, region: 'us-nj', cpu: 'AMD EPYC 7302', vcpus: 48, ram_gb: 128, disk_gb: 900 },
  ...{ net_down_mbps: 900, net_up_mbps: 800, ports: 100, pcie: 3, nvlink: false, cuda_max: '12.4', reliability: 0.99 },
  ...changes,
});

/** Returns a file with these machines that stays open until `end` is called. */
function heldFile(list: readonly object[]) {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  async function* records(): AsyncGenerator<FileRecord> {
    for (const [index, each] of list.entries()) yield { line: index + 2, fields: each as FileRecord['fields'] };
    await ended;
  }
  return { records: records(), end };
}

test('an import becomes visible all at once, without blocking deploys in the meantime', async () => {
  const known = await Promise.all([domain.machine(), domain.machine(), domain.machine()]);
  const fresh = Array.from({ length: 2_500 }, (_, index) => `held-${index}`);
  const file = heldFile([...known, ...fresh].map((id) => fields(id)));
  const read: number[] = [];
  const done = importMachines(domain, file.records, { dryRun: false, onProgress: (count) => read.push(count) });
  await expect.poll(() => read.at(-1)).toBe(2_000);
  const accountId = await domain.account();
  // The deploy doesn't wait for any of the import's locks.
  const { instance } = await deploy(domain, accountId, { machineId: known[0]! });
  expect(instance.status).toBe('RUNNING');
  for (const id of known) expect((await findMachine(domain, id)).vcpus).not.toBe(48);
  expect(await domain.db.prisma.machine.count({ where: { id: { startsWith: 'held-' } } })).toBe(0);
  file.end();
  expect(await done).toEqual({ created: 2_500, updated: 3 });
  for (const id of known) expect((await findMachine(domain, id)).vcpus).toBe(48);
  expect(await domain.db.prisma.machine.count({ where: { id: { startsWith: 'held-' } } })).toBe(2_500);
  expect(instance.gpu).toBe('rtx-4090');
});

test('a dry run, or an import that fails on its last line, leaves everything unchanged', async () => {
  const [taken, other] = [await domain.machine(), await domain.machine()];
  await deploy(domain, await domain.account(), { machineId: taken, diskGb: 500 });
  async function* records(diskGb: number): AsyncGenerator<FileRecord> {
    yield { line: 2, fields: fields(other) };
    yield { line: 3, fields: fields('faulty') };
    yield { line: 4, fields: fields(taken, { disk_gb: diskGb }) };
  }
  await expect(importMachines(domain, records(499), { dryRun: false })).rejects.toThrow(
    "line 4: disk_gb 499 is less than the 500 GB of its instances' disks",
  );
  expect(await importMachines(domain, records(600), { dryRun: true })).toEqual({ created: 1, updated: 2 });
  expect((await findMachine(domain, other)).vcpus).not.toBe(48);
  await expect(findMachine(domain, 'faulty')).rejects.toMatchObject({ code: 'not_found' });
});
