import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { databaseOf, expectedOf, releases } from '../../programs/upgrades/fixture.js';
import { gpu } from '../../support/cli/gpu.js';
import { randomFrom } from '../../support/long.js';
import {
  admin,
  cleanUp,
  connect,
  type Env,
  type GatewayProcess,
  MAIN,
  type Program,
  run,
  startProcess,
} from '../../support/process.js';
import { chainOf } from '../../support/proofs/chain.js';
import { until } from '../../support/until.js';
import { growLedger, type Renter } from './growth.js';
import { jsonOf, Writes } from './writes.js';

/** Number of entries in the ledger before the upgrade. */
const ENTRIES = Number(process.env.UPGRADE_ENTRIES ?? 100_000);
/** Releases to upgrade from. */
const RELEASES = process.env.UPGRADE_FROM?.split(',') ?? releases;
const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000);
/** Number of kills while the history is chained. There are two more during the migrations. */
const KILLS = 3;
const MIGRATION = '20261127090000_proofs';
const MIGRATIONS = readdirSync(join(PACKAGE_ROOT, 'prisma/migrations')).filter((name) => name <= MIGRATION).length;
const WITHIN_MS = 300_000;
const READY = /GraphiQL.*\n\n$/s;

const IS_MIGRATING = `select from pg_stat_activity where datname = current_database() and application_name = 'migrations'`;
/** PostgreSQL shows only the start of a query, which is the migration's comment. */
const IS_CREATING_CHAINS = `${IS_MIGRATING} and state = 'active' and query like '-- Hash chains of the ledger entries%'`;
const OTHERS = `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`;
const APPLIED = 'select migration_name from _prisma_migrations where finished_at is not null';
const CHAINED = 'select coalesce(sum(length), 0)::int as chained from account_chain';
const UNCHAINED = 'select id from account left join account_chain on account_id = id where complete is not true';
/** All entries of accounts whose history isn't chained completely. They must be chained in the order of time and id. */
const HISTORY = `insert into test.history select entry.id from ledger_entry entry join (${UNCHAINED}) account on account.id = account_id on conflict do nothing`;
const MISORDERED = `
  select account_id, number from (
    select link.account_id, number, (at, id) < (lag(at) over each, lag(id) over each) as is_misordered
    from chain_link link join ledger_entry on id = entry_id join test.history using (id) window each as (partition by link.account_id order by number)
  ) ordered where is_misordered`;
const BACKWARDS = `
  select account_id, number from (
    select link.account_id, number, at, lag(at) over (partition by link.account_id order by number) as before
    from chain_link link join ledger_entry on id = entry_id
  ) ordered where before > at`;

const MONTHS = `select to_char(month, 'YYYY-MM') as month from account,
  generate_series(date_trunc('month', created_at, 'UTC'), now(), interval '1 month') month where id = $1`;

const COUNTS = `select (select count(*)::int from ledger_entry) as entries, (select count(*)::int from test.history) as history,
  (select count(distinct entry_id)::int from chain_link) as distinct`;

afterEach(cleanUp);

