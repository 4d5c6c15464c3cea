import pg from 'pg';
import { expect, it, vi } from 'vitest';
import { seedDatabase } from '../../../prisma/seed/load.js';
import { createDeps } from '../../../src/compose/deps.js';
import { openDatabase } from '../../../src/database/database.js';
import { systemClock } from '../../../src/std/system-clock.js';
import { testSettings } from '../../support/clock.js';
import { createTestDatabase } from '../../support/database.js';

/** Tables in loading order. */
const LOADED = ['gpu_model', 'region', 'template', 'market_snapshot', 'gpu_price', 'machine'];

it('the seed is loaded in one message, with its contents logged if loading is slow', async () => {
  const db = openDatabase(await createTestDatabase());
  const holder = await db.pool.connect();
  await holder.query(`set session_replication_role = replica; truncate ${LOADED}, installation, account cascade`);
  await holder.query('set session_replication_role = default; begin; lock table machine in exclusive mode');
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  const notes: string[] = [];
  const deps = createDeps(db, systemClock, testSettings());
  const loading = seedDatabase(deps, 'demo', (note) => notes.push(note));
  await expect.poll(() => notes).toEqual(['loading the catalogue: 83 GPU models, 32 regions, 1,501 machines']);
  await holder.query('commit');
  holder.release();
  await loading;
  const steps = sent.mock.calls.map(
    ([given]): string[] =>
      (given as { text?: string }).text?.match(/\bBEGIN|COMMIT$|(?<=EXECUTE "insert-rows-)\w+/g) ?? [],
  );
  sent.mockRestore();
  // The transaction never waits for this process, even if this process is slow.
  expect(steps.filter((names) => names.includes('machine'))).toEqual([['BEGIN', ...LOADED, 'COMMIT']]);
  expect(await db.prisma.machine.count()).toBe(1_501);
  await db.close();
});
