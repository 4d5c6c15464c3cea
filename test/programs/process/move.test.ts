import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../../src/database/embedded/embedded-postgres.js';
import { client } from '../../support/gateway.js';
import { admin, adminJson, openAccount } from '../../support/operator.js';
import {
  ADMIN,
  cleanUp,
  connect,
  type Env,
  embeddedUrl,
  folder,
  type GatewayProcess,
  MAIN,
  type Program,
  preparedFolder,
  query,
  run,
  startProcess,
  waiters,
} from '../../support/process.js';

const PATIENT = { timeout: 180_000 };
const MOMENT = { timeout: 60_000 };
const SETTINGS = { RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'warn' };
const ACCOUNTS = 3_000;
/** Creates accounts with credit. */
const ACCOUNTS_SQL = `
  with new as (select 'acc-' || lpad(to_hex(n), 16, '0') as id, date_trunc('second', now()) as at
      from generate_series(1, $1::int) n)
  insert into account (id, name, created_at, settled_at, credit_units)
  select id, E'Renter\\t\\\\N "é"\\n', at, at, 3600000000000 from new`;
const CREDITS_SQL = `
  insert into ledger_entry (id, account_id, kind, units, at)
  select 'credit-' || id, id, 'CREDIT', 3600000000000, created_at from account where name like E'Renter\\t%'`;
const ADD_REGION = `insert into region select (jsonb_populate_record(region, jsonb_build_object('code', $1::text))).* from region limit 1`;

let server: EmbeddedPostgres;
let targetUrl: string;
let dataDir: string;
let env: Env;
let gateway: GatewayProcess;
let key: string;

/** Returns a database on the other server, owned by a role that isn't a superuser. */
async function createTarget(name: string): Promise<string> {
  const password = randomBytes(12).toString('hex');
  await query(server.url, `create role ${name} login password '${password}'`);
  await query(server.url, `create database ${name} owner ${name}`);
  return `postgresql://${name}:${password}@${new URL(server.url).host}/${name}`;
}

const moveArgs = (url = targetUrl) => ['database', 'move', '--to', url];
const move = (): Program => run([ADMIN, ...moveArgs()], env);
const stateOf = () => JSON.parse(readFileSync(join(dataDir, 'move.json'), 'utf8')).state;

/** Returns a gateway's reason for not starting. */
async function refusal(where: Env): Promise<string> {
  const { code, stderr } = await run([MAIN], { ...SETTINGS, ...where }).ended;
  expect(code).toBe(1);
  return stderr;
}

/** Keeps the move from copying a table of the target, and resolves once the move waits for it. */
async function holdTable(table: string): Promise<{ isReached: () => Promise<void>; release: () => Promise<void> }> {
  const session = await connect(targetUrl);
  // Within a transaction, the list of sessions doesn't change.
  const watching = await connect(targetUrl);
  await session.query(`begin; lock table ${table} in share mode`);
  return {
    isReached: () => expect.poll(() => waiters(watching), MOMENT).toBeGreaterThan(0),
    release: async () => {
      await session.end();
      await watching.end();
    },
  };
}

/** Returns the number of rows and a checksum of each table, and the state of each sequence. */
async function contentsOf(url: string): Promise<Record<string, unknown>> {
  const session = await connect(url);
  await session.query(`set time zone 'UTC'`);
  const contents: Record<string, unknown> = {};
  const { rows } = await session.query<{ name: string; kind: string }>(
    `select relname as name, relkind as kind from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'S') and relname <> '_prisma_migrations'`,
  );
  for (const { name, kind } of rows) {
    const text =
      kind === 'S'
        ? `select last_value, is_called from ${name}`
        : `select count(*) as rows, md5(string_agg(t::text, '' order by t::text collate "C")) from ${name} t`;
    contents[name] = (await session.query(text)).rows[0];
  }
  await session.end();
  return contents;
}

/** Returns the definitions of all constraints, indexes and enabled triggers. */
async function catalogOf(url: string): Promise<unknown[]> {
  return query(
    url,
    `select conrelid::regclass::text as of, pg_get_constraintdef(oid) as text, convalidated as valid from pg_constraint
       where connamespace = 'public'::regnamespace
     union all select tablename, indexdef, true from pg_indexes where schemaname = 'public'
     union all select tgrelid::regclass::text, pg_get_triggerdef(oid), tgenabled = 'O' from pg_trigger where not tgisinternal
     union all select nspname, '', true from pg_namespace where nspname !~ '^pg_'
     order by 1, 2`,
  );
}

async function sourceUrl<T>(work: (url: string) => Promise<T>): Promise<T> {
  const { url, release } = await openEmbeddedPostgres({ dataDir, isMove: true });
  return work(url).finally(release);
}