describe(`an upgrade with ${ENTRIES} entries, killed ${KILLS + 2} times`, () => {
  console.info(`SEED=${SEED} for the same moments`);

  it.each(RELEASES)('from %s chains each entry once', { timeout: 1_800_000 }, async (release) => {
    const { url, migrations } = await databaseOf(release);
    const { heavy, light } = await growLedger(url, ENTRIES);
    const { accounts, running } = expectedOf(release);
    const active = accounts.filter(({ status }) => status === 200);
    const writes = new Writes([heavy, light, active.find(({ id }) => id === running.account)!]);
    const upgrade = await Upgrade.open(url);
    const random = randomFrom(SEED);

    await upgrade.killWhenMigrated(migrations.length + random(MIGRATIONS - migrations.length), random(10));
    const migrated = await upgrade.count(APPLIED);
    await upgrade.killWhenCreatingChains(random(5));
    const moments = Array.from({ length: KILLS }, () => Math.round((0.05 + random(850) / 1_000) * ENTRIES));
    const chained: number[] = [];
    for (const moment of moments.sort((a, b) => a - b)) {
      chained.push(await upgrade.killWhenChained(moment, writes));
      await upgrade.credit(heavy.id, `after ${moment} links`);
    }

    const gateways = await Promise.all([1, 2].map(() => started(upgrade.env)));
    const renting = writes.run(gateways[0]!.address);
    await until('all is chained', async () => (await upgrade.count(UNCHAINED)) === 0, WITHIN_MS);
    await sleep(500);
    writes.stop();
    await renting;
    const statements = await verifyStatements(gateways[1]!.address, [heavy, light, ...active], upgrade);
    for (const gateway of gateways) expect((await gateway.end()).code).toBe(0);
    const { entries, history } = await expectChainedOnce(upgrade, writes.acknowledged);
    console.info(
      `${release}: ${migrated - migrations.length} of ${(await upgrade.count(APPLIED)) - migrations.length} migrations and ` +
        `${chained.join(', ')} of ${entries} entries at the kills; ${history} entries before their account's chain, ` +
        `${writes.acknowledged.length} rentals next to it, ${statements} statements verified`,
    );
    await upgrade.close();
  });
});

/** A database that is upgraded by gateways that are killed. */
class Upgrade {
  readonly env: Env;
  readonly #database: pg.Client;

  private constructor(url: string, database: pg.Client) {
    this.env = {
      ...{ DATABASE_URL: url, LOG_LEVEL: 'warn', RATE_LIMIT_PER_MINUTE: '1000000' },
      SECRETS_KEY: 'ab'.repeat(32),
    };
    this.#database = database;
  }

  static async open(url: string): Promise<Upgrade> {
    const database = await connect(url);
    await database.query('create schema test; create table test.history (id text primary key)');
    return new Upgrade(url, database);
  }

  // biome-ignore lint/suspicious/noExplicitAny: rows of any statement
  readonly rows = async (text: string, values: unknown[] = []): Promise<any[]> =>
    (await this.#database.query(text, values)).rows;

  async count(text: string): Promise<number> {
    return (await this.rows(text)).length;
  }

  /**
   * Kills a gateway shortly after this number of migrations. A renter's write keeps the next one that changes the ledger
   * from ending.
   */
  async killWhenMigrated(migrations: number, delayMs: number): Promise<void> {
    const gateway = run([MAIN], this.env);
    const writer = await connect(this.env.DATABASE_URL!);
    await until(`${migrations} migrations`, async () => (await this.count(APPLIED)) >= migrations, WITHIN_MS, 1);
    await writer.query('begin; lock table ledger_entry in row exclusive mode');
    await until('migrating', async () => (await this.count(IS_MIGRATING)) > 0, WITHIN_MS, 1);
    await sleep(delayMs);
    gateway.signal('SIGKILL');
    await gateway.ended;
    await writer.end();
    await this.#kill(gateway);
  }

  /** Kills a gateway within the migration that creates the chains. */
  async killWhenCreatingChains(delayMs: number): Promise<void> {
    const gateway = run([MAIN], this.env);
    await until('the chains are created', async () => (await this.count(IS_CREATING_CHAINS)) > 0, WITHIN_MS, 1);
    await sleep(delayMs);
    await this.#kill(gateway);
    expect(await this.rows(APPLIED)).not.toContainEqual({ migration_name: MIGRATION });
  }

  /** Kills a gateway once this number of entries is chained, while renters rent. Resolves to the number at the kill. */
  async killWhenChained(entries: number, writes: Writes): Promise<number> {
    const before = writes.acknowledged.length;
    let gateway = run([MAIN], this.env);
    let isKilled = false;
    const serve = async () => {
      while (!isKilled) {
        // On a very busy machine, a gateway can exit at its start and ask to be started again.
        const address = await gateway.says(READY).then(
          () => addressOf(gateway.stdout()),
          () => null,
        );
        if (address !== null) await writes.run(address);
        await gateway.ended;
        if (!isKilled) gateway = run([MAIN], this.env);
      }
    };
    const serving = serve();
    const isDue = async () => writes.acknowledged.length > before && (await this.#chained()) >= entries;
    await until(`${entries} entries are chained`, isDue, WITHIN_MS, 3).finally(() => {
      isKilled = true;
    });
    await this.#kill(gateway);
    await serving;
    expect(await this.count(UNCHAINED)).toBeGreaterThan(0);
    await this.rows(HISTORY);
    return this.#chained();
  }

  async credit(account: string, reference: string): Promise<void> {
    const args = ['account', 'credit', account, '--amount', '1', '--reference', reference];
    expect(await admin(args, this.env)).toMatchObject({ code: 0, stderr: '' });
    await this.rows(HISTORY);
  }

  close(): Promise<void> {
    return this.#database.end();
  }

  async #chained(): Promise<number> {
    return (await this.rows(CHAINED))[0].chained;
  }

  /** Also waits until PostgreSQL has rolled back its transactions. */
  async #kill(gateway: Program): Promise<void> {
    gateway.signal('SIGKILL');
    await gateway.ended;
    await until('its sessions end', async () => (await this.count(OTHERS)) === 0, WITHIN_MS);
  }
}

