// Lints the OpenAPI documents of the built code for REST and for host agents, using Redocly's strict rules and all of
// Spectral's.
import { createConfig, lintFromString } from '@redocly/openapi-core';
import spectral from '@stoplight/spectral-core';
import { oas } from '@stoplight/spectral-rulesets';
import { STATUS_OF } from '../dist/src/domain/kernel/errors.js';
import { agentOpenApi } from '../dist/src/http/agent/agent-openapi.js';
import { prepareRoutes } from '../dist/src/rest/adapter.js';
import { openApi } from '../dist/src/rest/openapi.js';
import { buildSchema } from '../dist/src/schema/index.js';

const ADDRESS = 'http://127.0.0.1:4000';
const documents = {
  '/v1/openapi.json': openApi(prepareRoutes(buildSchema()), {
    serverUrl: `${ADDRESS}/v1`,
    contactUrl: ADDRESS,
    refusals: STATUS_OF,
    offered: { machineId: 'm-5e6d4e9d', gpu: 'rtx-4090', region: 'us-mo' },
  }),
  '/agent/v1/openapi.json': agentOpenApi(`${ADDRESS}/agent/v1`, ADDRESS),
};

async function redocly(document) {
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: { 'no-invalid-schema-examples': 'error' },
  });
  const source = JSON.stringify(document);
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} (${location[0]?.pointer})`);
}

const ruleset = new spectral.Spectral();
// The contact is set by the operator. The service always knows a URL for it, but not an e-mail address.
ruleset.setRuleset({ extends: [[oas, 'all']], rules: { 'contact-properties': 'off' } });

async function spectralOf(document) {
  const problems = await ruleset.run(structuredClone(document));
  return problems.map(({ code, message, path }) => `${code}: ${message} (${path.join('/')})`);
}

for (const [name, document] of Object.entries(documents)) {
  for (const problem of [...(await redocly(document)), ...(await spectralOf(document))]) {
    console.error(`${name}: ${problem}`);
    process.exitCode = 1;
  }
}
