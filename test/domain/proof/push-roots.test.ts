import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { sealingKey } from '../../../src/domain/kernel/sealing.js';
import { appendToLog, rootsAfter } from '../../../src/domain/proof/log.js';
import { pushRoots } from '../../../src/domain/proof/push-roots.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

let domain: TestDomain;
let server: Server;
let received: unknown[];
let status: number;
let folder: string;

beforeEach(async () => {
  received = [];
  status = 204;
  server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    received.push(JSON.parse(Buffer.concat(parts).toString()));
    response.writeHead(status, status === 302 ? { Location: '/other' } : {}).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  folder = await mkdtemp(join(tmpdir(), 'roots-'));
  const proofRootUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/roots`;
  const opened = await openTestDomain({ proofRootUrl, proofRootFile: join(folder, 'roots.jsonl') });
  domain = { ...opened, sealingKeys: async () => [sealingKey('5e'.repeat(32))] };
  return async () => {
    await domain.close();
    server.close();
    await rm(folder, { recursive: true });
  };
});

async function lines(): Promise<unknown[]> {
  const text = await readFile(join(folder, 'roots.jsonl'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('each root is written and sent once, oldest first', async () => {
  await appendToLog(domain);
  await appendToLog(domain);
  await pushRoots(domain);
  await pushRoots(domain);
  const { roots } = await rootsAfter(domain, 0);
  expect(await lines()).toEqual(roots);
  expect(received).toEqual(roots);
});

test.each([302, 400, 503])('a root answered with %i is sent again, and written once', async (refused) => {
  await appendToLog(domain);
  status = refused;
  await expect(pushRoots(domain)).rejects.toThrow(`root 1 with status ${refused}`);
  status = 200;
  await pushRoots(domain);
  expect(received).toHaveLength(2);
  expect(await lines()).toHaveLength(1);
});

test('a line cut off by a crash is replaced', async () => {
  await appendToLog(domain);
  await pushRoots(domain);
  await appendFile(join(folder, 'roots.jsonl'), '{"at":"2026-');
  await appendToLog(domain);
  await pushRoots(domain);
  expect(await lines()).toEqual((await rootsAfter(domain, 0)).roots);
  await writeFile(join(folder, 'roots.jsonl'), '{"at');
  await appendToLog(domain);
  await pushRoots(domain);
  expect(await lines()).toMatchObject([{ number: 3 }]);
});

test('a root that replaces a lost one is neither written nor sent, until there is a new file', async () => {
  for (let count = 0; count < 3; count += 1) await appendToLog(domain);
  await pushRoots(domain);
  const stored = await lines();
  // The database is restored to the time of the first root.
  await domain.db.pool.query('delete from log_root where number > 1');
  domain.clock.advance(3_600);
  await appendToLog(domain);
  await expect(pushRoots(domain)).rejects.toThrow(/roots\.jsonl ends with root 3, which was lost/);
  expect(await lines()).toEqual(stored);
  expect(received).toHaveLength(3);
  await rm(join(folder, 'roots.jsonl'));
  await pushRoots(domain);
  expect(await lines()).toEqual((await rootsAfter(domain, 1)).roots);
});

test('nothing is pushed without a target', async () => {
  await appendToLog(domain);
  await pushRoots({ ...domain, settings: { ...domain.settings, proofRootFile: null, proofRootUrl: null } });
  const { rows } = await domain.db.pool.query('select from log_root where pushed_at is null');
  expect(rows).toHaveLength(1);
});