/** Expects a clean audit, and that the chains are those that follow from the entries by docs/proofs.md. */
async function expectChainedOnce(upgrade: Upgrade, rented: readonly string[]) {
  const { rows } = upgrade;
  const report = await admin(['audit', '--json'], upgrade.env);
  expect(report).toMatchObject({ code: 0 });
  expect(JSON.parse(report.stdout)).toMatchObject({ unchained_accounts: 0, findings: [] });
  let links = 0;
  for (const { id } of await rows('select id from account')) {
    const chain = await chainOf(rows, id);
    expect(chain.links).toEqual(chain.expected);
    expect(chain).toMatchObject({ isComplete: true, length: chain.records.size, head: chain.expectedHead });
    links += chain.links.length;
  }
  const [counts] = await rows(COUNTS);
  expect({ links, distinct: counts.distinct }).toEqual({ links: counts.entries, distinct: counts.entries });
  expect(await rows(MISORDERED)).toEqual([]);
  expect(await rows(BACKWARDS)).toEqual([]);
  const ids = rented.flatMap((id) => [`${id}/gpu/1`, `${id}/disk/1`]);
  expect(await rows('select id from unnest($1::text[]) id except select id from ledger_entry', [ids])).toEqual([]);
  return counts as { entries: number; history: number };
}

/** Returns how many signed statements verify, which must be those of each account's every month. */
async function verifyStatements(address: string, renters: readonly Renter[], { rows }: Upgrade): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'statements-'));
  const files: string[] = [];
  const save = async (name: string, path: string, key?: string) => {
    const headers = key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } };
    const answered = await until(
      `${name} on a busy machine`,
      async () => {
        const answer = await jsonOf(fetch(`${address}${path}`, headers));
        return answer.status === 503 ? null : answer;
      },
      WITHIN_MS,
    );
    expect({ name, ...answered, body: answered.status === 200 ? null : answered.body }).toEqual({
      name,
      status: 200,
      body: null,
    });
    files.push(join(folder, name));
    writeFileSync(files.at(-1)!, JSON.stringify(answered.body));
  };
  for (const { id, key } of renters) {
    for (const { month } of await rows(MONTHS, [id]))
      await save(`${id}-${month}.json`, `/v1/statements/${month}/signed`, key);
  }
  const statements = files.length;
  await save('keys.json', '/.well-known/gpu-rental/keys.json');
  expect(await gpu(['verify', ...files], {})).toMatchObject({ code: 0 });
  rmSync(folder, { recursive: true });
  return statements;
}

/** Starts a gateway, again if it exits at its start because the machine is very busy. */
async function started(env: Env): Promise<GatewayProcess> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await startProcess(env);
    } catch (error) {
      if (tries === 5) throw error;
    }
  }
}

function addressOf(stdout: string): string {
  return /REST +(http:\S+)\/v1/.exec(stdout)![1]!;
}
