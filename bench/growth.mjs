// `npm run bench:growth` compares every route on a large data set with the same route on the default data, in one run,
// and writes the slowest route's query plans to a file. The exit code is 1 if the data is inconsistent or a route can't
// be measured.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { growthRoutes, historyOf, publicGrowthRoutes } from './cases/growth-routes.mjs';
import { stalls } from './cases/stalls.mjs';
import { createDefaultData, rentalsOf } from './support/default-data.mjs';
import { createLargeData, createSlicedData, HEAVY_ACCOUNT } from './support/large-data.mjs';
import { runLoad } from './support/load.mjs';
import { plansOf } from './support/plans.mjs';
import { cpuSecondsOf, runAdmin, startGateway } from './support/programs.mjs';
import { head, save, table } from './support/report.mjs';
import { median, percentile } from './support/rounds.mjs';
import { withServer } from './support/session.mjs';
import { settings } from './support/settings.mjs';

const CONNECTIONS = 8;
/** Maximum ratio of the time on the large data set to that on the default data. */
const MOST = 1.25;
/** Maximum additional latency for a reader while the inventory is reloaded. */
const STALL_MS = 100;

/**
 * `--case` selects routes by name or by the beginning of their name, or `stalls`. It may be repeated. `--sliced` runs
 * the public routes with 100,000 eight-GPU hosts instead of the large data set.
 */
const { values: given } = parseArgs({
  options: { case: { type: 'string', multiple: true }, sliced: { type: 'boolean', default: false } },
});
const isChosen = (name) => given.case === undefined || given.case.some((beginning) => name.startsWith(beginning));

async function main() {
  console.log(`${head(CONNECTIONS).join('\n')}\n`);
  await withServer(run, settings.dataDir);
}

async function run(server) {
  const large = given.sliced ? 'sliced' : 'large';
  if (!(await server.exists('gateway'))) await timed('default data', () => createDefaultData(server, 'gateway'));
  if (!(await server.exists(large))) await createData(server, large);
  const [defaultUrl, largeUrl] = [server.urlOf('gateway'), server.urlOf(large)];
  const all = given.sliced ? await publicGrowthRoutes(defaultUrl) : await growthRoutes(defaultUrl);
  const routes = all.filter(({ name }) => isChosen(name));
  if (routes.length > 0) await compareRoutes(server, routes, { defaultUrl, largeUrl, large });
  if (isChosen('stalls') && !given.sliced) {
    const results = await stalls(largeUrl, STALL_MS);
    console.log(save('stalls', 1, { results }));
  }
}

async function sideOf(url, historyAccount) {
  const [rentals, history] = [await rentalsOf(url), await historyOf(url, historyAccount)];
  return { ...(await startGateway(url)), rentals, historyAccount, history };
}

async function compareRoutes(server, routes, { defaultUrl, largeUrl, large }) {
  const sides = { small: await sideOf(defaultUrl, 1), large: await sideOf(largeUrl, given.sliced ? 1 : HEAVY_ACCOUNT) };
  const results = [];
  for (const route of routes) {
    process.stdout.write(`${route.name} … `);
    try {
      const measured = await measureRoute(route, sides);
      results.push(...measured);
      console.log(measured.map(({ p50Ratio, p99Ratio }) => `${p50Ratio.toFixed(2)} ${p99Ratio.toFixed(2)}`).join(', '));
    } catch (error) {
      results.push({ name: route.name, route, failure: error.message });
      process.exitCode = 1;
      console.log(error.message);
    }
  }
  console.log(`\n${summaryOf(results)}\n`);

  // A route that couldn't be measured counts as the slowest.
  const slowness = ({ p50Ratio = Number.POSITIVE_INFINITY }) => p50Ratio;
  const slowest = results.reduce((worst, result) => (slowness(result) > slowness(worst) ? result : worst));
  const file = save('growth', CONNECTIONS, { results, slowest: slowest.name });
  const plansFile = file.replace(/\.json$/, '.plans.txt');
  for (const side of Object.values(sides)) await side.end();
  writeFileSync(plansFile, await plansOf({ server, database: large, side: sides.large, route: slowest.route }));
  console.log(`the slowest route by its ratio of p50 is ${slowest.name}; its query plans are in ${plansFile}\n${file}`);
}

