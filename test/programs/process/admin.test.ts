import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../support/database.js';
import { client, type Renter } from '../../support/gateway.js';
import { admin, adminJson } from '../../support/operator.js';
import { cleanUp, type Env, type GatewayProcess, query, startProcess } from '../../support/process.js';

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const ACCOUNT_ID = /^acc-[0-9a-f]{16}$/;
const KEY_ID = /^key-[0-9a-f]{16}$/;
const KEY = /^gpu_live_[0-9a-f]{40}$/;
const ACCOUNT_COLUMNS = 'ID NAME BALANCE_USD MONTH_USD BURN_USD/H INSTANCES EXHAUSTS SUSPENDED';
const INSTANCE_COLUMNS = 'ID ACCOUNT STATUS MACHINE GPUS MODE USD/H CREATED STOPPED';
const KEY_COLUMNS = 'ID KEY CREATED LAST_USED REVOKED';

afterAll(cleanUp);

/** Returns the cells of a table. Each column begins where its heading does. */
function table(text: string): { columns: string; rows: string[][] } {
  const [heading, ...lines] = text.trimEnd().split('\n');
  const starts = [...heading!.matchAll(/(?<=^| {2})\S/g)].map(({ index }) => index);
  const cells = (line: string) => starts.map((start, index) => line.slice(start, starts[index + 1]).trim());
  const columns = cells(heading!).map((name) => name.replaceAll(' ', '_'));
  return { columns: columns.join(' '), rows: lines.map(cells) };
}

