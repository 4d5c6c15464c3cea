import { rowsOf } from '../support/database.mjs';
import { ACCOUNTS, PAST, STOPPED } from '../support/default-data.mjs';
import { accountId, instanceId } from '../support/fill.mjs';
import { answersTo, inTurn, requestBytes } from '../support/load.mjs';
import { rentalClient } from '../support/rental-client.mjs';
import { authorization, BOTH } from './accounts.mjs';
import { FIXED, graphqlRequest, readOffers, VARIED } from './offers.mjs';

/** Number of accounts whose requests are sent in turn, the same for both data sets. */
const ACCOUNTS_IN_TURN = 1_000;
/** Number of distinct public requests, more than the response cache holds. */
const DISTINCT = 5_000;
/** Base for price limits that exceed every price. They make requests distinct without shortening the responses. */
const ABOVE_ALL_PRICES_USD = 10_000;
const PAGE = 25;

const SEARCH = `query Search($filter: OfferFilterInput, $sort: OfferSort) {
  offerSearch(first: ${PAGE}, filter: $filter, sort: $sort) { totalCount pageInfo { hasNextPage }
    edges { cursor node { machineId gpu region diskGb reliability pricePerHour { onDemand interruptible reserved } } } } }`;
/** Number of instances on a history page and, below, in a statement. Every account has that many. */
const SHORT_PAGE = 5;
const SHORT_PERIOD = 10;
const HISTORY = `{ instanceHistory(first: ${PAGE}) {
  edges { cursor node { id status gpu createdAt destroyedAt usage { total } } } pageInfo { hasNextPage endCursor } } }`;

/** A filter that matches the same share of instances in both data sets. */
const FILTERED = HISTORY.replace('first:', 'filter: { stopReasons: [USER], modes: [ON_DEMAND] }, first:');

/** Returns all routes. The requests are the same for both data sets, which differ only in the surrounding data. */
export async function growthRoutes(databaseUrl) {
  return [
    ...(await publicGrowthRoutes(databaseUrl)),
    ...accountRoutes(),
    ...historyRoutes(),
    {
      name: 'instance',
      clientOf:
        ({ rentals }, onResponse) =>
        (connection) =>
          rentalClient(rentals[connection], { onResponse }),
    },
  ];
}

/** Returns the routes that read no account data. */
export async function publicGrowthRoutes(databaseUrl) {
  const offers = await readOffers(databaseUrl);
  return publicRoutes(namesWithPage(offers, 'gpu'), namesWithPage(offers, 'region'));
}

function publicRoutes(gpus, regions) {
  const gpuOf = (index) => gpus[index % gpus.length];
  const regionOf = (index) => regions[index % regions.length];
  const searching = (filterOf, sort) =>
    distinct((index, pricePerGpuMax) =>
      graphqlRequest({ query: SEARCH, variables: { sort, filter: { ...filterOf(index), pricePerGpuMax } } }),
    );
  return [
    reading('GET /gpus/pricing', [requestBytes({ path: '/v1/gpus/pricing' })]),
    reading('GET /offers, the same', [requestBytes({ path: `/v1/offers?limit=${PAGE}` })]),
    reading(
      'GET /offers',
      distinct((_index, price) => requestBytes({ path: `/v1/offers?price_max=${price}` })),
    ),
    reading(
      'GET /offers, by model',
      distinct((index, price) => requestBytes({ path: `/v1/offers?gpu=${gpuOf(index)}&price_max=${price}` })),
    ),
    reading('GraphQL offers, the same', [graphqlRequest({ query: FIXED })]),
    reading(
      'GraphQL offers, by region',
      distinct((index, priceMax) =>
        graphqlRequest({ query: VARIED, variables: { region: regionOf(index), priceMax } }),
      ),
    ),
    reading(
      'GraphQL offerSearch, by model',
      searching((index) => ({ gpus: [gpuOf(index)] }), 'PRICE'),
    ),
    reading(
      'GraphQL offerSearch, any',
      searching(() => ({ vramGbMin: 16 }), 'RELIABILITY'),
    ),
    reading(
      'GraphQL offerSearch, by vCPUs and RAM',
      searching(() => ({ vcpusMin: 32, ramGbMin: 128 }), 'PRICE'),
    ),
  ];
}