async function createData(server, large) {
  if (given.sliced) {
    await timed('hosts of eight', () => createSlicedData(server, 'gateway', large));
    return;
  }
  const url = await timed('large data', () => createLargeData(server, 'gateway', 'large'));
  const { code, said } = await timed('audit of the large data', () => runAdmin(['audit'], { DATABASE_URL: url }));
  console.log(said.trim());
  if (code !== 0) throw new Error('the audit of the large data found a mismatch');
}

async function timed(what, work) {
  const startedAt = performance.now();
  const result = await work();
  console.log(`${what}: ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`);
  return result;
}

/** Returns one result for each kind of request sent by the route's clients. */
async function measureRoute(route, { small, large }) {
  await route.check?.(small);
  await route.check?.(large);
  for (const side of [small, large]) await timesOf(route, side);
  const rounds = [];
  for (let round = 0; round < settings.rounds; round += 1) {
    rounds.push({ small: await timesOf(route, small), large: await timesOf(route, large) });
  }
  const of = (side, step, figure) => median(rounds.map((round) => round[side].get(step)[figure]));
  return [...rounds[0].small.keys()].map((step) => {
    const [smallTimes, largeTimes] = ['small', 'large'].map((side) => ({
      p50Ms: of(side, step, 'p50Ms'),
      p99Ms: of(side, step, 'p99Ms'),
      cpuMs: of(side, step, 'cpuMs'),
    }));
    return {
      name: step === '' ? route.name : `${route.name}: ${step}`,
      route,
      small: smallTimes,
      large: largeTimes,
      p50Ratio: largeTimes.p50Ms / smallTimes.p50Ms,
      p99Ratio: largeTimes.p99Ms / smallTimes.p99Ms,
      cpuRatio: largeTimes.cpuMs / smallTimes.cpuMs,
    };
  });
}

/**
 * Returns p50 and p99 of one round in milliseconds for each kind of request, and the gateway's CPU time per response
 * over all kinds.
 */
async function timesOf(route, side) {
  const latenciesMs = new Map();
  const onResponse = (step, latencyMs) => {
    const known = latenciesMs.get(step);
    if (known === undefined) latenciesMs.set(step, [latencyMs]);
    else known.push(latencyMs);
  };
  const clientOf = route.clientOf(side, onResponse);
  const { port, pid } = side;
  const cpuBefore = cpuSecondsOf(pid);
  const load = await runLoad({
    port,
    connections: CONNECTIONS,
    seconds: settings.seconds,
    clientOf,
    status: [200, 201],
  });
  const cpuMs = ((cpuSecondsOf(pid) - cpuBefore) / load.latenciesMs.length) * 1_000;
  if (latenciesMs.size === 0) latenciesMs.set('', load.latenciesMs);
  const times = (list) => {
    const sorted = Float64Array.from(list).sort();
    return { p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99), cpuMs };
  };
  return new Map([...latenciesMs].map(([step, list]) => [step, times(list)]));
}

function summaryOf(results) {
  const heading = ['route', 'p50', 'large', 'ratio', 'p99', 'large', 'ratio', `≤ ${MOST}`, 'CPU ratio'];
  const rows = results.map(({ name, failure, small, large, p50Ratio, p99Ratio, cpuRatio }) => {
    if (failure !== undefined) return [name, '', '', '', '', '', '', 'FAILED', ''];
    const figures = [small.p50Ms, large.p50Ms, p50Ratio, small.p99Ms, large.p99Ms, p99Ratio];
    const verdict = Math.max(p50Ratio, p99Ratio) <= MOST ? 'reached' : 'missed';
    return [name, ...figures.map((value) => value.toFixed(2)), verdict, cpuRatio.toFixed(2)];
  });
  const legend =
    "p50 and p99 in ms on the default and on the large data; CPU ratio: the ratio of the gateway's CPU time";
  return `${table([heading, ...rows], [1, 2, 3, 4, 5, 6, 8])}\n\n${legend}`;
}

await main();
