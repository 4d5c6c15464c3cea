import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createDeps } from '../../../src/compose/deps.js';
import { openDatabase } from '../../../src/database/database.js';
import { systemClock } from '../../../src/std/system-clock.js';
import { testSettings } from '../../support/clock.js';
import { createTestDatabase } from '../../support/database.js';
import { client, createRenter, type Renter } from '../../support/gateway.js';
import { listings, MARKET_HEADER, market } from '../../support/market.js';
import { admin, adminJson } from '../../support/operator.js';
import {
  admin as adminProcess,
  cleanUp,
  connect,
  type Env,
  folder,
  type GatewayProcess,
  query,
  startProcess,
} from '../../support/process.js';
import { needs } from '../../support/tools.js';

let env: Env;
let gateway: GatewayProcess;
let files: string;

beforeAll(async () => {
  files = folder();
  env = { DATABASE_URL: await createTestDatabase(), RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'error' };
  gateway = await startProcess(env);
});
afterAll(async () => {
  await gateway.end();
  await cleanUp();
});

function file(name: string, text: string): string {
  const path = join(files, name);
  writeFileSync(path, text);
  return path;
}

async function renter(credit = '1000'): Promise<Renter> {
  const db = openDatabase(env.DATABASE_URL!);
  const made = await createRenter(createDeps(db, systemClock, testSettings()), gateway.address, credit);
  await db.close();
  return made;
}

/** Must be polled, because the gateway learns of an import through a notice. */
async function priceOf(slug: string) {
  const { body } = await client(gateway.address).rest('GET', '/gpus/pricing');
  return { snapshot: body.market_snapshot, ...body.data.find((entry: { slug: string }) => entry.slug === slug) };
}

