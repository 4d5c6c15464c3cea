import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { audit } from '../../../src/domain/billing/audit.js';
import { deploy } from '../../../src/domain/instances/instances.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

/** Random bytes to return first, before real random bytes. */
const drawn: string[] = [];

let domain: TestDomain;
beforeAll(async () => {
  domain = await openTestDomain();
  const real = crypto.randomBytes;
  vi.spyOn(crypto, 'randomBytes').mockImplementation(((size: number) => {
    const next = size === 4 ? drawn.shift() : undefined;
    return next === undefined ? real(size) : Buffer.from(next, 'hex');
  }) as typeof real);
  syncBuiltinESMExports();
});
afterAll(async () => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  await domain?.close();
});

/** With 2^32 ids and a million rentals, a collision happens once in a few thousand rentals. */
it('an id that is already taken is replaced with another, with no other effect', async () => {
  const rent = async () => {
    const machineId = await domain.machine();
    return (await deploy(domain, await domain.account(), { machineId })).instance.id;
  };
  const first = await rent();
  const taken = first.slice(2);
  const machines = [await domain.machine(), await domain.machine()];
  for (const machineId of machines) {
    const account = await domain.account();
    drawn.push(taken, taken);
    const { instance } = await deploy(domain, account, { machineId });
    expect(drawn).toEqual([]);
    expect(instance).toMatchObject({ accountId: account, machineId, status: 'RUNNING' });
    expect(instance.id).not.toBe(first);
  }
  expect((await audit(domain)).findings).toEqual([]);
});
