import type { Prisma } from '../../src/database/database.js';
import { createAccount } from '../../src/domain/accounts/accounts.js';
import { createApiKey } from '../../src/domain/accounts/api-keys.js';
import type { Deps } from '../../src/domain/deps.js';
import { publishSnapshot } from '../../src/domain/market/market.js';
import { MICRO_PER_USD } from '../../src/domain/rules/money.js';
import { dateOf } from '../../src/domain/rules/time.js';
import { type Catalogue, FIRST_SNAPSHOT_DATE, loadCatalogue } from './catalogue.js';
import { generateInventory } from './inventory.js';

export type Seed = 'demo' | 'catalogue' | 'none';

/** Serialises first starts on one database. */
const SEED_LOCK = 4_207_001;
/** Loading takes about a second, and longer on a remote database. */
const LOAD_LIMIT_MS = 60_000;
/** The date of the empty sheet of an installation that starts without a catalogue. */
const NO_MARKET_DATE = '1970-01-01';
const DEMO_CREDIT_MICRO = 100n * MICRO_PER_USD;

/**
 * Fills an empty database once: the first start decides what is loaded, later starts leave it unchanged. Returns the
 * demo account's key if this call created it; it can't be read again.
 */
export async function seedDatabase(deps: Deps, seed: Seed): Promise<{ demoKey: string | null }> {
  const lock = await deps.db.pool.connect();
  try {
    // Waits for another first start as long as loading may take.
    await lock.query(`set lock_timeout = ${LOAD_LIMIT_MS}; set statement_timeout = ${LOAD_LIMIT_MS}`);
    await lock.query('select pg_advisory_lock($1)', [SEED_LOCK]);
    if ((await deps.db.prisma.installation.count()) > 0) return { demoKey: null };
    await loadTables(deps, seed);
    const demoKey = seed === 'demo' ? await createDemoAccount(deps) : null;
    await deps.db.prisma.installation.create({ data: { seed, createdAt: dateOf(deps.clock.now()) } });
    return { demoKey };
  } finally {
    // Closing the connection releases the lock.
    lock.release(true);
  }
}

/** Loads all or nothing; does nothing if an interrupted first start has already loaded the tables. */
async function loadTables(deps: Deps, seed: Seed): Promise<void> {
  const { prisma } = deps.db;
  if ((await prisma.marketSnapshot.count()) > 0) return;
  const publishedAt = deps.clock.now();
  if (seed === 'none') {
    await prisma.$transaction((tx) => publishSnapshot(tx, { date: NO_MARKET_DATE, publishedAt, figures: [] }));
    return;
  }
  const catalogue = loadCatalogue();
  const machines = seed === 'demo' ? generateInventory(catalogue) : [];
  const load = async (tx: Prisma.TransactionClient) => {
    // On a busy machine Prisma takes seconds to prepare the rows.
    await tx.$executeRawUnsafe(`set local idle_in_transaction_session_timeout = ${LOAD_LIMIT_MS}`);
    await tx.gpuModel.createMany({
      data: catalogue.gpuModels.map(({ marketListings: _, medianMicro: __, ...model }, position) => ({
        ...model,
        position,
      })),
    });
    await tx.region.createMany({ data: catalogue.regions.map((region, position) => ({ ...region, position })) });
    await tx.template.createMany({
      data: catalogue.templates.map((template, position) => ({ ...template, position })),
    });
    await publishSnapshot(tx, { date: FIRST_SNAPSHOT_DATE, publishedAt, figures: figuresOf(catalogue) });
    if (seed === 'demo') {
      const createdAt = dateOf(publishedAt);
      await tx.machine.createMany({
        data: machines.map((machine) => ({ ...machine, demo: true, createdAt })),
      });
    }
  };
  await prisma.$transaction(load, { timeout: LOAD_LIMIT_MS });
}

function figuresOf(catalogue: Catalogue) {
  return catalogue.gpuModels.map(({ slug, medianMicro, marketListings, referencePriceMicro }) => ({
    gpu: slug,
    medianMicro,
    listings: marketListings,
    referencePriceMicro,
  }));
}

async function createDemoAccount(deps: Deps): Promise<string> {
  const existing = await deps.db.prisma.account.findFirst({ where: { demo: true } });
  const { id } = existing ?? (await createAccount(deps, { name: 'Demo', creditMicro: DEMO_CREDIT_MICRO, demo: true }));
  return (await createApiKey(deps, id)).secret;
}