beforeAll(async () => {
  server = await openEmbeddedPostgres({ dataDir: join(folder(), 'target') });
  targetUrl = await createTarget('cluster');
  dataDir = await preparedFolder();
  env = { DATA_DIR: dataDir, ...SETTINGS };
  gateway = await startProcess(env);
  ({ key } = await openAccount(env, '100'));
  const url = await embeddedUrl(dataDir);
  await query(url, ACCOUNTS_SQL, [ACCOUNTS]);
  // Without statistics, the trigger that chains the credits joins them to all chains in quadratic time.
  await query(url, 'analyze account_chain');
  await query(url, CREDITS_SQL);
  await query(url, ADD_REGION, ['zz-old']);
}, PATIENT.timeout);
afterAll(async () => {
  await server.release();
  await cleanUp();
});

async function rent(address: string): Promise<void> {
  const { body } = await client(address).rest('GET', '/offers?limit=1');
  const renting = { machine_id: body.data[0].machine_id, disk_gb: 10 };
  expect(await client(address, key).rest('POST', '/instances', renting)).toMatchObject({ status: 201 });
}

describe('database move', () => {
  it('changes nothing in a dry run', PATIENT, async () => {
    const { state, rows } = await adminJson([...moveArgs(), '--dry-run'], env);
    expect(state).toBe('planned');
    expect(rows).toBeGreaterThan(2 * ACCOUNTS);
    expect(await query(targetUrl, `select from pg_namespace where nspname = 'unfinished_move'`)).toEqual([]);
    expect(() => stateOf()).toThrow('ENOENT');
  });

  it('copies while a gateway is in use, and resumes after it was killed', PATIENT, async () => {
    await rent(gateway.address);
    const watching = await connect(targetUrl);
    const first = move();
    const copied = () =>
      watching.query('select from unfinished_move.copied_table').then(
        ({ rowCount }) => rowCount,
        () => 0,
      );
    await expect.poll(copied, { ...MOMENT, interval: 1 }).toBeGreaterThan(0);
    first.signal('SIGKILL');
    await first.ended;
    await watching.end();
    expect(stateOf()).toBe('copying');
    expect(await refusal({ DATABASE_URL: targetUrl })).toMatch(/another database is being moved to this one/);
    expect(await adminJson(moveArgs(), env)).toMatchObject({ state: 'copied', other_processes: 1 });
    expect(stateOf()).toBe('copying');
  });

  it('refuses a source whose public log was changed', PATIENT, async () => {
    const url = await embeddedUrl(dataDir);
    // The gateway signs its first root some seconds after its start.
    const roots = async () => (await query(url, 'select from log_root')).length;
    await expect.poll(roots, { ...MOMENT, interval: 500 }).toBeGreaterThan(0);
    const flip = 'update log_root set signature = set_byte(signature, 0, get_byte(signature, 0) # 1)';
    await query(url, flip);
    const { code, stderr } = await admin(moveArgs(), env);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/the audit found .*, first: roots are signed/)]);
    await query(url, flip);
    expect(await adminJson(moveArgs(), env)).toMatchObject({ state: 'copied', other_processes: 1 });
  });

  it('refuses both databases when killed during the switch, until it is repeated', PATIENT, async () => {
    await rent(gateway.address);
    const url = await embeddedUrl(dataDir);
    await query(url, `delete from region where code = 'zz-old'`);
    await query(url, ADD_REGION, ['zz-new']);
    await query(url, `update account set name = 'Renamed' where id like '%7'`);
    await gateway.end();
    const held = await holdTable('ledger_entry');
    const second = move();
    await held.isReached();
    second.signal('SIGKILL');
    await second.ended;
    await held.release();
    expect(stateOf()).toBe('switching');
    expect(await refusal(env)).toMatch(/its database is being moved to .*\/cluster since/);
    expect(await refusal({ DATABASE_URL: targetUrl })).toMatch(/another database is being moved to this one/);
  });

  it('is refused while another one runs, which then finishes', PATIENT, async () => {
    const before = await sourceUrl(contentsOf);
    const held = await holdTable('account');
    const running = move();
    await held.isReached();
    expect(await admin(moveArgs(), env)).toMatchObject({ code: 2, stderr: expect.stringMatching(/another move/) });
    await held.release();
    const { code, stdout } = await running.ended;
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^TABLE.*no mismatch.*set DATABASE_URL/s)]);
    const bothOf = (url: string) => Promise.all([contentsOf(url), catalogOf(url)]);
    const [contents, catalog] = await bothOf(targetUrl);
    expect(contents).toEqual(before);
    expect(await sourceUrl(bothOf)).toEqual([contents, catalog]);
    expect((await adminJson(['audit'], { DATABASE_URL: targetUrl })).findings).toEqual([]);
    expect(await adminJson(moveArgs(), env)).toMatchObject({ state: 'moved' });
  });

  it('lets gateways use only the target', PATIENT, async () => {
    expect(await refusal(env)).toMatch(/its database was moved to .*\/cluster/);
    const moved = await startProcess({ ...SETTINGS, DATABASE_URL: targetUrl });
    const instances = await client(moved.address, key).rest('GET', '/instances');
    expect([instances.status, instances.body.data.length]).toEqual([200, 2]);
    await rent(moved.address);
    await moved.end();
    expect((await adminJson(['audit'], { DATABASE_URL: targetUrl })).findings).toEqual([]);
  });
});