describe('market import', () => {
  const importing = (name: string, rows: string[], ...options: string[]) =>
    admin(['market', 'import', file(name, MARKET_HEADER + rows.join('\n')), '--date', '2026-09-30', ...options], env);

  test('counts a repeated listing once and reports the repeats', async () => {
    const rows = [...Array.from({ length: 5 }, () => 'same,l4,1,9,us'), 'other,l4,1,9,us', ',l4,1,9,us'];
    const path = file('repeats.csv', MARKET_HEADER + rows.join('\n'));
    const args = ['market', 'import', path, '--date', '2026-09-30', '--dry-run'];
    const plan = await adminJson(args, env);
    expect(plan).toMatchObject({ listings: 2, repeated_count: 4, rejected_count: 1 });
    expect(plan.repeated).toEqual([3, 4, 5, 6].map((line) => ({ line, listing_id: 'same' })));
    expect(plan.rejected).toEqual([{ line: 8, reason: 'listing_id is empty' }]);
    expect(plan.changes.find(({ gpu }: { gpu: string }) => gpu === 'l4').new_median).toBeNull();
    expect((await admin(args, env)).stdout).toContain(
      '4 rows repeat a listing; each listing counts once:\n  line 3: same\n',
    );
  });

  test('reports the first 20 of many rejected rows and their total number', async () => {
    const bad = Array.from({ length: 500 }, (_, index) => `b-${index},l4,0,9,us`);
    const { code, stdout } = await importing('bad-rows.csv', ['good,l4,1,1,us', ...bad], '--dry-run');
    expect(code).toBe(0);
    expect(stdout).toContain('500 rows rejected:\n  line 3: num_gpus');
    expect(stdout).toContain('  line 22: num_gpus must be a whole number from 1 to 1024\n  and 480 more\n');
    expect(stdout).not.toContain('line 23:');
    const { rejected, rejected_count } = JSON.parse(
      (await importing('bad-rows.csv', ['good,l4,1,1,us', ...bad], '--dry-run', '--json')).stdout,
    );
    expect([rejected.length, rejected_count]).toEqual([20, 500]);
  });

  test('names the first 20 of many unknown models and counts all their rows', async () => {
    const rows = Array.from({ length: 3_000 }, (_, index) => `u-${index},unknown-${index % 1_500},1,9,us`);
    const args = ['market', 'import', file('unknown.csv', MARKET_HEADER + ['good,l4,1,1,us', ...rows].join('\n'))];
    const options = ['--date', '2026-09-30', '--dry-run'];
    const plan = await adminJson([...args, ...options], env);
    expect([Object.keys(plan.unknown_slugs).length, plan.unknown_count]).toEqual([20, 3_000]);
    expect(plan.unknown_slugs['unknown-0']).toBe(2);
    const { stdout } = await admin([...args, ...options], env);
    expect(stdout).toContain('unknown-19 (2)\n  and 2960 more rows of other unknown models\n');
    expect(stdout).not.toContain('unknown-20');
  });

  test.each([['\n'], ['\r\n']])(
    'reports line numbers as editors count them, even after quoted line breaks (%j)',
    async (end) => {
      const text = ['x-1,l4,1,1,"a', 'b"', '"x-2', '', '",l4,1,1,us', 'x-3,l4,0,1,us', '', 'x-4,l4,0,1,us'].join(end);
      const path = file('breaks.csv', MARKET_HEADER.replace('\n', end) + text);
      const plan = await adminJson(['market', 'import', path, '--date', '2026-09-30', '--dry-run'], env);
      expect(plan.rejected.map(({ line }: { line: number }) => line)).toEqual([7, 9]);
    },
  );

  test('rejects a date after tomorrow without blocking later sheets', async () => {
    const path = file('early.csv', market());
    const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const refused = await admin(['market', 'import', path, '--date', day(3)], env);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringMatching(/^date must be \d{4}-\d\d-\d\d or earlier/),
    ]);
    expect((await admin(['market', 'import', path, '--date', day(1), '--dry-run'], env)).code).toBe(0);
  });

  test('requires confirmation for a file that drops most medians', async () => {
    const few = market()
      .split('\n')
      .slice(0, 12)
      .map((row) => row.replace(MARKET_HEADER.trim(), ''))
      .filter((row) => row !== '');
    const refused = await importing('few.csv', few);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringMatching(/more than 50% of the models would lose their median: \d+ of 71/),
    ]);
    expect((await importing('few.csv', few, '--dry-run')).code).toBe(0);
  });

  test('reports changes and rejected rows in a dry run without changing anything', async () => {
    const text = `${market({ 'rtx-4090': Array.from({ length: 5 }, () => 'rtx-4090,1,0.80') })}
bad-1,rtx-9090,1,3,us
bad-2,rtx-4090,0,3,us
bad-3,rtx-4090,1,free,us`;
    const path = file('dry.csv', text);
    const plan = await adminJson(['market', 'import', path, '--date', '2026-10-01', '--dry-run'], env);
    expect(plan.changes).toEqual([
      {
        gpu: 'rtx-4090',
        listings: 5,
        old_median: 0.64,
        new_median: 0.8,
        old_on_demand: 0.44,
        new_on_demand: 0.56,
        change_percent: 27,
      },
    ]);
    expect(plan.unknown_slugs).toEqual({ 'rtx-9090': 1 });
    const lines = text.split('\n').length;
    expect(plan.rejected.map(({ line }: { line: number }) => line)).toEqual([lines - 1, lines]);
    await expect.poll(() => priceOf('rtx-4090')).toMatchObject({ snapshot: '2026-09-26', market_median: 0.64 });
  });

  test('publishes a sheet as a whole without changing running instances’ rates', async () => {
    const ann = await renter();
    const { body: offers } = await ann.rest('GET', '/offers?gpu=rtx-4090&limit=1');
    const { body: instance } = await ann.rest('POST', '/instances', { machine_id: offers.data[0].machine_id });
    const path = file('new.csv', market({ 'rtx-4090': Array.from({ length: 7 }, () => 'rtx-4090,1,0.80') }));
    const done = await admin(['market', 'import', path, '--date', '2026-10-02'], env);
    expect(done.stdout).toContain('published the price sheet for 2026-10-02');
    await expect.poll(() => priceOf('rtx-4090')).toMatchObject({ snapshot: '2026-10-02', market_median: 0.8 });
    const price = await priceOf('rtx-4090');
    expect(price.price_per_gpu_hour).toEqual({ on_demand: 0.56, interruptible: 0.28, reserved: 0.364 });
    // A model with a null median keeps its last published price.
    await expect
      .poll(() => priceOf('gb200'))
      .toMatchObject({ market_median: null, price_per_gpu_hour: { on_demand: 5.95 } });
    expect((await ann.rest('GET', `/instances/${instance.id}`)).body.price_hr).toBe(instance.price_hr);
    const { body } = await ann.graphql(
      '{ gpuModel(slug: "rtx-4090") { priceHistory { snapshot onDemand marketMedian listings } } pricing { trends { gpu onDemand } data { slug listings snapshot priceRule } } }',
    );
    expect(body.data.gpuModel.priceHistory).toEqual([
      { snapshot: '2026-09-26', onDemand: 0.44, marketMedian: 0.64, listings: 573 },
      { snapshot: '2026-10-02', onDemand: 0.56, marketMedian: 0.8, listings: 7 },
    ]);
    const trend = body.data.pricing.trends.find(({ gpu }: { gpu: string }) => gpu === 'rtx-4090');
    expect(trend.onDemand).toEqual([0.44, 0.56]);
    expect(body.data.pricing.data.find(({ slug }: { slug: string }) => slug === 'rtx-4090')).toMatchObject({
      listings: 7,
      snapshot: '2026-10-02',
    });
  });

  test.each([
    ['is not newer', ['--date', '2026-09-26'], market({}), /must be after/],
    ['has a wrong date', ['--date', '2027-02-30x'], market({}), /day such as/],
    ['lacks a column', ['--date', '2026-10-10'], 'gpu_slug,num_gpus\nrtx-4090,1', /is missing the columns/],
    ['isn’t CSV', ['--date', '2026-10-10'], `${MARKET_HEADER}a,"b`, /can't be read/],
    [
      'has no listings for known models',
      ['--date', '2026-10-10'],
      `${MARKET_HEADER}a,rtx-9090,1,2,us`,
      /no listings for known models/,
    ],
    [
      'cuts a price too far',
      ['--date', '2026-10-10'],
      market(listings('l4', '0.05')),
      /prices would move by more than 50%: l4 -[5-9]\d%/,
    ],
    [
      'raises a price too far',
      ['--date', '2026-10-10'],
      market(listings('l4', '9')),
      /prices would move by more than 50%: l4 8\d\d%/,
    ],
  ])('rejects a file that %s and changes nothing', async (_name, options, text, message) => {
    const before = await query(env.DATABASE_URL!, 'select * from gpu_price order by 1, 2');
    const refused = await admin(['market', 'import', file('wrong.csv', text), ...options], env);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(message);
    expect(await query(env.DATABASE_URL!, 'select * from gpu_price order by 1, 2')).toEqual(before);
  });

  test('reads the maximum price change from a setting', async () => {
    const path = file('moves.csv', market(listings('a10', '0.25')));
    const [narrow, wide] = ['10', '10000'].map((MARKET_MAX_JUMP_PERCENT) => ({ ...env, MARKET_MAX_JUMP_PERCENT }));
    const refused = await admin(['market', 'import', path, '--date', '2026-10-15'], narrow!);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('by more than 10%: a10 ')]);
    const done = await admin(['market', 'import', path, '--date', '2026-10-15'], wide!);
    expect([done.code, done.stderr]).toEqual([0, '']);
  });

  test('reports progress only on a terminal', needs('script'), async () => {
    const rows = Array.from({ length: 2_500 }, (_, index) => `y-${index},l4,1,9,us`).join('\n');
    const path = file('many.csv', MARKET_HEADER + rows);
    const args = ['market', 'import', path, '--date', '2026-10-20', '--dry-run'];
    const piped = await admin(args, env);
    expect([piped.code, piped.stderr]).toEqual([0, '']);
    const shown = await adminProcess(args, env, {
      prefix: ['sh', '-c', 'exec script -qefc "exec $*" /dev/null', 'sh'],
    });
    expect(shown.stdout).toContain('\r1000 listings read\r2000 listings read\r\u001b[K');
    expect(shown.code).toBe(0);
  });

  test('publishes a confirmed jump, but only one of two concurrent imports', async () => {
    const path = file('jump.csv', market(listings('l4', '9')));
    const args = ['market', 'import', path, '--date', '2026-10-25', '--accept-jumps'];
    const codes = (await Promise.all([adminProcess(args, env), admin(args, env)])).map(({ code }) => code);
    expect(codes.sort()).toEqual([0, 2]);
    await expect.poll(() => priceOf('l4')).toMatchObject({ price_per_gpu_hour: { on_demand: 6.3 } });
  });
});

