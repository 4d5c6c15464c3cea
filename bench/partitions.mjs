// `npm run bench:partitions -- --table NAME --rows N` compares a large table with the same table partitioned, for
// docs/scale.md. NAME is ledger_entry, usage_interval, activity or samples. One variant after another is filled,
// measured and dropped, so that only one needs room on the disk. `--variants plain,"32 parts",plain` selects them. A
// variant that is named twice shows how much the figures vary. CPU figures are those of the server's processes for the
// statements, which other programs on the computer disturb less than durations.
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { applyMigrations } from '../dist/src/database/migrate.js';
import { rowsOf, withClient } from './support/database.mjs';
import { TABLES } from './support/partitioned-tables.mjs';
import { table as aligned } from './support/report.mjs';
import { median, percentile } from './support/rounds.mjs';
import { withServer } from './support/session.mjs';
import { PROJECT, settings } from './support/settings.mjs';

const { values: given } = parseArgs({
  options: {
    table: { type: 'string', default: 'ledger_entry' },
    rows: { type: 'string', default: '1000000' },
    variants: { type: 'string' },
  },
});
const ROWS = Number(given.rows);
const TABLE = TABLES[given.table];
const NAME = TABLE.as ?? TABLE.from;
const READS = 300;
const PLANS = 21;
const CLIENTS = 4;
const INSERTS_PER_CLIENT = 500;
const INSERT_ROUNDS = 3;
/** A table that is created and filled in one transaction writes no log with these settings. */
const SERVER = {
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '2GB',
  shared_buffers: '2GB',
  maintenance_work_mem: '1GB',
  max_parallel_maintenance_workers: '0',
  max_parallel_workers_per_gather: '0',
  autovacuum: 'off',
};

await withServer(main, settings.dataDir, SERVER);

async function main(server) {
  if (!(await server.exists('partitions'))) {
    await server.create('partitions');
    await applyMigrations(server.urlOf('partitions'), join(PROJECT, 'prisma/migrations'));
  }
  const variants = TABLE.variants.map(({ name }) => name);
  const chosen = given.variants?.split(',') ?? variants;
  const results = [];
  for (const [place, name] of chosen.entries()) {
    const variant = TABLE.variants.find((each) => each.name === name);
    if (variant === undefined) throw new Error(`--variants must name some of: ${variants.join(', ')}; got ${name}`);
    results.push(await measured(server, variant, `v${place}`));
    console.log(`${name}, load average ${loadavg()[0].toFixed(1)}`);
    for (const [what, figure] of results.at(-1)) console.log(`  ${what}: ${shown(figure)}`);
  }
  const ratio = (figures, what) => shown(figures.get(what) / results[0].get(what));
  const rows = [...results[0].keys()].map((what) => [
    what,
    shown(results[0].get(what)),
    ...results.slice(1).flatMap((figures) => [shown(figures.get(what)), ratio(figures, what)]),
  ]);
  const heading = ['figure', chosen[0], ...chosen.slice(1).flatMap((name) => [name, 'ratio'])];
  console.log(`\n${NAME}, ${ROWS.toLocaleString('en-US')} rows; PostgreSQL with 2 GB of shared buffers\n`);
  console.log(aligned([heading, ...rows], [...heading.keys()].slice(1)));
}

function shown(figure) {
  if (figure === undefined || Number.isNaN(figure)) return '-';
  return figure >= 100 ? figure.toFixed(0) : figure.toPrecision(3);
}

/** Fills the variant in its own schema, which is dropped afterwards. Returns the figures by name. */
async function measured(server, variant, schema) {
  const url = `${server.urlOf('partitions')}&options=${encodeURIComponent(`-c search_path=${schema},public -c TimeZone=UTC`)}`;
  const figures = new Map();
  const timed = async (client, name, work) => {
    const [startedAt, cpu] = [performance.now(), cpuMsOf(client)];
    await work();
    figures.set(`${name}, s`, (performance.now() - startedAt) / 1_000);
    figures.set(`${name}, CPU s`, (cpuMsOf(client) - cpu) / 1_000);
  };
  await rowsOf(url, `create schema ${schema}`);
  try {
    await withClient(url, (client) => fill(client, variant, timed));
    await withClient(url, async (client) => {
      await timed(client, 'first VACUUM', () => client.query(`vacuum ${NAME}`));
      await client.query(`analyze ${NAME}`);
      await client.query('checkpoint');
      await measureSizes(client, schema, figures);
      await measureReads(client, figures);
    });
    await measureInserts(url, figures);
    await withClient(url, async (client) => {
      for (const removal of TABLE.removals?.(variant) ?? []) await remove(client, removal, figures);
      if (TABLE.spoil !== undefined) await client.query(TABLE.spoil(ROWS));
      await client.query('checkpoint');
      await timed(client, 'VACUUM afterwards', () => client.query(`vacuum ${NAME}`));
    });
  } finally {
    await rowsOf(server.urlOf('partitions'), `drop schema ${schema} cascade`);
    await rowsOf(server.urlOf('partitions'), 'checkpoint');
  }
  return figures;
}

