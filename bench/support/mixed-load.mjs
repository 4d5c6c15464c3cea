import { authorization, BOTH } from '../cases/accounts.mjs';
import { FIXED, graphqlRequest, readOffers, VARIED, variableSets } from '../cases/offers.mjs';
import { PAST, STOPPED } from './default-data.mjs';
import { instanceId } from './fill.mjs';
import { inTurn, requestBytes } from './load.mjs';
import { rentalClient } from './rental-client.mjs';

const ACCOUNTS_IN_TURN = 1_000;
const HISTORY = `{ instanceHistory(first: 25) { edges { cursor node { id status createdAt usage { total } } } pageInfo { hasNextPage } } }`;
const SEARCH = `{ offerSearch(first: 25, sort: PRICE_PER_GPU) { totalCount edges { node { machineId gpu pricePerHour { onDemand } } } } }`;

/**
 * Returns clients that use every route between them. Those of `rentals` deploy, stop, start and destroy, and the others
 * read.
 */
export async function mixedClients(databaseUrl, rentals) {
  const variables = variableSets(await readOffers(databaseUrl), ACCOUNTS_IN_TURN);
  const month = `{ statement(from: "${new Date().toISOString().slice(0, 7)}-01T00:00:00Z") { closingBalance lines { amount } } }`;
  const requests = variables.flatMap((set, index) => {
    const n = index + 1;
    const headers = authorization(n);
    return [
      requestBytes({ path: '/v1/gpus/pricing' }),
      requestBytes({ path: '/v1/offers?limit=25', headers: { 'Accept-Encoding': 'gzip' } }),
      requestBytes({ path: `/v1/offers?gpu=${set.gpu ?? 'rtx-4090'}&price_max=${set.priceMax}` }),
      requestBytes({ path: '/v1/balance', headers }),
      requestBytes({ path: '/v1/instances', headers }),
      requestBytes({ path: `/v1/instances/${instanceId(n, PAST + STOPPED)}`, headers }),
      graphqlRequest({ query: FIXED }),
      graphqlRequest({ query: VARIED, variables: set }),
      graphqlRequest({ query: SEARCH }),
      graphqlRequest({ query: BOTH }, headers),
      graphqlRequest({ query: HISTORY }, headers),
      graphqlRequest({ query: month }, headers),
    ];
  });
  const reader = inTurn(requests);
  return (connection) => (connection < rentals.length ? rentalClient(rentals[connection]) : reader());
}