describe('models and regions', () => {
  test('are created and updated atomically, including a new model’s reference price', async () => {
    const header = 'slug,name,vram_gb,tier,nvlink,pcie_gen,reference_price_usd_hour\n';
    const wrong = file('wrong-models.csv', `${header}new-1,New 1,24,consumer,false,5,1.00\nNew 2,x,0,huge,maybe,5,-1`);
    const refused = await admin(['model', 'import', wrong], env);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/^nothing was changed:\nline 3: slug must/);
    const good = file(
      'models.csv',
      `${header}new-1,New 1,24,consumer,false,5,1.00\np4,Tesla P4 renamed,8,datacenter,false,3,0.04`,
    );
    expect(await adminJson(['model', 'import', good], env)).toEqual({ created: 1, updated: 1, dry_run: false });
    await expect
      .poll(() => priceOf('new-1'))
      .toMatchObject({
        market_median: null,
        available_gpus: 0,
        price_per_gpu_hour: { on_demand: 0.7 },
      });
    await expect.poll(() => priceOf('p4')).toMatchObject({ name: 'Tesla P4 renamed' });
    const regions = file('regions.csv', 'code,name,country,latitude,longitude\neu-at-vie,Vienna,AT,48.2082,16.3738');
    expect(await adminJson(['region', 'import', regions], env)).toEqual({ created: 1, updated: 0, dry_run: false });
  });
});