function accountRoutes() {
  const month = `${new Date().toISOString().slice(0, 7)}-01T00:00:00Z`;
  const statement = `{ statement(from: "${month}") { openingBalance closingBalance
    lines { instanceId kind seconds amount } movements { id amount } } }`;
  const rest = (path) => (n) => requestBytes({ path, headers: authorization(n) });
  const graphql = (query) => (n) => graphqlRequest({ query }, authorization(n));
  const newest = (n) => rest(`/v1/instances/${instanceId(n, PAST + STOPPED)}`)(n);
  return [
    reading('GET /balance', forAccounts(rest('/v1/balance'))),
    reading('GET /instances', forAccounts(rest('/v1/instances'))),
    reading('GET /instances/{id}', forAccounts(newest)),
    reading('GraphQL balance, instances', forAccounts(graphql(BOTH))),
    reading('GraphQL instanceHistory', forAccounts(graphql(HISTORY))),
    reading('GraphQL instanceHistory, filtered', forAccounts(graphql(FILTERED))),
    reading('GraphQL statement', forAccounts(graphql(statement))),
    reading('GET /balance, long history', forOne(rest('/v1/balance'))),
    reading('GET /instances, long history', forOne(rest('/v1/instances'))),
    reading('GraphQL instanceHistory, long history', forOne(graphql(HISTORY))),
    reading('GraphQL instanceHistory, filtered, long history', forOne(graphql(FILTERED))),
  ];
}

/** Routes for the account with a long history. On the default data, an ordinary account takes its place. */
function historyRoutes() {
  const page = (args) => `{ instanceHistory(first: ${SHORT_PAGE}${args}) {
    edges { cursor node { id status gpu createdAt destroyedAt usage { total } } } pageInfo { hasNextPage endCursor } } }`;
  const cursorOf = (n, sequence) => Buffer.from(`GPC:T:["S:${accountId(n)}","N:${sequence}"]`).toString('base64');
  /** Reads the page after a cursor that lies `backOf(history)` instances before the newest. */
  const pageAfter = (name, backOf) =>
    reading(name, ({ historyAccount: n, history }) => {
      const query = page(`, after: "${cursorOf(n, history.at(-1).sequence - backOf(history))}"`);
      return [graphqlRequest({ query }, authorization(n))];
    });
  /** Reads a statement that covers `SHORT_PERIOD` past instances, starting at index `firstOf(past)`. */
  const statementFrom = (name, firstOf) =>
    reading(name, ({ historyAccount: n, history }) => {
      const past = history.filter(({ to }) => to !== null);
      const first = firstOf(past);
      const [from, to] = [past[first].from, past[first + SHORT_PERIOD - 1].to];
      const query = `{ statement(from: "${from}", to: "${to}") { openingBalance closingBalance
        lines { instanceId kind seconds amount } movements { id amount } } }`;
      return [graphqlRequest({ query }, authorization(n))];
    });
  const intervals = `{ instanceHistory(first: ${SHORT_PAGE}) { edges { node { id
    usageIntervals(first: 5) { edges { node { resource startedAt endedAt } } } } } } }`;
  return [
    pageAfter('history, page 2', () => SHORT_PAGE - 1),
    pageAfter('history, a deep page', (history) => Math.floor(history.length / 2)),
    pageAfter('history, the last page', (history) => history.length - 1 - SHORT_PAGE),
    reading('history, usage intervals', ({ historyAccount: n }) => [
      graphqlRequest({ query: intervals }, authorization(n)),
    ]),
    statementFrom('statement, the newest', (past) => past.length - SHORT_PERIOD),
    statementFrom('statement, in the midst', (past) => Math.floor((past.length - SHORT_PERIOD) / 2)),
    statementFrom('statement, the oldest', () => 0),
  ];
}

/** Returns an account's instances with their start and end times, oldest first. */
export function historyOf(url, n) {
  const instant = (column) => `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
  return rowsOf(
    url,
    `select sequence, ${instant('created_at')} as from, ${instant('destroyed_at')} as to
     from instance where account_id = $1 order by sequence`,
    [accountId(n)],
  );
}

/**
 * Creates a route that only reads. `requests` is either a list used for both sides or a function that creates one for
 * each side. Each round continues the list where the previous one stopped.
 */
function reading(name, requests) {
  const of = (side) => (typeof requests === 'function' ? requests(side) : requests);
  const clients = new Map();
  return {
    name,
    check: (side) => answersTo(side.port, of(side).slice(-PAGE)),
    clientOf: (side) => {
      if (!clients.has(side)) clients.set(side, inTurn(of(side)));
      return clients.get(side);
    },
  };
}

function distinct(requestFor) {
  return Array.from({ length: DISTINCT }, (_, index) => requestFor(index, ABOVE_ALL_PRICES_USD + index / 100));
}

function forAccounts(requestFor) {
  return Array.from({ length: ACCOUNTS_IN_TURN }, (_, index) => requestFor(ACCOUNTS - index));
}

/** Returns a request for the account with a long history or, on the default data, for the account in its place. */
function forOne(requestFor) {
  return (side) => [requestFor(side.historyAccount)];
}

/** Returns the names that occur often enough to fill a page. */
function namesWithPage(offers, field) {
  const counts = new Map();
  for (const { [field]: name } of offers) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].filter(([, count]) => count >= PAGE).map(([name]) => name);
}
