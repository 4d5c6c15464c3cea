import { afterAll, expect, it } from 'vitest';
import { createDeps } from '../../../src/compose/deps.js';
import { openDatabase } from '../../../src/database/database.js';
import { systemClock } from '../../../src/std/system-clock.js';
import { testSettings } from '../../support/clock.js';
import { createTestDatabase } from '../../support/database.js';
import { subscribe } from '../../support/events.js';
import { createRenter } from '../../support/gateway.js';
import { cleanUp, startProcess } from '../../support/process.js';

afterAll(cleanUp);

const STREAMS = ['instanceChanged { id }', 'balanceChanged { balance }', 'offersChanged(limit: 1) { machineId }'];

it('a gateway completes its event streams cleanly on SIGTERM', async () => {
  const databaseUrl = await createTestDatabase();
  const gateway = await startProcess({ DATABASE_URL: databaseUrl, LOG_LEVEL: 'warn' });
  const deps = createDeps(openDatabase(databaseUrl), systemClock, testSettings());
  const { key } = await createRenter(deps, gateway.address);
  await deps.db.close();
  const streams = await Promise.all(
    STREAMS.map((field) => subscribe(gateway.address, `subscription { ${field} }`, { key })),
  );
  for (const stream of streams.slice(1)) await stream.next();
  const { code, stderr } = await gateway.end();
  for (const stream of streams) expect(await stream.next()).toBe('complete');
  expect([code, stderr]).toEqual([0, '']);
});
