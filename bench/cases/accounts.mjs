import { isDeepStrictEqual } from 'node:util';
import { ask } from '../support/answers.mjs';
import { ACCOUNTS, STOPPED } from '../support/default-data.mjs';
import { accountId, keyOf } from '../support/fill.mjs';
import { inTurn, requestBytes, runLoad } from '../support/load.mjs';
import { startPeer } from '../support/programs.mjs';
import { CONNECTIONS } from '../support/settings.mjs';
import { graphqlRequest } from './offers.mjs';

/** Number of accounts whose responses are compared on both sides. */
const ACCOUNTS_COMPARED = 100;
/**
 * Maximum attempts per comparison. A balance changes every second, so responses from different seconds are compared
 * again.
 */
const TRIES = 5;

export const BOTH = `{ balance { currency balance monthSpend }
  instances { id status gpu numGpus region template diskGb mode priceHr hostname createdAt stoppedAt } }`;

const numbers = Array.from({ length: ACCOUNTS }, (_, index) => index + 1);
const balanceRequest = (n) => ({ path: '/v1/balance', headers: authorization(n) });

export const accountsCases = [
  {
    name: 'balance',
    title: 'GET /v1/balance, 3,000 accounts',
    against: 'Express + node-postgres, one row',
    atLeast: 0.5,
    unit: 'requests/s',
    open: (context) =>
      openCase(context, {
        requestFor: (n) => requestBytes(balanceRequest(n)),
        read: async (port, n) => JSON.parse((await ask(port, balanceRequest(n))).body),
      }),
  },
  {
    name: 'balance-graphql',
    title: 'POST /graphql { balance instances }',
    against: 'Express + node-postgres, one row',
    atLeast: 0.35,
    unit: 'requests/s',
    open: (context) =>
      openCase(context, { requestFor: (n) => graphqlRequest({ query: BOTH }, authorization(n)), read: readBoth }),
  },
];

async function openCase({ gateway, databaseUrl }, { requestFor, read }) {
  const accountOfKey = Object.fromEntries(numbers.map((n) => [keyOf(n), accountId(n)]));
  const peer = await startPeer('one-row', { databaseUrl, accountOfKey });
  const readPeer = async (n) => JSON.parse((await ask(peer.port, balanceRequest(n))).body);
  const load = (port, requests) => {
    const clientOf = inTurn(requests);
    return (seconds) => runLoad({ port, connections: CONNECTIONS, seconds, clientOf });
  };
  const theirRequests = numbers.map((n) => requestBytes(balanceRequest(n)));
  return {
    difference: await firstDifference((n) => read(gateway.port, n), readPeer),
    subject: { pid: gateway.pid, run: load(gateway.port, numbers.map(requestFor)) },
    peer: { pid: peer.pid, run: load(peer.port, theirRequests) },
    close: () => peer.end(),
  };
}

/** Returns the balance under REST's field names, after checking that the instances match the data. */
async function readBoth(port, n) {
  const body = JSON.stringify({ query: BOTH });
  const answer = await ask(port, { method: 'POST', path: '/graphql', headers: authorization(n), body });
  const { balance, instances } = JSON.parse(answer.body).data;
  const stopped = instances.filter(({ status }) => status === 'STOPPED').length;
  if (stopped !== STOPPED || instances.length !== STOPPED)
    throw new Error(`${instances.length} instances, not ${STOPPED}`);
  return { object: 'balance', currency: balance.currency, balance: balance.balance, month_spend: balance.monthSpend };
}

async function firstDifference(readOurs, readTheirs) {
  for (const n of numbers.filter((number) => number % (ACCOUNTS / ACCOUNTS_COMPARED) === 0)) {
    for (let tries = 1; ; tries += 1) {
      const [ours, theirs] = await Promise.all([readOurs(n), readTheirs(n)]);
      if (isDeepStrictEqual(ours, theirs)) break;
      if (tries === TRIES) return `account ${n}: ${JSON.stringify(ours)} and ${JSON.stringify(theirs)}`;
    }
  }
  return null;
}

export function authorization(n) {
  return { Authorization: `Bearer ${keyOf(n)}` };
}
