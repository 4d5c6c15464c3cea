import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../../support/database.js';
import { client } from '../../support/gateway.js';
import { csv, type MarketSource, market, openMarketSource } from '../../support/market.js';
import { admin, adminJson } from '../../support/operator.js';
import { cleanUp, type Env, type GatewayProcess, query, startProcess } from '../../support/process.js';

const PATIENT = { timeout: 60_000 };

let source: MarketSource;

beforeAll(async () => {
  source = await openMarketSource();
});
afterAll(async () => {
  await source.close();
  await cleanUp();
});

const STATE = '{ pricing { marketSnapshot recheck { schedule lastSucceededAt lastFailedAt nextAt } } }';
const STARTED = 'market re-check started';
const SUCCEEDED = 'market re-check succeeded';
const FAILED = 'market re-check failed';

async function pricing(address: string) {
  return (await client(address).graphql(STATE)).body.data.pricing;
}

const lines = (gateway: GatewayProcess, msg: string) => gateway.log().filter((line) => line.msg === msg);
const rechecks = (databaseUrl: string) =>
  query(databaseUrl, 'select status, attempts from market_recheck order by day desc');

describe('processes on one database', () => {
  let env: Env;
  let databaseUrl: string;
  beforeEach(async () => {
    databaseUrl = await createTestDatabase();
    // These processes use the machine's clock. The sheet is old enough at any time.
    await query(
      databaseUrl,
      `insert into market_snapshot select '2020-01-01', published_at from market_snapshot;
       update gpu_price set snapshot_date = '2020-01-01';
       delete from market_snapshot where date <> '2020-01-01'`,
    );
    env = { DATABASE_URL: databaseUrl, MARKET_SOURCE: source.url };
    source.answers(csv(market()));
  });

  test('fetch once and write one line when they start concurrently', async () => {
    const before = source.requests();
    const often = { ...env, MARKET_SCHEDULE: '* * * * * *' };
    const gateways = await Promise.all([startProcess(often), startProcess(often)]);
    await Promise.any(gateways.map(({ says }) => says(new RegExp(SUCCEEDED))));
    for (const gateway of gateways) await gateway.end();
    expect(source.requests()).toBe(before + 1);
    const [done, ...more] = gateways.flatMap((gateway) => lines(gateway, SUCCEEDED));
    expect(more).toEqual([]);
    expect(done).toMatchObject({ level: 30, listings: 355, leftOut: 0, models: 71, changedPrices: 0 });
    expect(await rechecks(databaseUrl)).toEqual([{ status: 'PUBLISHED', attempts: 1 }]);
    const dates = await query(databaseUrl, `select to_char(date, 'YYYY-MM-DD') as day from market_snapshot order by 1`);
    const { sheet } = done as unknown as { sheet: string };
    expect(dates).toEqual([{ day: '2020-01-01' }, { day: sheet }]);
  });

  test('resume an attempt during which one of them was killed', async () => {
    source.answers(() => {});
    const before = source.requests();
    const killed = await startProcess(env);
    await source.requested(before + 1);
    await killed.kill();
    const locks = `select 1 from pg_locks where objid = 4207003 and database =
      (select oid from pg_database where datname = current_database())`;
    await expect.poll(() => query(databaseUrl, locks), PATIENT).toEqual([]);
    source.answers(csv(market()));
    const next = await startProcess(env);
    await next.says(new RegExp(SUCCEEDED));
    await next.end();
    expect(lines(killed, STARTED)).toMatchObject([{ attempt: 1, attempts: 4 }]);
    expect(lines(next, STARTED)).toMatchObject([{ attempt: 2, attempts: 4 }]);
    expect(await rechecks(databaseUrl)).toEqual([{ status: 'PUBLISHED', attempts: 2 }]);
  });

  test('shut down cleanly during an attempt, which then doesn’t count', async () => {
    source.answers(() => {});
    const before = source.requests();
    const gateway = await startProcess(env);
    await source.requested(before + 1);
    expect((await gateway.end()).code).toBe(0);
    expect(gateway.log().filter(({ level }) => level > 30)).toEqual([]);
    expect(await rechecks(databaseUrl)).toEqual([{ status: 'TRYING', attempts: 0 }]);
  });

  test('report the reason for a failure only in the log and in `market status`', async () => {
    const secret = source.url.replace('//', '//ann:hunter2@');
    source.answers((_request, response) => response.writeHead(503).end());
    const gateway = await startProcess({ ...env, MARKET_SOURCE: secret });
    await gateway.says(new RegExp(FAILED));
    const told = await fetch(`${gateway.address}/readyz`).then((response) => response.text());
    expect(told + JSON.stringify(await pricing(gateway.address))).not.toMatch(/503|listings\.csv/);
    await gateway.end();
    const [line] = lines(gateway, FAILED) as unknown as { nextAttemptAt: string }[];
    const reason = 'the source responded with status 503';
    expect(line).toMatchObject({ level: 40, attempt: 1, attempts: 4, reason });

    const status = await adminJson(['market', 'status'], { ...env, MARKET_SOURCE: secret });
    expect(status).toEqual({
      sheet: '2020-01-01',
      source: source.url,
      schedule: '0 4 * * 1',
      last_succeeded_at: null,
      last_failed_at: expect.stringMatching(/^\d{4}-.*Z$/),
      last_error: reason,
      next_at: line!.nextAttemptAt,
    });
    const shown = await admin(['market', 'status'], { DATABASE_URL: databaseUrl });
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout).toMatch(/^Sheet +2020-01-01\nSource +- \(MARKET_SOURCE is not set\)\n/);
    expect(shown.stdout).toMatch(/^Last error +the source responded with status 503$/m);
    expect(shown.stdout + gateway.stderr()).not.toContain('hunter2');
  });
});