describe('a JSON file', () => {
  const noun = ['machine', 'model', 'region', 'template', 'market'];

  test.each(noun)('is rejected by `%s import`, which names the entry that isn’t an object', async (name) => {
    const path = file(`${name}.json`, '[{}, null]');
    const refused = await admin([name, 'import', path, ...(name === 'market' ? ['--date', '2026-11-20'] : [])], env);
    const stderr = `${path} must contain an array of objects; entry 2 is null\n`;
    expect(refused).toEqual({ code: 2, stdout: '', stderr });
  });

  test('is rejected with the field’s name if a field is null', async () => {
    const machines = file('null-fields.json', '[{"id":null,"gpu":"p40"}]');
    expect((await admin(['machine', 'import', machines], env)).stderr).toContain('\nline 1: id is missing\n');
    const good = { listing_id: 'a', gpu_slug: 'l4', num_gpus: 1, price_usd_hour: 0.5 };
    const market = file('null-market.json', JSON.stringify([good, { ...good, listing_id: 'b', gpu_slug: null }]));
    const plan = await adminJson(['market', 'import', market, '--date', '2026-11-20', '--dry-run'], env);
    expect(plan).toMatchObject({ listings: 1, rejected: [{ line: 2, reason: 'gpu_slug is empty' }] });
  });
});

