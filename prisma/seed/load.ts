import type pg from 'pg';
import type { Deps } from '../../src/compose/deps.js';
import { reportIfSlow } from '../../src/database/report-if-slow.js';
import { insertRows } from '../../src/database/rows.js';
import { inLongTransaction, type PreparedStatement } from '../../src/database/transaction.js';
import { createAccount } from '../../src/domain/accounts/accounts.js';
import { createApiKey } from '../../src/domain/accounts/api-keys.js';
import { MICRO_PER_USD } from '../../src/domain/kernel/money.js';
import { formatInstant, type Instant } from '../../src/domain/kernel/time.js';
import { publication } from '../../src/domain/market/market.js';
import { type Catalogue, FIRST_SNAPSHOT_DATE, loadCatalogue } from './catalogue.js';
import { generateInventory } from './inventory.js';

export type Seed = 'demo' | 'catalogue' | 'none';

/** Serialises first starts on one database. */
const SEED_LOCK = 4_207_001;
/**
 * Maximum wait for another first start. Loading takes a second of CPU time: much longer where other programs share it,
 * or on a remote database.
 */
const LOCK_LIMIT_MS = 600_000;
/** The date of the empty sheet of an installation that starts without a catalogue. */
const NO_MARKET_DATE = '1970-01-01';
const DEMO_CREDIT_MICRO = 100n * MICRO_PER_USD;

/**
 * Fills an empty database once: the first start decides what is loaded, later starts leave it unchanged. Returns the
 * demo account's key if this call created it; it can't be read again. `onNote` receives a message if it takes long.
 */
export async function seedDatabase(
  deps: Deps,
  seed: Seed,
  onNote: (message: string) => void = () => {},
): Promise<{ demoKey: string | null }> {
  const lock = await deps.db.pool.connect();
  try {
    if (await isLoaded(lock)) return { demoKey: null };
    await reportIfSlow(onNote, 'waiting for another first start on this database', async () => {
      await lock.query(`set lock_timeout = ${LOCK_LIMIT_MS}; set statement_timeout = ${LOCK_LIMIT_MS}`);
      await lock.query('select pg_advisory_lock($1)', [SEED_LOCK]);
    });
    if (await isLoaded(lock)) return { demoKey: null };
    await loadTables(deps, seed, onNote);
    const demoKey = seed === 'demo' ? await createDemoAccount(deps) : null;
    await lock.query('insert into installation (seed, created_at) values ($1, $2)', [
      seed,
      formatInstant(deps.clock.now()),
    ]);
    return { demoKey };
  } finally {
    // Closing the connection releases the lock.
    lock.release(true);
  }
}

async function isLoaded(client: pg.PoolClient): Promise<boolean> {
  return (await client.query('select from installation')).rowCount !== 0;
}

/** Loads all or nothing. Has no effect if an interrupted first start has already loaded the tables. */
async function loadTables(deps: Deps, seed: Seed, onNote: (message: string) => void): Promise<void> {
  const { pool } = deps.db;
  if ((await pool.query('select from market_snapshot limit 1')).rowCount !== 0) return;
  const { statements, summary } = contentOf(seed, deps.clock.now());
  // All statements and the COMMIT are sent in one message, so that no time passes between them.
  await reportIfSlow(onNote, `loading ${summary}`, () =>
    inLongTransaction(pool, async (transaction) => transaction.later(...statements)),
  );
}

/** Returns the statements that load a seed, and a summary of them. */
function contentOf(seed: Seed, publishedAt: Instant): { statements: PreparedStatement[]; summary: string } {
  if (seed === 'none') {
    const empty = { date: NO_MARKET_DATE, publishedAt, figures: [] };
    return { statements: publication(empty, new Map()), summary: 'an empty price sheet' };
  }
  const catalogue = loadCatalogue();
  const { gpuModels, regions, templates } = catalogue;
  const models = gpuModels.map(({ marketListings: _, medianMicro: __, ...model }) => model);
  const statements = [
    insertRows('gpu_model', inOrder(models)),
    insertRows('region', inOrder(regions)),
    insertRows('template', inOrder(templates)),
    ...publication({ date: FIRST_SNAPSHOT_DATE, publishedAt, figures: figuresOf(catalogue) }, new Map()),
  ];
  const parts = [`${models.length} GPU models`, `${regions.length} regions`];
  if (seed === 'demo') {
    const createdAt = formatInstant(publishedAt);
    const machines = generateInventory(catalogue);
    statements.push(
      insertRows(
        'machine',
        machines.map((machine) => ({ ...machine, demo: true, createdAt })),
      ),
    );
    parts.push(`${machines.length.toLocaleString('en-US')} machines`);
  }
  return { statements, summary: `the catalogue: ${parts.join(', ')}` };
}

function inOrder<T extends object>(rows: readonly T[]): (T & { position: number })[] {
  return rows.map((row, position) => ({ ...row, position }));
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
