import { ACCOUNTS, PAST, STOPPED } from '../support/default-data.mjs';
import { instanceId } from '../support/fill.mjs';
import { answersTo, inTurn, requestBytes } from '../support/load.mjs';
import { rentalClient } from '../support/rental-client.mjs';
import { authorization, BOTH } from './accounts.mjs';
import { FIXED, graphqlRequest, readOffers } from './offers.mjs';

/** Accounts whose requests come in turn, the same on both data sets. */
const ACCOUNTS_IN_TURN = 1_000;
const PAGE = 25;
const OFFER = 'machineId gpu region diskGb reliability pricePerHour { onDemand interruptible reserved }';

/** Every route, asked for as much on either data set, so that only what lies around it differs. */
export async function growthRoutes(databaseUrl) {
  const offers = await readOffers(databaseUrl);
  const gpus = namesWithPage(offers.map(({ gpu }) => gpu));
  const regions = namesWithPage(offers.map(({ region }) => region));
  const month = `${new Date().toISOString().slice(0, 7)}-01T00:00:00Z`;
  const forAccounts = (requestFor) =>
    Array.from({ length: ACCOUNTS_IN_TURN }, (_, index) => requestFor(ACCOUNTS - index));
  const graphql = (query) => (n) => graphqlRequest({ query }, authorization(n));
  const ofOne = (requestFor) => (side) => [requestFor(side.historyAccount)];
  return [
    reading('GET /gpus/pricing', [requestBytes({ path: '/v1/gpus/pricing' })]),
    reading('GET /offers', [requestBytes({ path: `/v1/offers?limit=${PAGE}` })]),
    reading(
      'GET /offers, by model',
      gpus.map((gpu) => requestBytes({ path: `/v1/offers?gpu=${gpu}&limit=${PAGE}` })),
    ),
    reading(
      'GET /offers, by region',
      regions.map((code) => requestBytes({ path: `/v1/offers?region=${code}` })),
    ),
    reading(
      'GET /balance',
      forAccounts((n) => requestBytes({ path: '/v1/balance', headers: authorization(n) })),
    ),
    reading(
      'GET /instances',
      forAccounts((n) => requestBytes({ path: '/v1/instances', headers: authorization(n) })),
    ),
    reading(
      'GET /instances/{id}',
      forAccounts((n) =>
        requestBytes({ path: `/v1/instances/${instanceId(n, PAST + STOPPED)}`, headers: authorization(n) }),
      ),
    ),
    {
      name: 'instance',
      clientOf:
        ({ rentals }, heard) =>
        (connection) =>
          rentalClient(rentals[connection], { heard }),
    },
    reading('GraphQL offers', [graphqlRequest({ query: FIXED })]),
    reading(
      'GraphQL offerSearch',
      gpus.map((gpu) =>
        graphqlRequest({
          query: `{ offerSearch(first: ${PAGE}, filter: { gpus: ["${gpu}"] }) { totalCount edges { cursor node { ${OFFER} } } } }`,
        }),
      ),
    ),
    reading('GraphQL offerSearch, any model', [
      graphqlRequest({
        query: `{ offerSearch(first: ${PAGE}, sort: RELIABILITY, filter: { ramGbMin: 64, vramGbMin: 16 }) { totalCount edges { cursor node { ${OFFER} } } } }`,
      }),
    ]),
    reading('GraphQL balance, instances', forAccounts(graphql(BOTH))),
    reading('GraphQL instanceHistory', forAccounts(graphql(HISTORY))),
    reading(
      'GraphQL statement',
      forAccounts(
        graphql(
          `{ statement(from: "${month}") { openingBalance closingBalance lines { instanceId kind seconds amount } movements { id amount } } }`,
        ),
      ),
    ),
    reading(
      'GET /balance, long history',
      ofOne((n) => requestBytes({ path: '/v1/balance', headers: authorization(n) })),
    ),
    reading(
      'GET /instances, long history',
      ofOne((n) => requestBytes({ path: '/v1/instances', headers: authorization(n) })),
    ),
    reading('GraphQL instanceHistory, long history', ofOne(graphql(HISTORY))),
  ];
}

const HISTORY = `{ instanceHistory(first: ${PAGE}) {
  edges { cursor node { id status gpu createdAt destroyedAt usage { total } } } pageInfo { hasNextPage endCursor } } }`;

/** `requests` are the same on both sides, or made for a side. */
function reading(name, requests) {
  const of = (side) => (typeof requests === 'function' ? requests(side) : requests);
  return {
    name,
    check: (side) => answersTo(side.port, of(side).slice(0, PAGE)),
    clientOf: (side) => inTurn(of(side)),
  };
}

/** Names that come often enough to fill a page. */
function namesWithPage(names) {
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].filter(([, count]) => count >= PAGE).map(([name]) => name);
}
