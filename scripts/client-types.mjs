// Writes what the clients share with the service from the built code: the TypeScript client's types and the Python
// SDK's deploy from the OpenAPI document, and the command line's list of a rental's terms. With --check, it only checks
// that the files are up to date. The types omit what the client doesn't use: headers, examples, and error bodies, which
// all have the same shape.
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import openapiTypes, { astToString } from 'openapi-typescript';
import { RENTAL_TERMS } from '../dist/src/domain/instances/fields.js';
import { STATUS_OF } from '../dist/src/domain/kernel/errors.js';
import { prepareRoutes } from '../dist/src/rest/adapter.js';
import { openApi } from '../dist/src/rest/openapi.js';
import { buildSchema } from '../dist/src/schema/index.js';
import { printRental } from './python-rental.mjs';

const HEAD = `// Made by \`npm run schema\` (scripts/client-types.mjs); do not edit.
// biome-ignore-all format: generated
// biome-ignore-all lint: generated
// biome-ignore-all assist: generated

`;
const document = openApi(prepareRoutes(buildSchema()), {
  serverUrl: '/v1',
  contactUrl: '/',
  refusals: STATUS_OF,
  offered: null,
});

function successesOnly(operation) {
  const responses = Object.entries(operation.responses).filter(([status]) => Number(status) < 300);
  return {
    ...operation,
    responses: Object.fromEntries(responses.map(([status, { headers: _, ...response }]) => [status, response])),
  };
}

async function printTypes() {
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

/** Returns the terms for the options of `gpu deploy` and the tools of `gpu mcp`. */
function printTerms() {
  const terms = Object.entries(RENTAL_TERMS).map(([name, { kind, help, field }]) => {
    const member = name.replace(/[A-Z]/g, '_$&').toLowerCase();
    return { name, member, kind, help, description: field.description };
  });
  return `${HEAD}export const RENTAL_TERMS = ${JSON.stringify(terms, null, 2)} as const;\n`;
}

const FILES = [
  [new URL('../src/client/openapi.ts', import.meta.url), await printTypes()],
  [new URL('../src/cli/rental-terms.ts', import.meta.url), printTerms()],
  [new URL('../sdk/python/gpu_rental/rental.py', import.meta.url), printRental(document.components.schemas)],
];
for (const [file, printed] of FILES) {
  if (!process.argv.includes('--check')) await writeFile(file, printed);
  else if ((await readFile(file, 'utf8').catch(() => '')) !== printed) {
    console.error(`${fileURLToPath(file)} is out of date: run \`npm run schema\``);
    process.exitCode = 1;
  }
}
