import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import type { Deps } from '../../../src/compose/deps.js';
import { openTestDomain } from '../../support/domain.js';
import { subscribe } from '../../support/events.js';
import { startGateway } from '../../support/gateway.js';

const ATTEMPTS = 100;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

type Parts = [name: string, part: WeakRef<object>][];

function partsOf(deps: Deps): Parts {
  const { inventory, subscriptions, fleet } = deps;
  const parts = { prisma: deps.db.prisma, pool: deps.db.pool, inventory, subscriptions, fleet };
  return Object.entries(parts).map(([name, part]) => [name, new WeakRef(part)]);
}

async function closedGateway(): Promise<Parts> {
  const gateway = await startGateway({ metricsPort: 0, sshPort: 0 });
  const { key, rest, graphql } = await gateway.renter();
  const stream = await subscribe(gateway.address, 'subscription { balanceChanged { balance } }', { key });
  await stream.next();
  await rest('GET', '/instances');
  // A query is compiled when it arrives for the third time.
  for (let time = 0; time < 4; time += 1) await graphql('{ offers(limit: 3) { machineId } account { id } }');
  await fetch(gateway.metricsAddress!);
  await gateway.close();
  return [...partsOf(gateway.deps), ['tunnels', new WeakRef(gateway.tunnels)]];
}

async function closedDomain(): Promise<Parts> {
  const domain = await openTestDomain();
  await domain.account();
  await domain.close();
  return partsOf(domain);
}

it.each([
  ['gateway', closedGateway],
  ['domain', closedDomain],
])('a closed %s leaves no objects in memory', async (_name, close) => {
  const parts = await close();
  const left = () => parts.filter(([, part]) => part.deref() !== undefined).map(([name]) => name);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    // A dereferenced WeakRef keeps its target alive until this turn of the event loop ends.
    await sleep(20);
    collectGarbage();
    if (left().length === 0) break;
  }
  expect(left()).toEqual([]);
});