async function fill(client, { by, keys = {}, parts = [] }, timed) {
  const { rows: indexes } = await client.query(
    `select relname as name, pg_get_indexdef(indexrelid) as definition from pg_index join pg_class on oid = indexrelid
     where indrelid = 'public.${TABLE.from}'::regclass order by 1`,
  );
  await client.query('begin');
  const partitioned = by === undefined ? '' : ` partition by ${by}`;
  await client.query(
    `create table ${NAME} (like public.${TABLE.from} including all excluding indexes excluding identity)${partitioned}`,
  );
  for (const [n, values] of parts) await client.query(`create table ${NAME}_part_${n} partition of ${NAME} ${values}`);
  await timed(client, 'fill', () => client.query(TABLE.fill(ROWS)));
  await timed(client, 'build the indexes', async () => {
    for (const { name, definition } of indexes)
      await client.query(keys[name] ? indexOf(keys[name]) : moved(definition));
    for (const name of Object.keys(keys)) {
      if (!indexes.some((index) => index.name === name)) await client.query(indexOf(keys[name]));
    }
  });
  await client.query('commit');
}

/** Returns the statement for an index with other columns than the product's, such as `unique (account_id, id)`. */
function indexOf(key) {
  const columns = key.replace('unique ', '');
  return `create ${columns === key ? '' : 'unique '}index on ${NAME} ${columns}`;
}

/** Returns the statement for the product's index, without its name and on this variant's table. */
function moved(definition) {
  return definition.replace(/INDEX \S+ ON (ONLY )?\S+/, `INDEX ON ${NAME}`);
}

async function measureSizes(client, schema, figures) {
  const { rows } = await client.query(
    `select sum(pg_table_size(oid))::float8 / 1e9 as heap, sum(pg_indexes_size(oid))::float8 / 1e9 as indexes
     from pg_class where relnamespace = $1::regnamespace and relkind = 'r'`,
    [schema],
  );
  figures.set('rows, GB', rows[0].heap).set('indexes, GB', rows[0].indexes);
}

/** Reads other accounts or instances each time. The first round finds few of their pages in memory. */
async function measureReads(client, figures) {
  for (const { name, text, values, times = READS, wrap = false } of TABLE.reads(ROWS)) {
    const statement = { name, text: wrap ? `select count(*) from (${text}) all_of_them` : text };
    for (const round of times === READS ? ['first', 'again'] : ['once']) {
      const took = [];
      const cpu = cpuMsOf(client);
      for (let k = 0; k < times; k += 1) {
        const startedAt = performance.now();
        await client.query({ ...statement, values: values(k, times) });
        took.push(performance.now() - startedAt);
      }
      const sorted = Float64Array.from(took).sort();
      figures.set(`${name}, ${round}, p50 ms`, percentile(sorted, 0.5));
      figures.set(`${name}, ${round}, CPU ms`, (cpuMsOf(client) - cpu) / times);
    }
    const plans = [];
    for (let k = 0; k < PLANS; k += 1) {
      const { rows } = await client.query(`explain (summary, format json) ${text}`, values(k, PLANS));
      plans.push(rows[0]['QUERY PLAN'][0]['Planning Time']);
    }
    figures.set(`${name}, planning ms`, median(plans));
  }
}

/** Each insert is one durable commit. */
async function measureInserts(url, figures) {
  const rounds = [];
  for (let round = 0; round < INSERT_ROUNDS; round += 1) {
    const startedAt = performance.now();
    const cpu = await Promise.all(
      Array.from({ length: CLIENTS }, (_, n) =>
        withClient(url, async (client) => {
          for (let k = 0; k < INSERTS_PER_CLIENT; k += 1) {
            const values = TABLE.insert.values((round * CLIENTS + n) * INSERTS_PER_CLIENT + k, ROWS);
            await client.query({ name: 'insert', text: TABLE.insert.text, values });
          }
          return cpuMsOf(client);
        }),
      ),
    );
    const inserts = CLIENTS * INSERTS_PER_CLIENT;
    rounds.push({
      ms: (performance.now() - startedAt) / inserts,
      cpu: cpu.reduce((sum, each) => sum + each, 0) / inserts,
    });
  }
  figures.set(`insert, ms with ${CLIENTS} clients`, median(rounds.map(({ ms }) => ms)));
  figures.set('insert, CPU ms', median(rounds.map(({ cpu }) => cpu)));
}

/** Returns how long the client's server process has used a core. */
function cpuMsOf({ processID }) {
  return Number(readFileSync(`/proc/${processID}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

async function remove(client, { name, batch, atMost = Number.POSITIVE_INFINITY, drops = [] }, figures) {
  const [startedAt, cpu] = [performance.now(), cpuMsOf(client)];
  for (const drop of drops) await client.query(drop);
  let [batches, removed] = [0, 0];
  while (batch !== undefined && batches < atMost) {
    const { rowCount } = await client.query(batch);
    batches += 1;
    removed += rowCount;
    if (rowCount === 0) break;
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  figures.set(`${name}, s`, seconds).set(`${name}, CPU s`, (cpuMsOf(client) - cpu) / 1_000);
  if (removed > 0) figures.set(`${name}, ms per 1,000 rows`, (seconds * 1e6) / removed);
}