test('an import reports one line and changes nothing if the database aborts it', async () => {
  const holder = await connect(env.DATABASE_URL!);
  onTestFinished(() => holder.end());
  await holder.query('begin; lock table region in exclusive mode');
  const regions = file('cut.csv', 'code,name,country,latitude,longitude\neu-at-cut,Cut,AT,48.2082,16.3738');
  const importing = admin(['region', 'import', regions], env);
  const waiting = `from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await expect.poll(() => query(env.DATABASE_URL!, `select pg_terminate_backend(pid) ${waiting}`)).toHaveLength(1);
  expect(await importing).toEqual({
    code: 1,
    stdout: '',
    stderr: 'temporarily unavailable; try again: terminating connection due to administrator command\n',
  });
  expect(await query(env.DATABASE_URL!, `select from region where code = 'eu-at-cut'`)).toEqual([]);
});

describe('machines', () => {
  const header =
    'id,gpu,num_gpus,region,cpu,vcpus,ram_gb,disk_gb,net_down_mbps,net_up_mbps,ports,pcie,nvlink,cuda_max,reliability\n';
  const row = (id: string, changes: Record<string, string> = {}) => {
    const fields = {
      id,
      gpu: 'p40',
      num_gpus: '2',
      region: 'us-nj',
      cpu: 'AMD EPYC 7302',
      vcpus: '32',
      ram_gb: '128',
      disk_gb: '900',
    };
    const rest = {
      net_down_mbps: '900',
      net_up_mbps: '800',
      ports: '100',
      pcie: '3',
      nvlink: 'false',
      cuda_max: '12.4',
      reliability: '0.99',
    };
    return Object.values({ ...fields, ...rest, ...changes }).join(',');
  };

  test('are left unchanged by a file with faults, all of which are reported by line', async () => {
    const text = [
      row('rig-1'),
      row('rig-2', { num_gpus: '9' }),
      row('rig-3', { gpu: 'nope' }),
      row('rig-1'),
      row('rig 4'),
      // All faults of a line are reported together.
      row('rig-2', { num_gpus: '0', gpu: 'nope', region: 'nowhere' }),
    ].join('\n');
    const refused = await admin(['machine', 'import', file('bad.csv', header + text)], env);
    expect(refused.code).toBe(2);
    expect(refused.stderr.trim().split('\n')).toEqual([
      'nothing was changed:',
      'line 3: num_gpus must be a whole number from 1 to 8',
      'line 4: gpu nope is not a known model',
      'line 5: id rig-1 is in the file twice',
      'line 6: id must be 1 to 64 letters, digits, dots, hyphens or underscores',
      'line 7: num_gpus must be a whole number from 1 to 8',
      'line 7: gpu nope is not a known model',
      'line 7: id rig-2 is in the file twice',
      'line 7: region nowhere is not a known region',
    ]);
    expect(await query(env.DATABASE_URL!, `select 1 from machine where id like 'rig%'`)).toEqual([]);
  });

  test.each([
    ['nothing', 'empty.csv', ''],
    ['only a header', 'header.csv', header],
    ['an empty list', 'empty.json', '[]'],
  ])('aren’t imported from a file with %s', async (_name, name, text) => {
    const refused = await admin(['machine', 'import', file(name, text)], env);
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: 'the file contains no machines\n' });
  });

  test('are rejected with the first 20 faults of each kind and the number of others', async () => {
    const odd = (index: number): Record<string, string> =>
      index < 60 ? { num_gpus: '9' } : { gpu: `model-${index}`.padEnd(300, 'x') };
    const rows = Array.from({ length: 110 }, (_, index) => row(`rig-${index}`, odd(index)));
    const refused = await admin(['machine', 'import', file('faults.csv', header + rows.join('\n'))], env);
    const lines = refused.stderr.trim().split('\n');
    expect(lines.length).toBe(1 + 20 + 20 + 2);
    expect(lines.slice(-2)).toEqual([
      'and 40 more: num_gpus must be a whole number from 1 to 8',
      'and 30 more: gpu is not a known model',
    ]);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(150);
  });

  test('are created and updated by id from CSV and JSON, but not in a dry run', async () => {
    const path = file('rigs.csv', header + [row('rig-1'), row('rig-2', { gpu: 'p40', disk_gb: '120' })].join('\n'));
    expect(await adminJson(['machine', 'import', path, '--dry-run'], env)).toEqual({
      created: 2,
      updated: 0,
      dry_run: true,
    });
    expect(await query(env.DATABASE_URL!, `select 1 from machine where id like 'rig%'`)).toEqual([]);
    expect(await adminJson(['machine', 'import', path], env)).toEqual({ created: 2, updated: 0, dry_run: false });
    const ann = await renter();
    const rented = await ann.rest('POST', '/instances', { machine_id: 'rig-2', disk_gb: 100 });
    expect(rented.status).toBe(201);
    const shown = await adminJson(['machine', 'show', 'rig-2'], env);
    const { used_disk_gb: _, runs: __, state: ___, demo: ____, ...fields } = shown[0];
    const json = file('rigs.json', JSON.stringify([{ ...fields, disk_gb: 90 }]));
    const refused = await admin(['machine', 'import', json], env);
    expect(refused.stderr).toContain("line 1: disk_gb 90 is less than the 100 GB of its instances' disks");
    const bigger = file('bigger.json', JSON.stringify([{ ...fields, disk_gb: 500 }]));
    expect(await adminJson(['machine', 'import', bigger], env)).toMatchObject({ updated: 1 });
  });

  test('refuse rentals if drained, offline or retired, but keep running instances', async () => {
    const ann = await renter();
    const { body: instance } = await ann.rest('POST', '/instances', { machine_id: 'rig-1', disk_gb: 10 });
    const act = (action: string) => ann.rest('POST', `/instances/${instance.id}/actions`, { action });
    await admin(['machine', 'drain', 'rig-1'], env);
    expect((await ann.rest('GET', `/instances/${instance.id}`)).body.status).toBe('running');
    expect((await admin(['machine', 'retire', 'rig-1'], env)).stderr).toContain('still has an active instance');
    await act('stop');
    for (const change of ['drain', 'offline']) {
      await admin(['machine', change, 'rig-1'], env);
      expect(await act('start')).toMatchObject({ status: 409 });
      const { body } = await ann.rest('GET', '/offers?gpu=p40&limit=100');
      expect(body.data.map(({ machine_id }: { machine_id: string }) => machine_id)).not.toContain('rig-1');
      expect((await ann.rest('POST', '/instances', { machine_id: 'rig-1', disk_gb: 1 })).status).toBe(409);
    }
    await admin(['machine', 'online', 'rig-1'], env);
    expect(await act('start')).toMatchObject({ status: 200 });
    await act('destroy');
    expect(await adminJson(['machine', 'retire', 'rig-1'], env)).toMatchObject([{ state: 'retired' }]);
    expect((await admin(['machine', 'online', 'rig-1'], env)).stderr).toContain('is retired');
    expect((await admin(['audit'], env)).code).toBe(0);
  });
});
