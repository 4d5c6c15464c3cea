// Writes the client's types from the built code's OpenAPI document. With --check, it only checks that the file is up to
// date. It omits what the client doesn't use: headers, examples, and error bodies, which all have the same shape.
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import openapiTypes, { astToString } from 'openapi-typescript';
import { STATUS_OF } from '../dist/src/domain/kernel/errors.js';
import { prepareRoutes } from '../dist/src/rest/adapter.js';
import { openApi } from '../dist/src/rest/openapi.js';
import { buildSchema } from '../dist/src/schema/index.js';

const file = fileURLToPath(new URL('../src/client/openapi.ts', import.meta.url));
const HEAD = `// Made by \`npm run schema\` from the OpenAPI document of src/rest; do not edit.
// biome-ignore-all format: generated
// biome-ignore-all lint: generated
// biome-ignore-all assist: generated

`;

function successesOnly(operation) {
  const responses = Object.entries(operation.responses).filter(([status]) => Number(status) < 300);
  return {
    ...operation,
    responses: Object.fromEntries(responses.map(([status, { headers: _, ...response }]) => [status, response])),
  };
}

async function printTypes() {
  const document = openApi(prepareRoutes(buildSchema()), {
    serverUrl: '/v1',
    contactUrl: '/',
    refusals: STATUS_OF,
    offered: null,
  });
  const { headers: _, ...components } = document.components;
  for (const schema of Object.values(components.schemas)) delete schema.examples;
  const paths = Object.entries(document.paths).map(([path, item]) => [
    path,
    Object.fromEntries(Object.entries(item).map(([method, operation]) => [method, successesOnly(operation)])),
  ]);
  // Keeps fields that have a default optional in requests.
  const types = await openapiTypes(
    { ...document, components, paths: Object.fromEntries(paths) },
    { defaultNonNullable: false },
  );
  return HEAD + astToString(types);
}

const printed = await printTypes();
if (!process.argv.includes('--check')) await writeFile(file, printed);
else if ((await readFile(file, 'utf8').catch(() => '')) !== printed) {
  console.error('src/client/openapi.ts is out of date: run `npm run schema`');
  process.exitCode = 1;
}
