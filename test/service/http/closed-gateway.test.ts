import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { subscribe } from '../../support/events.js';
import { startGateway } from '../../support/gateway.js';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** Opens a gateway, uses each surface and closes it. Returns what it consisted of. */
async function openAndClose(): Promise<Map<string, WeakRef<object>>> {
  const gateway = await startGateway({ metricsPort: 0, sshPort: 0 });
  const renter = await gateway.renter();
  const stream = await subscribe(gateway.address, 'subscription { balanceChanged { balance } }', { key: renter.key });
  await stream.next();
  for (const path of ['/instances', '/offers', '/balance']) await renter.rest('GET', path);
  // A query that comes a third time is compiled.
  for (let time = 0; time < 4; time += 1) await renter.graphql('{ offers(limit: 3) { machineId } account { id } }');
  await gateway.close();
  const { deps, tunnels } = gateway;
  const parts = { ...deps.db, tunnels, inventory: deps.inventory, subscriptions: deps.subscriptions, fleet: deps.fleet };
  const objects = Object.entries(parts).filter(([name]) => name !== 'close');
  return new Map(objects.map(([name, part]) => [name, new WeakRef(part)]));
}

it('leaves nothing of a closed gateway in memory', async () => {
  const parts = await openAndClose();
  expect([...parts.keys()]).toContain('prisma');
  const left = () => {
    collectGarbage();
    return [...parts].filter(([, part]) => part.deref() !== undefined).map(([name]) => name);
  };
  await expect.poll(left, { timeout: 20_000, interval: 100 }).toEqual([]);
});
