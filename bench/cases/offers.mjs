import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { rowsOf } from '../support/database.mjs';
import { answersTo, inTurn, requestBytes, runLoad } from '../support/load.mjs';
import { startPeer } from '../support/programs.mjs';
import { randomFrom } from '../support/random.mjs';
import { CONNECTIONS, PROJECT } from '../support/settings.mjs';

/** Number of variable sets, more than the cache of public responses holds. */
const VARIABLE_SETS = 10_000;
const LIMIT = 25;
const MICRO_PER_USD = 1_000_000;

/** All offer fields except the relations to its model and region. */
const OFFER_FIELDS = `machineId gpu numGpus region cpu vcpus ramGb diskGb netMbps { down up } ports pcie nvlink cudaMax
  reliability preemptible demo pricePerHour { onDemand interruptible reserved }`;

export const FIXED = `{ offers(limit: ${LIMIT}) { ${OFFER_FIELDS} } }`;
export const VARIED = `query Offers($gpu: String, $region: String, $priceMax: Float) {
  offers(gpu: $gpu, region: $region, priceMax: $priceMax, limit: ${LIMIT}) { ${OFFER_FIELDS} } }`;

export const offersCases = [
  offersCase({
    name: 'graphql',
    title: 'POST /graphql, 25 offers, same text',
    work: 'both execute the same query on offers in memory and return the same JSON',
    atLeast: 1.5,
    bodiesFor: () => [{ query: FIXED }],
  }),
  offersCase({
    name: 'graphql-variables',
    title: 'POST /graphql, variables differ',
    work: 'both filter offers in memory by model, region and price from the variables and return the same JSON',
    atLeast: 0.4,
    bodiesFor: (offers) => variableSets(offers, VARIABLE_SETS).map((variables) => ({ query: VARIED, variables })),
  }),
];

function offersCase({ name, title, work, atLeast, bodiesFor }) {
  return {
    name,
    title,
    work,
    against: 'Mercurius + JIT, in memory',
    atLeast,
    unit: 'requests/s',
    open: async ({ gateway, databaseUrl }) => {
      const offers = await readOffers(databaseUrl);
      const schema = readFileSync(join(PROJECT, 'schema.graphql'), 'utf8');
      const peer = await startPeer('offers', { schema, offers });
      const requests = bodiesFor(offers).map((body) => graphqlRequest(body));
      const [ours, theirs] = [
        await answersTo(gateway.port, requests, CONNECTIONS),
        await answersTo(peer.port, requests, CONNECTIONS),
      ];
      const clientOf = inTurn(requests);
      const load = (port) => (seconds) => runLoad({ port, connections: CONNECTIONS, seconds, clientOf });
      return {
        difference: firstDifference(ours, theirs),
        note: `${requests.length} requests in turn, ${meanLength(ours).toFixed(1)} offers per response`,
        subject: { pid: gateway.pid, run: load(gateway.port) },
        peer: { pid: peer.pid, run: load(peer.port) },
        close: () => peer.end(),
      };
    },
  };
}

export function graphqlRequest(body, headers = {}) {
  return requestBytes({ method: 'POST', path: '/graphql', headers, body: JSON.stringify(body) });
}

function firstDifference(ours, theirs) {
  const index = ours.findIndex((answer, at) => !isDeepStrictEqual(answer, theirs[at]));
  return index < 0 ? null : `request ${index}: ${short(ours[index])} and ${short(theirs[index])}`;
}

function short(answer) {
  return JSON.stringify(answer).slice(0, 300);
}

function meanLength(answers) {
  return answers.reduce((sum, { data }) => sum + data.offers.length, 0) / answers.length;
}

/**
 * Returns variables that filter by model, region or both, taken from existing machines. Each also limits the price to
 * between half and twice an offer's price. Every run gets the same variables.
 */
export function variableSets(offers, count) {
  const random = randomFrom(20_261_120);
  return Array.from({ length: count }, (_, index) => {
    const { gpu, region, pricePerHour } = offers[Math.floor(random() * offers.length)];
    const priceMax = Number((pricePerHour.onDemand * (0.5 + random() * 1.5)).toFixed(4));
    const asked = [{ gpu }, { region }, { gpu, region }][index % 3];
    return { gpu: null, region: null, ...asked, priceMax };
  });
}

/** Returns a database's offers in order. */
export async function readOffers(databaseUrl) {
  const rows = await rowsOf(databaseUrl, OFFERS);
  return rows.map(({ down, up, rate, ...offer }) => ({
    ...offer,
    netMbps: { down, up },
    preemptible: false,
    pricePerHour: { onDemand: usd(rate), interruptible: usd(rate / 2), reserved: usd((rate / 100) * 65) },
  }));
}

function usd(micro) {
  return Math.round(micro) / MICRO_PER_USD;
}

/** Machines that have no running instance and at least 50 GB of free disk, with prices from the newest sheet. */
const OFFERS = `
  select machine.id as "machineId", machine.gpu, num_gpus as "numGpus", region, cpu, vcpus, ram_gb as "ramGb",
    (disk_gb - coalesce(used, 0))::int as "diskGb", net_down_mbps as down, net_up_mbps as up, ports, pcie, nvlink,
    cuda_max as "cudaMax", reliability, demo, (on_demand_rate * num_gpus)::float8 as rate
  from machine join gpu_price on gpu_price.gpu = machine.gpu and snapshot_date = (select max(date) from market_snapshot)
  left join (select machine_id, sum(disk_gb) as used, bool_or(status = 'RUNNING') as is_taken from instance
    where status <> 'DESTROYED' group by machine_id) held on machine_id = machine.id
  where state = 'LISTED' and is_taken is not true and disk_gb - coalesce(used, 0) >= 50
  order by on_demand_rate * num_gpus, reliability desc, machine.id collate "C"`;
