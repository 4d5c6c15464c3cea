import { randomBytes } from 'node:crypto';
import { createDeps, type Deps } from '../../src/compose/deps.js';
import { openDatabase } from '../../src/database/database.js';
import { createAccount } from '../../src/domain/accounts/accounts.js';
import { parseUsd } from '../../src/domain/kernel/money.js';
import type { Settings } from '../../src/domain/kernel/settings.js';
import { TestClock, testSettings } from './clock.js';
import { createTestDatabase } from './database.js';

/** The domain without any API, on its own database and with a clock that the test controls. */
export interface TestDomain extends Deps {
  clock: TestClock;
  close(): Promise<void>;
  /** Creates an account with credit in USD and returns its id. */
  account(creditUsd?: string): Promise<string>;
  /** Creates a listed machine like the inventory's cheapest one of the model and returns its id. */
  machine(gpu?: string, changes?: { numGpus?: number; diskGb?: number }): Promise<string>;
}

/** Opens a domain. `shared` contains another domain's database and clock. */
export async function openTestDomain(
  settings: Partial<Settings> = {},
  start?: string,
  shared?: { url: string; clock: TestClock },
): Promise<TestDomain> {
  const db = openDatabase(shared?.url ?? (await createTestDatabase()));
  const clock = shared?.clock ?? new TestClock(start);
  const deps = createDeps(db, clock, testSettings(settings));
  return {
    ...deps,
    clock,
    close: () => db.close(),
    account: async (creditUsd = '100') => {
      const creditMicro = parseUsd(creditUsd)!;
      return (await createAccount(deps, { name: 'Test', ...(creditMicro > 0n && { creditMicro }) })).id;
    },
    machine: async (gpu = 'rtx-4090', changes = {}) => {
      const like = await db.prisma.machine.findFirstOrThrow({ where: { gpu }, orderBy: { id: 'asc' } });
      const id = `m-${randomBytes(4).toString('hex')}`;
      await db.prisma.machine.create({ data: { ...like, hostId: '', numGpus: 1, diskGb: 1_000, ...changes, id } });
      return id;
    },
  };
}