describe('operator commands on a running gateway', () => {
  let databaseUrl: string;
  let env: Env;
  let gateway: GatewayProcess;
  let account: { id: string; name: string; balance: number };
  let key: { id: string; account_id: string; api_key: string };
  let renter: Renter;

  const balance = async () => (await renter.rest('GET', '/balance')).body.balance;

  async function rent(): Promise<string> {
    const offers = await renter.rest('GET', '/offers?limit=1');
    const deployed = await renter.rest('POST', '/instances', { machine_id: offers.body.data[0].machine_id });
    expect(deployed.status).toBe(201);
    return deployed.body.id;
  }

  beforeAll(async () => {
    databaseUrl = await createTestDatabase();
    env = { DATABASE_URL: databaseUrl };
    gateway = await startProcess(env);
    account = await adminJson(['account', 'create', '--name', 'Zoë & Söhne 株式会社', '--credit', '12.500001'], env);
    key = await adminJson(['key', 'create', '--account', account.id], env);
    renter = client(gateway.address, key.api_key);
  });

  it('account create prints only id, name and balance', async () => {
    expect(account).toStrictEqual({
      id: expect.stringMatching(ACCOUNT_ID),
      name: 'Zoë & Söhne 株式会社',
      balance: 12.500001,
    });
    expect(Object.keys(account)).toEqual(['id', 'name', 'balance']);
    const poor = await admin(['account', 'create', '--name', '-', '--json'], env);
    expect(poor).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^\{"id":"acc-.*","balance":0\}\n$/),
    });
  });

  it('key create prints a key that works immediately, with its id and account', async () => {
    expect(key).toStrictEqual({
      id: expect.stringMatching(KEY_ID),
      account_id: account.id,
      api_key: expect.stringMatching(KEY),
    });
    expect(await balance()).toBe(12.500001);
    const plain = await admin(['key', 'create', '--account', account.id], env);
    expect(plain).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^gpu_live_[0-9a-f]{40}\n$/) });
  });

  it('account credit adds to the balance seen by the renter, once per reference', async () => {
    const before = await balance();
    const credit = ['account', 'credit', account.id, '--amount', '0.000001', '--note', 'Wire', '--reference', 'INV-1'];
    const credited = await adminJson(credit, env);
    expect(credited).toMatchObject({ id: account.id, name: account.name, balance: 12.500002, suspended_at: null });
    expect((await adminJson(credit, env)).balance).toBe(12.500002);
    expect(await balance()).toBe(12.500002);
    expect(before).toBe(12.500001);
    expect(
      await query(databaseUrl, `select kind, units, note from ledger_entry where reference = 'INV-1'`),
    ).toStrictEqual([{ kind: 'CREDIT', units: '3600', note: 'Wire' }]);
  });

  it('account adjust deducts or adds an amount with a reason', async () => {
    const adjust = ['account', 'adjust', account.id, '--note', 'Outage', '--amount'];
    expect((await adminJson([...adjust, '-2.5'], env)).balance).toBe(10.000002);
    expect((await adminJson([...adjust, '90'], env)).balance).toBe(100.000002);
    expect(await balance()).toBe(100.000002);
  });

  it('account list prints a table for people and a list for scripts', async () => {
    const listed: { id: string }[] = await adminJson(['account', 'list'], env);
    expect(listed.find(({ id }) => id === account.id)).toStrictEqual({
      id: account.id,
      name: account.name,
      balance: 100.000002,
      month_spend: 0,
      burn_per_hour: 0,
      live_instances: 0,
      exhausts_at: null,
      suspended_at: null,
    });
    const { code, stdout, stderr } = await admin(['account', 'list'], env);
    expect([code, stderr]).toEqual([0, '']);
    const { columns, rows } = table(stdout);
    expect(columns).toBe(ACCOUNT_COLUMNS);
    expect(rows.map(([id]) => id)).toEqual(listed.map(({ id }) => id));
    const row = [account.id, account.name, '100.000002', '0.00', '0.00', '0', '-', '-'];
    expect(rows).toContainEqual(row);
  });

  it('key list hides keys and hashes, and key revoke is immediate and idempotent', async () => {
    const second = await adminJson(['key', 'create', '--account', account.id], env);
    const user = client(gateway.address, second.api_key);
    expect((await user.rest('GET', '/balance')).status).toBe(200);
    const live = {
      id: second.id,
      account_id: account.id,
      last_four: second.api_key.slice(-4),
      created_at: expect.stringMatching(INSTANT),
      last_used_at: null,
      revoked_at: null,
    };
    const listed = await adminJson(['key', 'list', '--account', account.id], env);
    expect(listed).toHaveLength(3);
    expect(listed).toContainEqual(live);
    const shown = await admin(['key', 'list', '--account', account.id], env);
    expect(table(shown.stdout).columns).toBe(KEY_COLUMNS);
    expect(table(shown.stdout).rows.map(([, shape]) => shape)).toContain(`gpu_live_…${second.api_key.slice(-4)}`);
    expect(JSON.stringify(listed) + shown.stdout).not.toMatch(/[0-9a-f]{17}/);

    const revoked = await adminJson(['key', 'revoke', second.id], env);
    expect(revoked).toStrictEqual({ ...live, last_used_at: revoked.last_used_at, revoked_at: revoked.revoked_at });
    expect(revoked.revoked_at).toMatch(INSTANT);
    // The gateway is notified of the revocation.
    await expect.poll(async () => (await user.rest('GET', '/balance')).status).toBe(401);
    expect((await renter.rest('GET', '/balance')).status).toBe(200);
    expect((await adminJson(['key', 'revoke', second.id], env)).revoked_at).toBe(revoked.revoked_at);
  });

  it('instance list, stop and destroy act on renters’ instances', async () => {
    const id = await rent();
    const listed = await adminJson(['instance', 'list', '--account', account.id], env);
    expect(listed).toStrictEqual([
      {
        id,
        account_id: account.id,
        status: 'running',
        machine_id: expect.stringMatching(/./),
        gpu: expect.stringMatching(/./),
        num_gpus: expect.any(Number),
        mode: 'on_demand',
        price_hr: expect.any(Number),
        created_at: expect.stringMatching(INSTANT),
        stopped_at: null,
        destroyed_at: null,
      },
    ]);
    const all = table((await admin(['instance', 'list'], env)).stdout);
    expect(all.columns).toBe(INSTANCE_COLUMNS);
    expect(all.rows.map(([one, owner, status]) => [one, owner, status])).toEqual([[id, account.id, 'running']]);

    const stopped = await adminJson(['instance', 'stop', id], env);
    expect(stopped).toStrictEqual({ ...listed[0], status: 'stopped', stopped_at: expect.stringMatching(INSTANT) });
    expect((await renter.rest('GET', `/instances/${id}`)).body.status).toBe('stopped');
    const again = await admin(['instance', 'stop', id], env);
    expect(again).toMatchObject({ code: 2, stdout: '', stderr: 'stop is not allowed while the instance is stopped\n' });

    const destroyed = table((await admin(['instance', 'destroy', id], env)).stdout);
    expect([destroyed.columns, destroyed.rows[0]!.slice(0, 3)]).toEqual([
      INSTANCE_COLUMNS,
      [id, account.id, 'destroyed'],
    ]);
    expect((await renter.rest('GET', `/instances/${id}`)).body.status).toBe('destroyed');
    expect(await adminJson(['instance', 'list'], env)).toEqual([]);
  });

  it('account suspend blocks keys and stops instances, but resume only unblocks keys', async () => {
    const id = await rent();
    const suspended = await adminJson(['account', 'suspend', account.id], env);
    expect(suspended).toMatchObject({ id: account.id, live_instances: 1 });
    expect(suspended.suspended_at).toMatch(INSTANT);
    // The database notifies the gateway of the suspension.
    await expect.poll(async () => (await renter.rest('GET', '/balance')).status).toBe(401);
    expect((await renter.graphql('{ balance { balance } }')).status).toBe(401);
    expect(await adminJson(['instance', 'list'], env)).toMatchObject([{ id, status: 'stopped' }]);
    expect((await adminJson(['account', 'suspend', account.id], env)).suspended_at).toBe(suspended.suspended_at);

    const resumed = table((await admin(['account', 'resume', account.id], env)).stdout);
    expect([resumed.columns, resumed.rows[0]!.at(-1)]).toEqual([ACCOUNT_COLUMNS, '-']);
    await expect.poll(async () => (await renter.rest('GET', `/instances/${id}`)).body.status).toBe('stopped');
    expect((await adminJson(['instance', 'destroy', id], env)).status).toBe('destroyed');
  });

  it('statement adds up to the balance in table, JSON and CSV form', async () => {
    const from = ['statement', account.id, '--from', '2020-01-01'];
    const made = await adminJson(from, env);
    expect(made).toMatchObject({ object: 'statement', account_id: account.id, currency: 'USD', opening_balance: 0 });
    expect(made.movements.map(({ amount }: { amount: number }) => amount).sort()).toEqual([
      -2.5, 0.000001, 12.500001, 90,
    ]);
    expect(made.closing_balance).toBe(await balance());

    const [csv, shown, json] = await Promise.all(
      [['--format', 'csv'], [], ['--format', 'json']].map((format) => admin([...from, ...format], env)),
    );
    const lines = csv!.stdout.trim().split('\n');
    expect(lines[0]).toBe('kind,subject,at,seconds,rate_per_hour,amount,units,note');
    expect(lines.find((line) => line.includes('INV-1'))).toMatch(/^credit,credit-[0-9a-f]+,.*,0\.000001,,INV-1: Wire$/);
    const { columns, rows } = table(shown!.stdout);
    expect(columns).toBe('KIND SUBJECT AT SECONDS USD/H AMOUNT_USD NOTE');
    expect(rows).toHaveLength(lines.length - 1);
    const sum = rows.slice(0, -1).reduce((total, cells) => total + Math.round(Number(cells[5]) * 1e6), 0);
    expect(sum).toBe(Math.round(Number(rows.at(-1)![5]) * 1e6));
    expect({ ...JSON.parse(json!.stdout), to: '' }).toEqual({ ...made, to: '' });

    const early = await adminJson(
      ['statement', account.id, '--from', '2020-01-01', '--to', '2020-01-02T03:04:05Z'],
      env,
    );
    expect(early).toMatchObject({ to: '2020-01-02T03:04:05Z', closing_balance: 0, movements: [], lines: [] });
  });

  it('export prints all of one account’s data, but no key or its hash', async () => {
    const other = await adminJson(['account', 'create', '--name', 'Other', '--credit', '3'], env);
    await adminJson(['key', 'create', '--account', other.id], env);
    const { code, stdout, stderr } = await admin(['export', '--account', account.id], env);
    expect([code, stderr]).toEqual([0, '']);
    const { exported_at, ...exported } = JSON.parse(stdout);
    expect(exported_at).toMatch(INSTANT);
    expect(exported.account).toMatchObject([{ id: account.id, name: account.name }]);
    for (const [name, owner] of [
      ['api_key', 'account_id'],
      ['instance', 'account_id'],
      ['ledger_entry', 'account_id'],
    ] as const) {
      const stored = await query(databaseUrl, `select id from ${name} where ${owner} = '${account.id}' order by id`);
      expect(exported[name].map(({ id }: { id: string }) => id).sort()).toEqual(stored.map(({ id }) => id));
      expect(stored).not.toEqual([]);
    }
    const intervals = `select count(*)::int from usage_interval where instance_id in
      (select id from instance where account_id = '${account.id}')`;
    expect([{ count: exported.usage_interval.length }]).toEqual(await query(databaseUrl, intervals));
    // The account needs its chain to verify its own ledger.
    const { account_chain, chain_link, ...rest } = exported;
    const chain = `select '\\x' || encode(hash, 'hex') as head from chain_link where account_id = '${account.id}' order by number`;
    expect(chain_link.map(({ hash }: { hash: string }) => ({ head: hash }))).toEqual(await query(databaseUrl, chain));
    expect(account_chain).toMatchObject([{ account_id: account.id, length: exported.ledger_entry.length }]);
    for (const hidden of [other.id, key.api_key]) expect(stdout).not.toContain(hidden);
    for (const hidden of ['"hash"', '\\\\x']) expect(JSON.stringify(rest)).not.toContain(hidden);
    // If a later version adds a table with account data, that table must reference the account.
    const owning = await query(
      databaseUrl,
      `select distinct relname as name from pg_class join pg_attribute on attrelid = pg_class.oid
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
         and attname in ('account_id', 'instance_id', 'top_up_id')`,
    );
    expect(Object.keys(exported)).toEqual(expect.arrayContaining(owning.map(({ name }) => name)));
    const unknown = await admin(['export', '--account', 'acc-0000000000000000'], env);
    expect(unknown).toMatchObject({ code: 2, stdout: '', stderr: 'no such account: acc-0000000000000000\n' });
  });

  it('audit finds no mismatch after all these commands', async () => {
    const { code, stdout, stderr } = await admin(['audit'], env);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^\d+ accounts, 2 instances, \d+ ledger entries: no mismatch\n$/);
    const report = await adminJson(['audit'], env);
    expect(report).toStrictEqual({
      accounts: expect.any(Number),
      instances: 2,
      ledger_entries: expect.any(Number),
      unchained_accounts: 0,
      findings: [],
    });
  });

  it('audit exits with 1 on a mismatch that account rebuild fixes', async () => {
    await query(databaseUrl, 'update account set credit_units = credit_units + 3600 where id = $1', [account.id]);
    const shown = await admin(['audit'], env);
    expect([shown.code, shown.stderr]).toEqual([1, '']);
    expect(table(shown.stdout).columns).toBe('ACCOUNT SUBJECT CHECK FOUND');
    expect(shown.stdout).toMatch(new RegExp(`^${account.id} .*credit_units is \\d+, recomputed \\d+$`, 'm'));
    expect(shown.stdout).toMatch(/: 1 mismatch(es)?\n$/);
    const report = await admin(['audit', '--json'], env);
    expect(report.code).toBe(1);
    expect(JSON.parse(report.stdout).findings).toMatchObject([{ account_id: account.id, subject: '' }]);

    const wrong = await balance();
    const rebuilt = await adminJson(['account', 'rebuild', account.id], env);
    expect(rebuilt.balance).toBeCloseTo(wrong - 0.000001, 6);
    expect(await balance()).toBe(rebuilt.balance);
    expect((await admin(['audit'], env)).code).toBe(0);
  });

  it('leave the gateway running as before', async () => {
    expect((await fetch(`${gateway.address}/readyz`)).status).toBe(200);
    expect(gateway.log().filter(({ level }) => level > 30)).toEqual([]);
    expect((await gateway.end()).code).toBe(0);
  });
});

