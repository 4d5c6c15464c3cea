import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ask } from '../support/answers.mjs';
import { ACCOUNTS, STOPPED } from '../support/default-data.mjs';
import { accountId, keyOf } from '../support/fill.mjs';
import { inTurn, requestBytes, runLoad } from '../support/load.mjs';
import { startPeer } from '../support/programs.mjs';
import { CONNECTIONS, PROJECT } from '../support/settings.mjs';

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
const bothRequest = (n) => ({
  method: 'POST',
  path: '/graphql',
  headers: authorization(n),
  body: JSON.stringify({ query: BOTH }),
});

export const accountsCases = [
  {
    name: 'balance',
    title: 'GET /v1/balance, 3,000 accounts',
    work: "both look up the key's account, read its row and return the balance; only the gateway hashes the key and limits the rate",
    against: 'Express + node-postgres, one row',
    atLeast: 0.5,
    unit: 'requests/s',
    open: async ({ gateway, databaseUrl }) => {
      const accountOfKey = Object.fromEntries(numbers.map((n) => [keyOf(n), accountId(n)]));
      return openCase(gateway, await startPeer('one-row', { databaseUrl, accountOfKey }), balanceRequest);
    },
  },
  {
    name: 'balance-graphql',
    title: 'POST /graphql { balance instances }',
    work: 'both hash the key, read its account and ten instances, and return the same JSON; only the gateway limits the rate',
    against: 'Mercurius + JIT + node-postgres, same rows',
    atLeast: 1.5,
    unit: 'requests/s',
    open: async ({ gateway, databaseUrl }) => {
      const schema = readFileSync(join(PROJECT, 'schema.graphql'), 'utf8');
      const serviceDomain = await serviceDomainOf(gateway);
      const peer = await startPeer('account-rows', { databaseUrl, schema, serviceDomain });
      return openCase(gateway, peer, bothRequest);
    },
  },
];

/** Compares both sides with the same requests, `requestOf(n)` for account `n`. */
async function openCase(gateway, peer, requestOf) {
  const read = async (port, n) => JSON.parse((await ask(port, requestOf(n))).body);
  const clientOf = inTurn(numbers.map((n) => requestBytes(requestOf(n))));
  const load = (port) => (seconds) => runLoad({ port, connections: CONNECTIONS, seconds, clientOf });
  return {
    difference: await firstDifference(
      (n) => read(gateway.port, n),
      (n) => read(peer.port, n),
    ),
    subject: { pid: gateway.pid, run: load(gateway.port) },
    peer: { pid: peer.pid, run: load(peer.port) },
    close: () => peer.end(),
  };
}

/** Returns the domain of the instances' hostnames. Throws unless the account has the expected number of instances. */
async function serviceDomainOf({ port }) {
  const { instances } = JSON.parse((await ask(port, bothRequest(1))).body).data;
  if (instances.length !== STOPPED) throw new Error(`${instances.length} instances, not ${STOPPED}`);
  const [{ id, hostname }] = instances;
  return hostname.slice(`${id}.`.length);
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
