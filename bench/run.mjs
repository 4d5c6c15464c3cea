// `npm run bench` starts the gateway and its peers and compares them in one run. `-- --case NAME` runs a single case.
// The exit code is 1 if responses differ or a case can't run. A missed target is reported but isn't an error.
import { parseArgs } from 'node:util';
import { accessCases } from './cases/access.mjs';
import { accountsCases } from './cases/accounts.mjs';
import { figuresCases } from './cases/figures.mjs';
import { logCases } from './cases/log.mjs';
import { memoryCases } from './cases/memory.mjs';
import { offersCases } from './cases/offers.mjs';
import { readyBytesCases } from './cases/ready-bytes.mjs';
import { rentalsCases } from './cases/rentals.mjs';
import { streamsCases } from './cases/streams.mjs';
import { volumesCases } from './cases/volumes.mjs';
import { createDefaultData } from './support/default-data.mjs';
import { fillHosts, fillMachines, settleTables } from './support/fill.mjs';
import { HOSTS, MACHINES } from './support/large-data.mjs';
import { NotSupported, startGateway } from './support/programs.mjs';
import { head, save, table, whole } from './support/report.mjs';
import { measure } from './support/rounds.mjs';
import { withServer } from './support/session.mjs';
import { CONNECTIONS, settings } from './support/settings.mjs';

/** If the load generator uses more than this share of its core, it may itself limit a fast peer. */
const GENERATOR_LIMIT = 0.9;
const all = [
  ...readyBytesCases,
  ...logCases,
  ...figuresCases,
  ...offersCases,
  ...accountsCases,
  ...rentalsCases,
  ...streamsCases,
  ...memoryCases,
  ...accessCases,
  ...volumesCases,
];

async function main() {
  const { values } = parseArgs({ options: { case: { type: 'string', multiple: true } } });
  const unknown = values.case?.filter((name) => !all.some((known) => known.name === name)) ?? [];
  if (unknown.length > 0) {
    console.error(`unknown case ${unknown.join(', ')}; the cases are: ${all.map(({ name }) => name).join(' ')}`);
    process.exitCode = 2;
    return;
  }
  const chosen = values.case === undefined ? all : all.filter(({ name }) => values.case.includes(name));
  console.log(`${head(CONNECTIONS).join('\n')}\n`);
  const results = await withServer((server) => runAll(server, chosen));
  console.log(`\n${summaryOf(results)}\n`);
  console.log(save('bench', CONNECTIONS, { results }));
  if (results.some(({ failure }) => failure !== undefined)) process.exitCode = 1;
}

async function runAll(server, chosen) {
  const databaseUrl = await createDefaultData(server, 'gateway');
  const copyUrl = async (name) => {
    await server.copy('gateway', name);
    return server.urlOf(name);
  };
  // The copies are made before the gateway connects, because a database in use can't be copied.
  const [bareUrl, freshUrl, slicedUrl] = [await copyUrl('bare'), await copyUrl('fresh'), await copyUrl('sliced')];
  const context = {
    databaseUrl,
    bareUrl,
    freshUrl: async () => freshUrl,
    manyMachinesUrl: () => filled(freshUrl, fillMachines, MACHINES),
    manyHostsUrl: () => filled(slicedUrl, fillHosts, HOSTS),
  };
  const results = [];
  const compared = chosen.filter(({ open }) => open !== undefined);
  if (compared.length > 0) {
    context.gateway = await startGateway(databaseUrl);
    for (const each of compared) results.push(await attempt(each, () => compare(each, context)));
    await context.gateway.end();
  }
  for (const each of chosen.filter(({ weigh }) => weigh !== undefined)) {
    results.push(await attempt(each, () => weigh(each, context)));
  }
  for (const each of chosen.filter(({ carry }) => carry !== undefined)) {
    results.push(...(await attemptAll(each, () => each.carry(context))));
  }
  return results;
}

async function filled(url, fill, count) {
  await fill(url, count);
  await settleTables(url);
  return url;
}

