import { serverAudits } from 'graphql-http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.js';

/** The audit suite of the GraphQL-over-HTTP specification, including its recommendations. */
const AUDITS = serverAudits({ url: () => `${gateway.address}/graphql` });

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

describe('the GraphQL-over-HTTP audit', () => {
  it('covers every check in the suite', () => {
    expect(AUDITS).toHaveLength(61);
  });

  it.each(AUDITS)('passes $id: $name', async ({ fn }) => {
    const result = await fn();
    expect(result.status === 'ok' ? 'ok' : `${result.status}: ${result.reason}`).toBe('ok');
  });
});

const JSON_TYPE = 'application/json';
const RESPONSE_TYPE = 'application/graphql-response+json';

async function post(accept: string, body: object) {
  const headers = { accept, 'content-type': JSON_TYPE };
  const answer = await fetch(`${gateway.address}/graphql`, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
}

it.each([
  // The specification recommends this header to clients.
  [`${RESPONSE_TYPE}; charset=utf-8, ${JSON_TYPE}; charset=utf-8`, RESPONSE_TYPE],
  [`${JSON_TYPE}; charset=utf-8`, JSON_TYPE],
  [`${RESPONSE_TYPE};charset="utf-8";q=0.5, ${JSON_TYPE};Q=0.4`, RESPONSE_TYPE],
  [`${JSON_TYPE}; profile="a, b; q=0"`, JSON_TYPE],
  [`text/html; level=1, */*; x=y; q=0.1`, JSON_TYPE],
  [`application/*; v="un\\"ended`, JSON_TYPE],
])('media type parameters in Accept are ignored: %s', async (accept, type) => {
  const answer = await post(accept, { query: '{ pricing { currency } }' });
  expect([answer.status, answer.type]).toEqual([200, `${type}; charset=utf-8`]);
});

it.each(['text/html', `${JSON_TYPE};q=0`, `${JSON_TYPE}; charset=utf-8; q=0`])(
  'a request with Accept: %s gets a 406',
  async (accept) => {
    expect((await post(accept, { query: '{ pricing { currency } }' })).status).toBe(406);
  },
);

describe('a persisted query', () => {
  const extensions = { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } };
  const REFUSED = {
    errors: [{ message: 'PersistedQueryNotSupported', extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED' } }],
  };

  it.each([JSON_TYPE, RESPONSE_TYPE])('gets the response that makes Apollo send the document, as %s', async (type) => {
    const { status, text } = await post(type, { operationName: 'A', variables: {}, extensions });
    expect([status, JSON.parse(text)]).toEqual([200, REFUSED]);
    const address = `${gateway.address}/graphql?extensions=${encodeURIComponent(JSON.stringify(extensions))}`;
    const byGet = await fetch(address, { headers: { accept: type } });
    expect([byGet.status, await byGet.json()]).toEqual([200, REFUSED]);
  });

  it('is executed if the request includes the document', async () => {
    const { status, text } = await post(JSON_TYPE, { query: '{ pricing { currency } }', extensions });
    expect([status, JSON.parse(text)]).toEqual([200, { data: { pricing: { currency: 'USD' } } }]);
  });
});

it.each([
  ['a syntax error', 'subscription {', 400],
  ['an unknown field', 'subscription { nothingChanged }', 400],
  ['an invalid query', '{ nothing }', 400],
  ['a missing variable', 'subscription($id: ID!) { topUpChanged(id: $id) { id } }', 400],
  ['a missing key', 'subscription { instanceChanged { id } }', 401],
  ['a value out of bounds', 'subscription { offersChanged(limit: 0) { machineId } }', 422],
  ['a missing document', '', 400],
])('an event stream over GET is refused with a status that ends EventSource: %s', async (_name, query, status) => {
  const address = `${gateway.address}/graphql?query=${encodeURIComponent(query)}`;
  const answer = await fetch(address, {
    headers: { accept: 'text/event-stream' },
    signal: AbortSignal.timeout(10_000),
  });
  await answer.body?.cancel();
  expect(answer.status).toBe(status);
});
