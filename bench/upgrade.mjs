// `npm run bench:upgrade -- --from CHECKOUT` measures an upgrade. A gateway of an older release, built in CHECKOUT,
// serves renters with 1,000,000 past instances in the database while this version starts on that database and migrates
// it. It prints how long each migration took, and the slowest responses before, during and after the upgrade. The exit
// code is 1 if a request failed or the audit finds a mismatch.
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { authorization } from './cases/accounts.mjs';
import { rowsOf } from './support/database.mjs';
import { ACCOUNTS } from './support/default-data.mjs';
import { requestBytes, runLoad } from './support/load.mjs';
import { runAdmin, startGateway } from './support/programs.mjs';
import { rentalClient } from './support/rental-client.mjs';
import { save, table } from './support/report.mjs';
import { percentile } from './support/rounds.mjs';
import { withServer } from './support/session.mjs';
import { settings } from './support/settings.mjs';

const READERS = 8;
/** Duration of the load before the new version starts, and after its first response. */
const AROUND_MS = 10_000;
/** Accepts any of these statuses, because failures are counted. */
const STATUSES = [200, 201, 409, 429, 500, 503];
const FAILED = new Set([429, 500, 503]);
const PHASES = ['before', 'during', 'after'];

const { values: given } = parseArgs({ options: { from: { type: 'string' } } });
if (given.from === undefined) throw new Error('npm run bench:upgrade -- --from CHECKOUT');

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function main(server) {
  const older = (file) => import(join(resolve(given.from), 'bench/support', file));
  const olderPrograms = await older('programs.mjs');
  const { rentalsOf, createDefaultData } = await older('default-data.mjs');
  const { createLargeData } = await older('large-data.mjs');
  if (!(await server.exists('older'))) {
    await createDefaultData(server, 'older_default');
    await createLargeData(server, 'older_default', 'older');
    await olderPrograms.endAll();
  }
  if (await server.exists('upgraded')) await rowsOf(server.urlOf('postgres'), 'drop database upgraded');
  await server.copy('older', 'upgraded');
  const url = server.urlOf('upgraded');
  const sizes = await rowsOf(url, SIZES);
  console.log(table([['table', 'rows', 'MB'], ...sizes.map(({ name, rows, mb }) => [name, rows, mb])], [1, 2]));

  const known = new Set((await rowsOf(url, TIMES)).map(({ name }) => name));
  const olderGateway = await olderPrograms.startGateway(url);
  const rentals = await rentalsOf(url);
  const phase = { now: 'before', isOver: false };
  const answers = [];
  const record = (kind, begunIn, latencyMs, status) =>
    answers.push({ kind, begunIn, endedIn: phase.now, latencyMs, status });
  const load = runLoad({
    port: olderGateway.port,
    connections: rentals.length + READERS,
    seconds: 3_600,
    status: STATUSES,
    clientOf: (index) =>
      stopping(phase, index < rentals.length ? renting(rentals[index], record, phase) : reading(index, record, phase)),
  });
  await pause(AROUND_MS);
  phase.now = 'during';
  const startedAt = performance.now();
  const gateway = await startGateway(url);
  const startMs = performance.now() - startedAt;
  phase.now = 'after';
  await pause(AROUND_MS);
  phase.isOver = true;
  await load;
  await olderGateway.end();

  const migrations = (await rowsOf(url, TIMES)).filter(({ name }) => !known.has(name));
  console.log(`the new version responds after ${startMs.toFixed(0)} ms`);
  console.log(table([['migration', 'ms'], ...migrations.map(({ name, ms }) => [name, ms])], [1]));
  const summary = PHASES.flatMap((name) => ['rental', 'balance'].map((kind) => summaryOf(answers, name, kind)));
  console.log(table([['phase', 'responses', 'failed', 'p50 ms', 'p99 ms', 'slowest ms'], ...summary], [1, 2, 3, 4, 5]));
  await gateway.end();
  const { code, said } = await runAdmin(['audit'], { DATABASE_URL: url });
  console.log(said.trim());
  if (code !== 0 || answers.some(({ status }) => FAILED.has(status))) process.exitCode = 1;
  console.log(save('upgrade', rentals.length + READERS, { from: given.from, startMs, sizes, migrations, summary }));
}

/** A phase's responses include all that started or ended in it. */
function summaryOf(answers, name, kind) {
  const of = answers.filter((each) => each.kind === kind && (each.begunIn === name || each.endedIn === name));
  const sorted = Float64Array.from(of, ({ latencyMs }) => latencyMs).sort();
  const failed = of.filter(({ status }) => FAILED.has(status)).length;
  const figures = [percentile(sorted, 0.5), percentile(sorted, 0.99), sorted.at(-1)].map((value) => value.toFixed(1));
  return [`${kind} ${name}`, String(of.length), String(failed), ...figures];
}

/** Ends the clients automatically after the last phase. */
function stopping(phase, client) {
  return { wantsBody: client.wantsBody, next: (isOver, answer) => client.next(isOver || phase.isOver, answer) };
}

function renting(rental, record, phase) {
  const client = rentalClient(rental);
  let begunIn = phase.now;
  const next = (isOver, answer) => {
    if (answer !== undefined) record('rental', begunIn, answer.latencyMs, answer.status);
    begunIn = phase.now;
    return client.next(isOver, answer);
  };
  return { wantsBody: true, next };
}

function reading(index, record, phase) {
  let [number, begunIn] = [index, phase.now];
  const next = (isOver, answer) => {
    if (answer !== undefined) record('balance', begunIn, answer.latencyMs, answer.status);
    if (isOver) return null;
    begunIn = phase.now;
    number = (number % ACCOUNTS) + 1;
    return requestBytes({ path: '/v1/balance', headers: authorization(number) });
  };
  return { wantsBody: false, next };
}

const SIZES = `
  select relname as name, reltuples::bigint::text as rows, (pg_total_relation_size(oid) / 1e6)::int::text as mb
  from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and reltuples > 50000 order by reltuples desc`;
const TIMES = `
  select migration_name as name, round(extract(epoch from finished_at - started_at) * 1000)::text as ms
  from _prisma_migrations order by started_at`;

await withServer(main, settings.dataDir);