async function attempt({ name, title, work, against }, measureIt) {
  process.stdout.write(`${name}: ${work} … `);
  let outcome;
  try {
    outcome = await measureIt();
  } catch (error) {
    outcome = { failure: error instanceof NotSupported ? `not supported: ${error.message}` : error.message };
  }
  console.log(outcome.failure ?? outcome.summary);
  return { name, title, work, against, ...outcome };
}

/** Runs a case that has several results. */
async function attemptAll(named, measureIt) {
  let all = [];
  const { failure, ...rest } = await attempt(named, async () => {
    all = await measureIt();
    return { summary: all.map(({ ratio, megabytes }) => ratio?.toFixed(2) ?? `${whole(megabytes)} MB`).join(', ') };
  });
  return failure === undefined ? all : [{ ...rest, failure }];
}

async function compare({ atLeast, unit, open }, context) {
  const opened = await open(context);
  try {
    if (opened.difference !== null) return { failure: `responses differ: ${opened.difference}` };
    const measured = await measure(opened, settings);
    const fault = await opened.verify?.();
    if (fault) return { failure: fault };
    const { ratio, peer } = measured;
    const isLimited = peer.generatorBusy > GENERATOR_LIMIT && peer.busy < GENERATOR_LIMIT;
    const notes = [opened.note, isLimited ? 'the load generator limited the peer' : undefined];
    const note = notes.filter((text) => text !== undefined).join('; ');
    return { atLeast, unit, isReached: ratio >= atLeast, note, ...measured, summary: ratioText(measured) };
  } finally {
    await opened.close();
  }
}

async function weigh({ atMostMegabytes, weigh: take }, context) {
  const weighed = await take(context);
  const isReached = weighed.megabytes <= atMostMegabytes;
  return { atMostMegabytes, isReached, ...weighed, summary: `${whole(weighed.megabytes)} MB` };
}

function summaryOf(results) {
  const heading = ['case', '', 'against', 'gateway', 'peer', 'ratio', 'min–max', 'target', '', 'CPU ratio', 'busy %'];
  const notes = results.flatMap(({ name, failure, note }) => (failure || note ? [`${name}: ${failure ?? note}`] : []));
  return [
    table([heading, ...results.map(rowOf)], [3, 4, 5, 6, 7, 9, 10]),
    '',
    'gateway, peer: requests (deploy-destroy, deploy-launch: pairs; ssh, web-ports: MB) per second. CPU ratio: the ratio of CPU time of the two processes, which',
    'other programs on the machine affect less. busy: the share of their core that gateway and peer used.',
    ...notes,
  ].join('\n');
}

function rowOf(result) {
  const { name, title, against, failure, isReached, atLeast, megabytes, atMostMegabytes } = result;
  const verdict = isReached ? 'reached' : 'missed';
  if (failure !== undefined) return [name, title, against, '', '', '', '', '', 'FAILED', '', ''];
  if (megabytes !== undefined) {
    return [name, title, against, `${whole(megabytes)} MB`, '', '', '', `≤ ${atMostMegabytes} MB`, verdict, '', ''];
  }
  const { subject, peer, ratio, spread, cpuRatio } = result;
  // Several programs share the work of such a case, so there are no CPU times of two processes to compare.
  const shares = cpuRatio === undefined ? [] : [subject, peer].map((side) => whole(side.busy * 100));
  const [least, most] = spread.map((value) => value.toFixed(2));
  const figures = [whole(subject.perSecond), whole(peer.perSecond), ratio.toFixed(2), `${least}–${most}`];
  return [name, title, against, ...figures, `≥ ${atLeast}`, verdict, cpuRatio?.toFixed(2) ?? '', shares.join('/')];
}

function ratioText({ ratio, subject, peer }) {
  return `${whole(subject.perSecond)} to ${whole(peer.perSecond)}, ratio ${ratio.toFixed(2)}`;
}

await main();