describe('bad input', () => {
  let databaseUrl: string;
  let accountId: string;
  let before: unknown;

  const everything = async () => [
    await query(databaseUrl, 'select id, name, credit_units, suspended_at from account order by id'),
    await query(databaseUrl, 'select id, revoked_at from api_key order by id'),
    await query(databaseUrl, 'select * from ledger_entry order by id'),
  ];

  beforeAll(async () => {
    databaseUrl = await createTestDatabase();
    [{ id: accountId }] = (await query(databaseUrl, 'select id from account limit 1')) as [{ id: string }];
    before = await everything();
  });

  const NOBODY = 'acc-0123456789abcdef';
  const CREATE = ['account', 'create', '--name', 'X', '--credit'];
  /** Placeholder for an existing account. */
  const ACCOUNT = '{account}';

  it.each<[string[], RegExp]>([
    [[], /--help/],
    [['account'], /--help/],
    [['acount', 'list'], /unknown command 'acount'.*account/],
    [['account', 'list', '--jsn'], /unknown option '--jsn'.*--json/],
    [['account', 'list', 'all'], /too many arguments/],
    [['account', 'create'], /--name/],
    [['account', 'create', '--name', ''], /^name must be a string of 1 to 200 characters$/],
    [['account', 'create', '--name', 'x'.repeat(201)], /^name must be/],
    [['account', 'create', '--name', 'two\nlines'], /^name must be/],
    [[...CREATE, '1e3'], /--credit.*1e3.*at most 6 decimals/],
    [[...CREATE, '-5'], /^amount must be between 0\.000001 and 1000000 USD$/],
    [[...CREATE, '0'], /^amount must be between 0\.000001/],
    [[...CREATE, '0.0000001'], /at most 6 decimals/],
    [[...CREATE, '1000000.000001'], /^amount must be between 0\.000001/],
    [[...CREATE, '99999999999999999999'], /--credit/],
    [[...CREATE, ''], /--credit/],
    [['account', 'credit', NOBODY, '--amount', '5'], new RegExp(`^no such account: ${NOBODY}$`)],
    [['account', 'credit', 'Zoë\nand more', '--amount', '5'], /^no such account: Zoë and more$/],
    [['account', 'credit', '--amount', '5'], /missing required argument 'id'/],
    [['account', 'credit', ACCOUNT, '--amount', '5', '--note', ''], /^note must be/],
    [['account', 'adjust', ACCOUNT, '--amount', '5'], /--note/],
    [['account', 'adjust', ACCOUNT, '--amount', '0', '--note', 'x'], /^amount must be .* not 0$/],
    [['account', 'adjust', ACCOUNT, '--amount', '-1000000.000001', '--note', 'x'], /^amount must be/],
    [['account', 'suspend', NOBODY], /^no such account/],
    [['account', 'resume', NOBODY], /^no such account/],
    [['account', 'rebuild', NOBODY], /^no such account/],
    [['key', 'create', '--account', NOBODY, '--json'], /^no such account/],
    [['key', 'list', '--account', NOBODY], /^no such account/],
    [['key', 'revoke', 'key-0123456789abcdef'], /^no such API key$/],
    [['key', 'revoke', "' or true --"], /^no such API key$/],
    [['instance', 'list', '--account', NOBODY], /^no such account/],
    [['instance', 'stop', 'i-01234567'], /^no such instance$/],
    [['instance', 'destroy', '*'], /^no such instance$/],
    [['statement', NOBODY, '--from', '2026-01-01'], /^no such account/],
    [['statement', ACCOUNT], /--from/],
    [['statement', ACCOUNT, '--from', '2026-02-30'], /--from.*2026-02-30/],
    [['statement', ACCOUNT, '--from', '2026-01-02', '--to', '2026-01-01'], /^to must not be before from$/],
    [['statement', ACCOUNT, '--from', '9998-01-01'], /^from must not be in the future$/],
    [['statement', ACCOUNT, '--from', '2026-01-01', '--format', 'xml'], /--format.*xml/],
  ])('%j is reported in one line with exit code 2', async (args, message) => {
    const typed = args.map((text) => text.replace(ACCOUNT, accountId));
    const { code, stdout, stderr } = await admin(typed, { DATABASE_URL: databaseUrl });
    expect(stderr).toMatch(/^[^\n]+\n$/);
    expect(stderr.trimEnd()).toMatch(message);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  it('changes nothing', async () => {
    expect(await everything()).toEqual(before);
  });
});
