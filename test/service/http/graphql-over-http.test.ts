import { serverAudits } from 'graphql-http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.js';

/** The audit suite of the GraphQL-over-HTTP specification, recommendations too. */
const AUDITS = serverAudits({ url: () => `${gateway.address}/graphql` });

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

describe('GraphQL over HTTP', () => {
  it('is audited whole', () => {
    expect(AUDITS).toHaveLength(61);
  });

  it.each(AUDITS)('$id $name', async ({ fn }) => {
    const result = await fn();
    expect(result.status === 'ok' ? 'ok' : `${result.status}: ${result.reason}`).toBe('ok');
  });
});
